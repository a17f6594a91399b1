package dev.ironclaw.memory.errors;

/** The precondition does not hold; nothing was changed. */
public class ContentChangedException extends ConflictException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ContentChangedException(ErrorDetails details) {
    super(details);
  }

  /**
   * Returns the hash of what is there now.
   *
   * @return 64 hex digits, or empty when there is no document
   */
  public String currentSha256() {
    return metadata().getOrDefault("current_sha256", "");
  }
}
