package dev.ironclaw.memory.errors;

/** A field is missing, blank, or out of range. */
public class InvalidArgumentsException extends InvalidRequestException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public InvalidArgumentsException(ErrorDetails details) {
    super(details);
  }
}
