package dev.ironclaw.memory.errors;

/** The {@code old_string} of a patch does not occur in the document; nothing was changed. */
public class PatchNoMatchException extends InvalidRequestException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public PatchNoMatchException(ErrorDetails details) {
    super(details);
  }
}
