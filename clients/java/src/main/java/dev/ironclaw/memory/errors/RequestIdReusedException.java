package dev.ironclaw.memory.errors;

/** The request id belongs to an earlier change with other arguments. */
public class RequestIdReusedException extends InvalidRequestException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public RequestIdReusedException(ErrorDetails details) {
    super(details);
  }
}
