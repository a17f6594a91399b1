package dev.ironclaw.memory.errors;

/** The service cannot do it now; the same call may succeed later. */
public class UnavailableException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public UnavailableException(ErrorDetails details) {
    super(details);
  }
}
