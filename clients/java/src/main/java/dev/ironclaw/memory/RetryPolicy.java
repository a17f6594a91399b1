package dev.ironclaw.memory;

import java.time.Duration;

/**
 * How often and how patiently calls are repeated. All of it happens within the call's deadline.
 *
 * @param maxTries tries in all, the first included; 1 turns repeating off
 * @param firstDelay the wait before the second try when the server names none; doubles with each
 *     try
 * @param maxDelay the longest such wait. One that the server names is honoured even when longer
 */
public record RetryPolicy(int maxTries, Duration firstDelay, Duration maxDelay) {

  /** Four tries, 0.2 seconds before the second, at most 5 seconds before a later one. */
  public static final RetryPolicy DEFAULT =
      new RetryPolicy(4, Duration.ofMillis(200), Duration.ofSeconds(5));

  /** One try. */
  public static final RetryPolicy NONE = DEFAULT.withMaxTries(1);

  /**
   * Checks the policy.
   *
   * @param maxTries at least 1
   * @param firstDelay not negative
   * @param maxDelay not negative
   * @throws IllegalArgumentException there would be no try, or a wait would be negative
   */
  public RetryPolicy {
    if (maxTries < 1) {
      throw new IllegalArgumentException("maxTries must be at least 1");
    }
    if (firstDelay.isNegative() || maxDelay.isNegative()) {
      throw new IllegalArgumentException("firstDelay and maxDelay must not be negative");
    }
  }

  /**
   * Returns the same policy with another number of tries.
   *
   * @param maxTries tries in all, at least 1
   * @return the policy
   */
  public RetryPolicy withMaxTries(int maxTries) {
    return new RetryPolicy(maxTries, firstDelay, maxDelay);
  }
}
