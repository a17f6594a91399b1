package dev.ironclaw.memory.errors;

/** There is no such document, or no such version of it, in this scope. */
public class DocumentNotFoundException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public DocumentNotFoundException(ErrorDetails details) {
    super(details);
  }
}
