package dev.ironclaw.memory;

import dev.ironclaw.memory.errors.MemoryServiceException;
import dev.ironclaw.memory.errors.OutcomeUnknownException;
import dev.ironclaw.memory.errors.RateLimitedException;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The tries of one call: whether there is another, and after how long. The time is handed in, and
 * nobody waits here.
 *
 * <p>gRPC's own retries are turned off. They go by status code alone, so they cannot leave {@code
 * OUTCOME_UNKNOWN} alone or repeat {@code CAS_EXHAUSTED} but not {@code CONTENT_CHANGED}; they are
 * set for each method, so they cannot tell a conditional write from a plain one; and they do not
 * read the server's {@code RetryInfo}.
 *
 * <p>What may be repeated:
 *
 * <ol>
 *   <li>{@code UNAVAILABLE}, on reads and on changes. All tries of a change carry one request id,
 *       under which the service makes it once and answers later tries with the first result.
 *   <li>Not {@code OUTCOME_UNKNOWN}, although it is {@code UNAVAILABLE}: the answer "done" to a
 *       repetition could not make durable what the disk refused, and would hide that it may be
 *       lost.
 *   <li>{@code CAS_EXHAUSTED}, when the change has no precondition: nothing was written, and the
 *       same change still makes sense. {@code CONTENT_CHANGED} is never repeated.
 *   <li>{@code RATE_LIMITED}: nothing was started, and the server says how long to wait.
 *   <li>Nothing else. In particular not {@code DEADLINE_EXCEEDED}: the caller's time is over.
 * </ol>
 */
final class Tries {
  private final RetryPolicy policy;
  private final long expiresAt;
  private final boolean repeatLostRace;
  private int failed;

  /**
   * Makes the tries of a call.
   *
   * @param policy how often and how patiently
   * @param expiresAt when the caller's time is over, on the clock of {@link System#nanoTime()}
   * @param repeatLostRace whether it is a change without a precondition
   */
  Tries(RetryPolicy policy, long expiresAt, boolean repeatLostRace) {
    this.policy = policy;
    this.expiresAt = expiresAt;
    this.repeatLostRace = repeatLostRace;
  }

  /** Returns what is left of the caller's time, in nanoseconds; never below zero. */
  long nanosLeft(long now) {
    return Math.max(0, expiresAt - now);
  }

  /**
   * Counts a failed try and returns the wait before the next; nothing when there shall be none.
   *
   * <p>A wait that would outlast the caller's time is not begun: the caller gets the error while it
   * can still act.
   */
  Optional<Duration> delayAfter(MemoryServiceException error, long now) {
    failed++;
    if (failed >= policy.maxTries() || !mayRepeat(error)) {
      return Optional.empty();
    }
    Duration left = Duration.ofNanos(nanosLeft(now));
    return Optional.of(delay(error, left)).filter(delay -> delay.compareTo(left) < 0);
  }

  private boolean mayRepeat(MemoryServiceException error) {
    if (error.code() == Status.Code.UNAVAILABLE) {
      return !(error instanceof OutcomeUnknownException);
    }
    return error instanceof RateLimitedException
        || (repeatLostRace && error.reason().equals("CAS_EXHAUSTED"));
  }

  /** Returns a spread delay, so that callers who were refused together don't return together. */
  private Duration delay(MemoryServiceException error, Duration left) {
    if (error.retryAfter().isEmpty()) {
      Duration half = ceiling().dividedBy(2);
      return half.plus(spread(half));
    }
    Duration asked = error.retryAfter().get(); // never come sooner than that
    return asked.compareTo(left) < 0 ? asked.plus(spread(asked.dividedBy(5))) : asked;
  }

  private Duration ceiling() {
    Duration delay = policy.firstDelay();
    for (int n = 1; n < failed && delay.compareTo(policy.maxDelay()) < 0; n++) {
      delay = delay.multipliedBy(2);
    }
    return delay.compareTo(policy.maxDelay()) < 0 ? delay : policy.maxDelay();
  }

  private static Duration spread(Duration most) {
    double share = ThreadLocalRandom.current().nextDouble();
    return Duration.ofMillis((long) (most.toMillis() * share));
  }
}
