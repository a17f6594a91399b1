package dev.ironclaw.memory.errors;

/** The resulting content does not satisfy the JSON Schema of its metadata; nothing was changed. */
public class SchemaViolationException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public SchemaViolationException(ErrorDetails details) {
    super(details);
  }
}
