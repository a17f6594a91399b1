package dev.ironclaw.memory.errors;

/** The server drains; this call was not started. */
public class ShuttingDownException extends UnavailableException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ShuttingDownException(ErrorDetails details) {
    super(details);
  }
}
