package dev.ironclaw.memory.errors;

import io.grpc.Status;
import java.io.Serializable;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What the service, or the channel in its stead, said about a failed call.
 *
 * @param code the status code
 * @param message one sentence, without document text
 * @param reason a name of {@code ErrorReason} without its prefix, such as {@code CONTENT_CHANGED};
 *     empty when the failure is not the service's own, such as a refused connection
 * @param kind {@code input}, {@code operation} or {@code unavailable}; empty like {@code reason}
 * @param metadata what else {@code google.rpc.ErrorInfo} carried, {@code kind} aside
 * @param fieldViolations the fields to blame; empty but for input errors
 * @param retryAfter how long to wait before another try; null when the server named no delay
 */
public record ErrorDetails(
    Status.Code code,
    String message,
    String reason,
    String kind,
    Map<String, String> metadata,
    List<FieldViolation> fieldViolations,
    Duration retryAfter)
    implements Serializable {

  /**
   * Copies the collections, so that the details never change.
   *
   * @param code the status code
   * @param message one sentence
   * @param reason the service's reason, or empty
   * @param kind who can mend it, or empty
   * @param metadata further facts
   * @param fieldViolations the fields to blame
   * @param retryAfter how long to wait, or null
   */
  public ErrorDetails {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(message, "message");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(kind, "kind");
    metadata = Map.copyOf(metadata);
    fieldViolations = List.copyOf(fieldViolations);
  }

  /**
   * Returns the details of a failure that the service itself said nothing about.
   *
   * @param code the status code
   * @param message what the channel said
   * @return details without a reason
   */
  public static ErrorDetails of(Status.Code code, String message) {
    return of(code, "", message);
  }

  /**
   * Returns the details of a failure of which no more than the reason is known.
   *
   * @param code the status code
   * @param reason the service's reason, such as {@code OVERLOADED}
   * @param message one sentence
   * @return details without metadata, violations and delay
   */
  public static ErrorDetails of(Status.Code code, String reason, String message) {
    return new ErrorDetails(code, message, reason, "", Map.of(), List.of(), null);
  }
}
