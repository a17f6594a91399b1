package dev.ironclaw.memory;

import io.grpc.Metadata;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * What a client was made with, and what a derived one differs in.
 *
 * @param scope whose memory
 * @param token the credential to send; null sends none
 * @param retry how often and how patiently calls are repeated
 * @param deadline for one call, its tries and the waits between them
 * @param watchDeadline for a whole watch; null for none
 * @param requestId names a change; null has one made for each
 * @param correlationId ties calls to the service's log; null lets the service make one
 */
record Settings(
    Scope scope,
    Supplier<String> token,
    RetryPolicy retry,
    Duration deadline,
    Duration watchDeadline,
    String requestId,
    String correlationId) {

  /** As good as none, and short enough to be counted in nanoseconds. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  Settings withScope(Scope scope) {
    return new Settings(scope, token, retry, deadline, watchDeadline, requestId, correlationId);
  }

  Settings withDeadline(Duration deadline) {
    return new Settings(scope, token, retry, deadline, deadline, requestId, correlationId);
  }

  Settings withRequestId(String requestId) {
    return new Settings(scope, token, retry, deadline, watchDeadline, requestId, correlationId);
  }

  Settings withCorrelationId(String correlationId) {
    return new Settings(scope, token, retry, deadline, watchDeadline, requestId, correlationId);
  }

  /** Returns the metadata of a call, the same on all tries; a change gets a request id. */
  Metadata metadata(boolean changes) {
    String id = requestId == null && changes ? UUID.randomUUID().toString() : requestId;
    Metadata metadata = CallMetadata.of(scope, id, correlationId);
    Credentials.addTo(metadata, token);
    return metadata;
  }

  /** Returns the metadata of a watch. */
  Metadata watchMetadata() {
    Metadata metadata = CallMetadata.of(scope, null, correlationId);
    Credentials.addTo(metadata, token);
    return metadata;
  }

  Tries tries(long now, boolean repeatLostRace) {
    return new Tries(retry, now + nanos(deadline), repeatLostRace);
  }

  /** Returns when a watch ends, on the clock of {@link System#nanoTime()}. */
  long watchExpiresAt(long now) {
    return now + nanos(watchDeadline == null ? LONGEST : watchDeadline);
  }

  private static long nanos(Duration duration) {
    return (duration.compareTo(LONGEST) < 0 ? duration : LONGEST).toNanos();
  }
}
