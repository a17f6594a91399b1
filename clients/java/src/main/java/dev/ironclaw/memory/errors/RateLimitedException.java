package dev.ironclaw.memory.errors;

/**
 * The tenant calls or writes faster than it may; nothing was started. {@link #retryAfter()} says
 * when to come back.
 */
public class RateLimitedException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public RateLimitedException(ErrorDetails details) {
    super(details);
  }
}
