package dev.ironclaw.memory.errors;

/** Too many calls are in flight; this one was not started. */
public class OverloadedException extends UnavailableException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public OverloadedException(ErrorDetails details) {
    super(details);
  }
}
