package dev.ironclaw.memory.errors;

/**
 * The curation's lease is over, or was never given in this scope; nothing was changed. Claim again.
 */
public class LeaseInvalidException extends DocumentStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public LeaseInvalidException(ErrorDetails details) {
    super(details);
  }
}
