package dev.ironclaw.memory.errors;

/** The connection failed before the service answered. A change may or may not have been made. */
public class UnreachableException extends UnavailableException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public UnreachableException(ErrorDetails details) {
    super(details);
  }
}
