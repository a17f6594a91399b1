package dev.ironclaw.memory.errors;

/** A folder is where the document should be, or the reverse. */
public class PathConflictException extends DocumentStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public PathConflictException(ErrorDetails details) {
    super(details);
  }
}
