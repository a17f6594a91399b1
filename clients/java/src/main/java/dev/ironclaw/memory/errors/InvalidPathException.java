package dev.ironclaw.memory.errors;

/** A target or path breaks the grammar of paths. */
public class InvalidPathException extends InvalidRequestException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public InvalidPathException(ErrorDetails details) {
    super(details);
  }
}
