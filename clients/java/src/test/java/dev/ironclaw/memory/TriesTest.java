package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ironclaw.memory.errors.ErrorDetails;
import dev.ironclaw.memory.errors.MemoryServiceException;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a call is repeated, as a rule alone: no clock, no wire. */
class TriesTest {
  private static final Duration AMPLE = Duration.ofHours(1);

  private static Tries tries(RetryPolicy policy, boolean repeatLostRace, Duration left) {
    return new Tries(policy, left.toNanos(), repeatLostRace);
  }

  private static MemoryServiceException error(Code code, String reason) {
    return MemoryServiceException.of(ErrorDetails.of(code, reason, "No."));
  }

  private static MemoryServiceException askingFor(Duration delay) {
    return MemoryServiceException.of(
        new ErrorDetails(Code.UNAVAILABLE, "No.", "OVERLOADED", "", Map.of(), List.of(), delay));
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {"OK", "UNAVAILABLE"})
  void noOtherStatusIsRepeated(Code code) {
    for (boolean repeatLostRace : List.of(false, true)) {
      var tries = tries(RetryPolicy.DEFAULT, repeatLostRace, AMPLE);
      assertEquals(Optional.empty(), tries.delayAfter(error(code, ""), 0));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "UNAVAILABLE, OVERLOADED, false, true",
    "UNAVAILABLE, OVERLOADED, true, true",
    "UNAVAILABLE, STORAGE_UNAVAILABLE, true, true",
    "UNAVAILABLE, SOMETHING_NEWER, true, true",
    "UNAVAILABLE, OUTCOME_UNKNOWN, true, false",
    "ABORTED, CAS_EXHAUSTED, true, true",
    "ABORTED, CAS_EXHAUSTED, false, false",
    "ABORTED, CONTENT_CHANGED, true, false",
    "RESOURCE_EXHAUSTED, RATE_LIMITED, false, true",
    "RESOURCE_EXHAUSTED, SCOPE_QUOTA, true, false",
  })
  void theReasonDecides(Code code, String reason, boolean repeatLostRace, boolean repeated) {
    var tries = tries(RetryPolicy.DEFAULT, repeatLostRace, AMPLE);
    assertEquals(repeated, tries.delayAfter(error(code, reason), 0).isPresent());
  }

  @Test
  void delaysGrowAreSpreadAndEnd() {
    var policy = new RetryPolicy(7, Duration.ofMillis(100), Duration.ofMillis(1000));
    for (int round = 0; round < 200; round++) {
      var tries = tries(policy, false, AMPLE);
      for (long ceiling : List.of(100, 200, 400, 800, 1000, 1000)) {
        long delay = tries.delayAfter(error(Code.UNAVAILABLE, ""), 0).orElseThrow().toMillis();
        assertTrue(ceiling / 2 <= delay && delay <= ceiling, delay + " of " + ceiling);
      }
      assertEquals(Optional.empty(), tries.delayAfter(error(Code.UNAVAILABLE, ""), 0));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 30, 5_000, 100_000})
  void theServersDelayIsNeverCutShort(long millis) {
    var policy = new RetryPolicy(2, Duration.ZERO, Duration.ofMillis(1));
    for (int round = 0; round < 200; round++) {
      var error = askingFor(Duration.ofMillis(millis));
      long delay = tries(policy, false, AMPLE).delayAfter(error, 0).orElseThrow().toMillis();
      assertTrue(millis <= delay && delay <= millis * 1.2, delay + " of " + millis);
    }
  }

  @Test
  void aWaitBeyondTheDeadlineIsNotBegun() {
    var error = askingFor(Duration.ofSeconds(5));
    assertFalse(
        tries(RetryPolicy.DEFAULT, false, Duration.ofSeconds(4)).delayAfter(error, 0).isPresent());
    assertTrue(
        tries(RetryPolicy.DEFAULT, false, Duration.ofSeconds(7)).delayAfter(error, 0).isPresent());
    var later = tries(RetryPolicy.DEFAULT, false, Duration.ofSeconds(7));
    assertFalse(later.delayAfter(error, Duration.ofSeconds(3).toNanos()).isPresent());
    var absurd = askingFor(Duration.ofSeconds(Long.MAX_VALUE));
    assertFalse(tries(RetryPolicy.DEFAULT, false, AMPLE).delayAfter(absurd, 0).isPresent());
  }

  @Test
  void aSenselessPolicyIsRefused() {
    Duration negative = Duration.ofMillis(-1);
    for (Executable wrong :
        List.<Executable>of(
            () -> RetryPolicy.DEFAULT.withMaxTries(0),
            () -> new RetryPolicy(1, negative, Duration.ZERO),
            () -> new RetryPolicy(1, Duration.ZERO, negative))) {
      assertThrows(IllegalArgumentException.class, wrong);
    }
  }
}
