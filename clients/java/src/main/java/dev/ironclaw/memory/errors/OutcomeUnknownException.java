package dev.ironclaw.memory.errors;

/** The change was made but may not survive a power cut; read the document again. */
public class OutcomeUnknownException extends UnavailableException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public OutcomeUnknownException(ErrorDetails details) {
    super(details);
  }
}
