package dev.ironclaw.memory.errors;

/** The document changed meanwhile; read it again, then decide anew. */
public class ConflictException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ConflictException(ErrorDetails details) {
    super(details);
  }
}
