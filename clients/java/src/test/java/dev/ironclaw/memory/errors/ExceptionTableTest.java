package dev.ironclaw.memory.errors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.ironclaw.memory.v1.ErrorReason;
import io.grpc.Status.Code;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which failure is which class. */
class ExceptionTableTest {
  private static final String PREFIX = "ERROR_REASON_";

  @Test
  void everyReasonOfTheProtosHasAClassAndNoOther() {
    var reasons =
        Stream.of(ErrorReason.values())
            .filter(reason -> reason != ErrorReason.UNRECOGNIZED)
            .filter(reason -> reason != ErrorReason.ERROR_REASON_UNSPECIFIED)
            .map(reason -> reason.name().substring(PREFIX.length()))
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(reasons, new TreeSet<>(ExceptionTable.BY_REASON.keySet()));
  }

  @ParameterizedTest
  @CsvSource({
    "UNAVAILABLE, UnreachableException",
    "UNAUTHENTICATED, UnauthenticatedException",
    "PERMISSION_DENIED, ForbiddenException",
    "DEADLINE_EXCEEDED, DeadlineExceededException",
    "CANCELLED, CallCancelledException",
    "UNKNOWN, MemoryServiceException",
  })
  void withoutAReasonTheCodeDecides(Code code, String expected) {
    var error = MemoryServiceException.of(ErrorDetails.of(code, "No."));
    assertEquals(expected, error.getClass().getSimpleName());
  }

  @Test
  void aReasonWeighsMoreThanItsCode() {
    var error = MemoryServiceException.of(ErrorDetails.of(Code.UNKNOWN, "OVERLOADED", "No."));
    assertSame(OverloadedException.class, error.getClass());
  }
}
