package dev.ironclaw.memory.errors;

import dev.ironclaw.memory.v1.ErrorReason;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A call that failed. The classes below it are what is worth catching by name; a reason that this
 * version does not know comes as the nearest class that its status code allows.
 */
public class MemoryServiceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What the service said. */
  private final ErrorDetails details;

  /**
   * Makes the exception; its message is {@code REASON: message}.
   *
   * @param details what the service said
   */
  public MemoryServiceException(ErrorDetails details) {
    super(
        (details.reason().isEmpty() ? details.code() : details.reason())
            + ": "
            + details.message());
    this.details = details;
  }

  /**
   * Returns the exception of the class that stands for a failure's reason, else for its code.
   *
   * @param details what the service said
   * @return an exception to be thrown
   */
  public static MemoryServiceException of(ErrorDetails details) {
    return ExceptionTable.exceptionFor(details);
  }

  /**
   * Returns everything that was said about the failure.
   *
   * @return the details, which never change
   */
  public ErrorDetails details() {
    return details;
  }

  /**
   * Returns the status code of the call.
   *
   * @return the code
   */
  public Status.Code code() {
    return details.code();
  }

  /**
   * Returns the service's reason as it was sent, so that one from a newer server keeps its name.
   *
   * @return a reason such as {@code INVALID_PATH}; empty when the service itself did not answer
   */
  public String reason() {
    return details.reason();
  }

  /**
   * Returns the service's reason as a value to switch on.
   *
   * @return the reason; {@code ERROR_REASON_UNSPECIFIED} when there is none, {@code UNRECOGNIZED}
   *     when it is newer than this client
   */
  public ErrorReason errorReason() {
    return ExceptionTable.errorReason(details.reason());
  }

  /**
   * Returns who can mend it.
   *
   * @return {@code input}, {@code operation} or {@code unavailable}; empty when the service itself
   *     did not answer
   */
  public String kind() {
    return details.kind();
  }

  /**
   * Returns further facts, such as {@code limit_bytes}.
   *
   * @return facts by name; empty where there are none
   */
  public Map<String, String> metadata() {
    return details.metadata();
  }

  /**
   * Returns the request fields to blame.
   *
   * @return the fields; empty but for input errors
   */
  public List<FieldViolation> fieldViolations() {
    return details.fieldViolations();
  }

  /**
   * Returns after how long the same call may succeed.
   *
   * @return the delay; empty when the server named none
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(details.retryAfter());
  }
}
