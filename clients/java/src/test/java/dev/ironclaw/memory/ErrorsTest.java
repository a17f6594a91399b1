package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ironclaw.memory.errors.ContentChangedException;
import dev.ironclaw.memory.errors.DocumentTooLargeException;
import dev.ironclaw.memory.errors.FieldViolation;
import dev.ironclaw.memory.errors.InternalServiceException;
import dev.ironclaw.memory.errors.MemoryServiceException;
import dev.ironclaw.memory.errors.PermissionForbiddenException;
import dev.ironclaw.memory.errors.UnavailableException;
import dev.ironclaw.memory.errors.UnreachableException;
import dev.ironclaw.memory.errors.UnsafeTextException;
import dev.ironclaw.memory.v1.ErrorReason;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** From status and details on the wire to the exception that a caller catches. */
class ErrorsTest {
  private final ScriptedService service = new ScriptedService();
  private final MemoryClient client =
      service.client(
          MemoryClient.builder("x", Scope.of("acme", "ann")).retryPolicy(RetryPolicy.NONE),
          new SteppedPace());

  @AfterEach
  void close() {
    client.close();
    service.close();
  }

  private MemoryServiceException thrownFor(Object answer) {
    service.answer(answer);
    return assertThrows(MemoryServiceException.class, () -> client.read("MEMORY.md"));
  }

  @Test
  void everythingTheServiceSaidIsOnTheException() {
    var error =
        thrownFor(
            Refusal.of(Code.INVALID_ARGUMENT, "DOCUMENT_TOO_LARGE")
                .message("Too large.")
                .retryAfter(1_500)
                .metadata(Map.of("limit_bytes", "1048576"))
                .fields(Map.of("content", "It has 2 MiB.")));
    assertSame(DocumentTooLargeException.class, error.getClass());
    assertEquals(Code.INVALID_ARGUMENT, error.code());
    assertEquals("DOCUMENT_TOO_LARGE", error.reason());
    assertEquals(ErrorReason.ERROR_REASON_DOCUMENT_TOO_LARGE, error.errorReason());
    assertEquals("input", error.kind());
    assertEquals("DOCUMENT_TOO_LARGE: Too large.", error.getMessage());
    assertEquals(Map.of("limit_bytes", "1048576"), error.metadata());
    assertEquals(List.of(new FieldViolation("content", "It has 2 MiB.")), error.fieldViolations());
    assertEquals(Duration.ofMillis(1_500), error.retryAfter().orElseThrow());
    assertTrue(error.getCause() instanceof StatusRuntimeException);
  }

  @Test
  void whatIsWorthKnowingHasANameOfItsOwn() {
    var changed = Refusal.of(Code.ABORTED, "CONTENT_CHANGED");
    String sha256 = "ab".repeat(32);
    var conflict = thrownFor(changed.metadata(Map.of("current_sha256", sha256)));
    assertEquals(sha256, ((ContentChangedException) conflict).currentSha256());

    var secret = Refusal.of(Code.INVALID_ARGUMENT, "SECRET_DETECTED");
    var unsafe = (UnsafeTextException) thrownFor(secret.metadata(Map.of("rule_ids", "a1,b2")));
    assertEquals(List.of("a1", "b2"), unsafe.ruleIds());
    assertEquals(List.of(), ((UnsafeTextException) thrownFor(secret)).ruleIds());

    var denied = Refusal.of(Code.PERMISSION_DENIED, "PERMISSION_FORBIDDEN");
    var forbidden = thrownFor(denied.metadata(Map.of("permission", "admin")));
    assertEquals("admin", ((PermissionForbiddenException) forbidden).permission());

    var fault = Refusal.of(Code.INTERNAL, "INTERNAL").metadata(Map.of("incident_id", "42"));
    assertEquals("42", ((InternalServiceException) thrownFor(fault)).incidentId());
  }

  @Test
  void aReasonOfANewerServerKeepsItsName() {
    var refusal = Refusal.of(Code.UNAVAILABLE, "MOON_IN_THE_WRONG_PHASE");
    var error = thrownFor(refusal);
    assertSame(UnavailableException.class, error.getClass());
    assertEquals("MOON_IN_THE_WRONG_PHASE", error.reason());
    assertEquals(ErrorReason.UNRECOGNIZED, error.errorReason());
    var other = thrownFor(Refusal.of(Code.FAILED_PRECONDITION, "MOON_IN_THE_WRONG_PHASE"));
    assertSame(MemoryServiceException.class, other.getClass());
  }

  @Test
  void detailsOfAnotherDomainAreNotTakenForOurs() {
    var error = thrownFor(Refusal.of(Code.UNAVAILABLE, "OVERLOADED").domain("proxy.example"));
    assertSame(UnreachableException.class, error.getClass());
    assertEquals("", error.reason());
    assertEquals(ErrorReason.ERROR_REASON_UNSPECIFIED, error.errorReason());
  }

  @Test
  void brokenDetailsStillGiveAnException() {
    var key = Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
    Metadata trailers = new Metadata();
    trailers.put(key, new byte[] {-1, -1, -1});
    var status = Status.NOT_FOUND.withDescription("There is none.");
    var error = thrownFor(new StatusRuntimeException(status, trailers));
    assertSame(MemoryServiceException.class, error.getClass());
    assertEquals("NOT_FOUND: There is none.", error.getMessage());
  }

  @Test
  void aStatusThatContradictsItsDetailsIsReadByItsCode() {
    var told = Refusal.of(Code.NOT_FOUND, "NOT_FOUND").exception();
    var error = thrownFor(new StatusRuntimeException(Status.ABORTED, told.getTrailers()));
    assertEquals(Code.ABORTED, error.code());
    assertEquals("", error.reason());
  }
}
