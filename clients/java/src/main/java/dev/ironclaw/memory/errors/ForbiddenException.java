package dev.ironclaw.memory.errors;

/** It may not be done, whoever retries; nothing was looked up. */
public class ForbiddenException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public ForbiddenException(ErrorDetails details) {
    super(details);
  }
}
