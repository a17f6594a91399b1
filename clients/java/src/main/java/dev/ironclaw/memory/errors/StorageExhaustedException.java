package dev.ironclaw.memory.errors;

/** The scope's quota is used up, or the disk is full; the old bytes are intact. */
public class StorageExhaustedException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public StorageExhaustedException(ErrorDetails details) {
    super(details);
  }
}
