package dev.ironclaw.memory.errors;

/** The call was cancelled: by the server, by closing the client, or by interrupting the thread. */
public class CallCancelledException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public CallCancelledException(ErrorDetails details) {
    super(details);
  }
}
