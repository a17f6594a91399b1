package dev.ironclaw.memory.errors;

/** The credential lacks a permission. */
public class PermissionForbiddenException extends ForbiddenException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public PermissionForbiddenException(ErrorDetails details) {
    super(details);
  }

  /**
   * Returns the permission that is missing.
   *
   * @return its name, such as {@code write}; empty when the server did not say
   */
  public String permission() {
    return metadata().getOrDefault("permission", "");
  }
}
