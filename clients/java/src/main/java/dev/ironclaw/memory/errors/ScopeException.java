package dev.ironclaw.memory.errors;

/** A scope value is missing or breaks the rule of segments. */
public class ScopeException extends InvalidRequestException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ScopeException(ErrorDetails details) {
    super(details);
  }
}
