package dev.ironclaw.memory.errors;

/** The path belongs to the service, such as {@code threads/}. */
public class ReservedNamespaceException extends ForbiddenException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ReservedNamespaceException(ErrorDetails details) {
    super(details);
  }
}
