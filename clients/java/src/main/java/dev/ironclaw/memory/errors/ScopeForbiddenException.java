package dev.ironclaw.memory.errors;

/** The credential does not reach this scope. */
public class ScopeForbiddenException extends ForbiddenException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ScopeForbiddenException(ErrorDetails details) {
    super(details);
  }
}
