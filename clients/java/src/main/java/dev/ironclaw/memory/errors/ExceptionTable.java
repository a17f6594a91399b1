package dev.ironclaw.memory.errors;

import static java.util.Map.entry;

import dev.ironclaw.memory.v1.ErrorReason;
import io.grpc.Status;
import java.util.Map;
import java.util.function.Function;

/** Which failure is which class: by reason, and where that says nothing, by status code. */
final class ExceptionTable {
  private static final String PREFIX = "ERROR_REASON_";

  static final Map<String, Function<ErrorDetails, MemoryServiceException>> BY_REASON =
      Map.ofEntries(
          entry("INVALID_PATH", InvalidPathException::new),
          entry("INVALID_ARGUMENTS", InvalidArgumentsException::new),
          entry("PATCH_NO_MATCH", PatchNoMatchException::new),
          entry("SCHEMA_VIOLATION", SchemaViolationException::new),
          entry("SCOPE_MISSING", ScopeException::new),
          entry("SCOPE_INVALID", ScopeException::new),
          entry("REQUEST_ID_REUSED", RequestIdReusedException::new),
          entry("DOCUMENT_TOO_LARGE", DocumentTooLargeException::new),
          entry("REQUEST_MALFORMED", InvalidRequestException::new),
          entry("HIGH_RISK_PROMPT_INJECTION", UnsafeTextException::new),
          entry("CRITICAL_PROMPT_INJECTION", UnsafeTextException::new),
          entry("PROMPT_WRITE_BYPASS_NOT_ALLOWED", UnsafeTextException::new),
          entry("SECRET_DETECTED", UnsafeTextException::new),
          entry("NOT_FOUND", DocumentNotFoundException::new),
          entry("PATH_CONFLICT", PathConflictException::new),
          entry("PROFILE_CORRUPT", DocumentStateException::new),
          entry("DOCUMENT_NOT_TEXT", DocumentStateException::new),
          entry("DOCUMENT_READ_ONLY", DocumentReadOnlyException::new),
          entry("LEASE_INVALID", LeaseInvalidException::new),
          entry("CONTENT_CHANGED", ContentChangedException::new),
          entry("CAS_EXHAUSTED", ConflictException::new),
          entry("CREDENTIALS_MISSING", UnauthenticatedException::new),
          entry("CREDENTIALS_INVALID", UnauthenticatedException::new),
          entry("SCOPE_FORBIDDEN", ScopeForbiddenException::new),
          entry("PERMISSION_FORBIDDEN", PermissionForbiddenException::new),
          entry("RESERVED_NAMESPACE", ReservedNamespaceException::new),
          entry("RATE_LIMITED", RateLimitedException::new),
          entry("SCOPE_QUOTA", StorageExhaustedException::new),
          entry("STORAGE_FULL", StorageExhaustedException::new),
          entry("OVERLOADED", OverloadedException::new),
          entry("STORAGE_UNAVAILABLE", UnavailableException::new),
          entry("SHUTTING_DOWN", ShuttingDownException::new),
          entry("PROMPT_WRITE_POLICY_UNAVAILABLE", UnavailableException::new),
          entry("PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE", UnavailableException::new),
          entry("OUTCOME_UNKNOWN", OutcomeUnknownException::new),
          entry("DOCUMENT_CORRUPT", DocumentCorruptException::new),
          entry("DEADLINE_EXCEEDED", DeadlineExceededException::new),
          entry("CANCELLED", CallCancelledException::new),
          entry("INTERNAL", InternalServiceException::new));

  /** What a reason that the table above does not know, or no reason at all, comes down to. */
  private static final Map<Status.Code, Function<ErrorDetails, MemoryServiceException>> BY_CODE =
      Map.of(
          Status.Code.UNAUTHENTICATED, UnauthenticatedException::new,
          Status.Code.PERMISSION_DENIED, ForbiddenException::new,
          Status.Code.UNAVAILABLE, UnavailableException::new,
          Status.Code.DEADLINE_EXCEEDED, DeadlineExceededException::new,
          Status.Code.CANCELLED, CallCancelledException::new);

  private ExceptionTable() {}

  static MemoryServiceException exceptionFor(ErrorDetails details) {
    if (details.reason().isEmpty() && details.code() == Status.Code.UNAVAILABLE) {
      return new UnreachableException(details);
    }
    var byCode = BY_CODE.getOrDefault(details.code(), MemoryServiceException::new);
    return BY_REASON.getOrDefault(details.reason(), byCode).apply(details);
  }

  static ErrorReason errorReason(String reason) {
    if (reason.isEmpty()) {
      return ErrorReason.ERROR_REASON_UNSPECIFIED;
    }
    var known = ErrorReason.getDescriptor().findValueByName(PREFIX + reason);
    return known == null ? ErrorReason.UNRECOGNIZED : ErrorReason.forNumber(known.getNumber());
  }
}
