package dev.ironclaw.memory.errors;

/**
 * The time was over. With a reason, nothing was changed; without one, a change may have been made.
 *
 * <p>To find out, send the same change again under the same request id: it is made once, and its
 * answer says {@code replayed}.
 */
public class DeadlineExceededException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public DeadlineExceededException(ErrorDetails details) {
    super(details);
  }
}
