package dev.ironclaw.memory;

import com.google.protobuf.Timestamp;
import java.time.Duration;
import java.time.Instant;

/** The times of the messages as {@code java.time} has them. */
public final class ProtoTime {
  private ProtoTime() {}

  /**
   * Returns a message's point in time, such as {@code updated_at}.
   *
   * @param timestamp from a message
   * @return the same point
   */
  public static Instant toInstant(Timestamp timestamp) {
    return Instant.ofEpochSecond(timestamp.getSeconds(), timestamp.getNanos());
  }

  /**
   * Returns a message's span of time, such as {@code index_age}.
   *
   * @param duration from a message
   * @return the same span
   */
  public static Duration toDuration(com.google.protobuf.Duration duration) {
    return Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
  }
}
