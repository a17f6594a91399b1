package dev.ironclaw.memory.errors;

/** The resulting document would exceed the limit; the old one stays. */
public class DocumentTooLargeException extends InvalidRequestException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public DocumentTooLargeException(ErrorDetails details) {
    super(details);
  }
}
