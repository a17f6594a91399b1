package dev.ironclaw.memory.errors;

/** The document's effective metadata says {@code read_only}. */
public class DocumentReadOnlyException extends DocumentStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public DocumentReadOnlyException(ErrorDetails details) {
    super(details);
  }
}
