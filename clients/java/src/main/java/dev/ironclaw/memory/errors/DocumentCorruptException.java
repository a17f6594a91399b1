package dev.ironclaw.memory.errors;

/** What is kept of the document fails its checksum. Waiting does not mend it. */
public class DocumentCorruptException extends DocumentStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public DocumentCorruptException(ErrorDetails details) {
    super(details);
  }
}
