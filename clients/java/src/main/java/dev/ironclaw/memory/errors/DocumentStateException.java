package dev.ironclaw.memory.errors;

/** What is stored under the path forbids the call. */
public class DocumentStateException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public DocumentStateException(ErrorDetails details) {
    super(details);
  }
}
