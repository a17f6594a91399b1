package dev.ironclaw.memory.errors;

/** The request is wrong; the caller can mend it by calling differently. */
public class InvalidRequestException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public InvalidRequestException(ErrorDetails details) {
    super(details);
  }
}
