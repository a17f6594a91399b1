package dev.ironclaw.memory.errors;

/** The call carries no credential, or one that is malformed, unknown, expired or revoked. */
public class UnauthenticatedException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public UnauthenticatedException(ErrorDetails details) {
    super(details);
  }
}
