/**
 * From a failed call to the error to throw: one table by reason, and the reading of `google.rpc` details.
 *
 * A reason that the table doesn't know, from a newer service, falls back to the status code and else to the base class,
 * with all that the service said still on it.
 */

import { type ServiceError, status } from "@grpc/grpc-js";
import * as errors from "./errors.js";
import { BadRequest, ErrorInfo, RetryInfo } from "./generated/google/rpc/error_details.js";
import { Status } from "./generated/google/rpc/status.js";

const DOMAIN = "memory.ironclaw";

type ErrorClass = new (details: errors.ErrorDetails) => errors.MemoryServiceError;

/** The class of each reason. The compiler holds it to the enum of the protos. */
export const BY_REASON: Readonly<Record<errors.Reason, ErrorClass>> = {
  INVALID_PATH: errors.InvalidPathError,
  INVALID_ARGUMENTS: errors.InvalidArgumentsError,
  PATCH_NO_MATCH: errors.PatchNoMatchError,
  SCHEMA_VIOLATION: errors.SchemaViolationError,
  SCOPE_MISSING: errors.ScopeError,
  SCOPE_INVALID: errors.ScopeError,
  REQUEST_ID_REUSED: errors.RequestIdReusedError,
  DOCUMENT_TOO_LARGE: errors.DocumentTooLargeError,
  REQUEST_MALFORMED: errors.InvalidRequestError,
  HIGH_RISK_PROMPT_INJECTION: errors.UnsafeTextError,
  CRITICAL_PROMPT_INJECTION: errors.UnsafeTextError,
  PROMPT_WRITE_BYPASS_NOT_ALLOWED: errors.UnsafeTextError,
  SECRET_DETECTED: errors.UnsafeTextError,
  NOT_FOUND: errors.DocumentNotFoundError,
  PATH_CONFLICT: errors.PathConflictError,
  PROFILE_CORRUPT: errors.DocumentStateError,
  DOCUMENT_NOT_TEXT: errors.DocumentStateError,
  DOCUMENT_READ_ONLY: errors.DocumentReadOnlyError,
  LEASE_INVALID: errors.LeaseInvalidError,
  CONTENT_CHANGED: errors.ContentChangedError,
  CAS_EXHAUSTED: errors.ConflictError,
  CREDENTIALS_MISSING: errors.UnauthenticatedError,
  CREDENTIALS_INVALID: errors.UnauthenticatedError,
  SCOPE_FORBIDDEN: errors.ScopeForbiddenError,
  PERMISSION_FORBIDDEN: errors.PermissionForbiddenError,
  RESERVED_NAMESPACE: errors.ReservedNamespaceError,
  RATE_LIMITED: errors.RateLimitedError,
  SCOPE_QUOTA: errors.StorageExhaustedError,
  STORAGE_FULL: errors.StorageExhaustedError,
  OVERLOADED: errors.OverloadedError,
  STORAGE_UNAVAILABLE: errors.UnavailableError,
  SHUTTING_DOWN: errors.ShuttingDownError,
  PROMPT_WRITE_POLICY_UNAVAILABLE: errors.UnavailableError,
  PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE: errors.UnavailableError,
  OUTCOME_UNKNOWN: errors.OutcomeUnknownError,
  DOCUMENT_CORRUPT: errors.DocumentCorruptError,
  DEADLINE_EXCEEDED: errors.DeadlineExceededError,
  CANCELLED: errors.CallCancelledError,
  INTERNAL: errors.InternalServiceError,
};

/** What a reason that the table above doesn't know, or no reason at all, comes down to. */
const BY_CODE: Readonly<Partial<Record<errors.StatusCode, ErrorClass>>> = {
  UNAUTHENTICATED: errors.UnauthenticatedError,
  PERMISSION_DENIED: errors.ForbiddenError,
  UNAVAILABLE: errors.UnavailableError,
  DEADLINE_EXCEEDED: errors.DeadlineExceededError,
  CANCELLED: errors.CallCancelledError,
};

/** Tells a failed call's error from any other, such as one that a caller's own code threw. */
export function isCallFailure(error: unknown): error is ServiceError {
  return error instanceof Error && "details" in error && "metadata" in error && "code" in error;
}

/** Returns the failure of a call as the class to catch. gRPC's own error says nothing more, so it isn't kept as cause. */
export function errorOf(failure: ServiceError): errors.MemoryServiceError {
  const details = detailsOf(failure);
  return new (classOf(details))(details);
}

function classOf({ code, reason }: errors.ErrorDetails): ErrorClass {
  if (reason === "" && code === "UNAVAILABLE") return errors.UnreachableError;
  if (Object.hasOwn(BY_REASON, reason)) return BY_REASON[reason as errors.Reason];
  return BY_CODE[code] ?? errors.MemoryServiceError;
}

/** Returns what a failed call carries: its code and message always, the rest as far as the service sent it. */
function detailsOf(failure: ServiceError): errors.ErrorDetails {
  const code = (status[failure.code] ?? "UNKNOWN") as errors.StatusCode;
  const bare = { code, message: failure.details, metadata: {}, fieldViolations: [], retryAfterMs: undefined };
  const sent = statusOf(failure);
  const info = detail(sent, "google.rpc.ErrorInfo", ErrorInfo);
  if (info?.domain !== DOMAIN) return { ...bare, reason: "", kind: "" }; // a proxy's details are not ours to read
  const { kind = "", ...metadata } = info.metadata;
  return {
    ...bare,
    reason: info.reason,
    kind,
    metadata,
    fieldViolations: violationsOf(sent),
    retryAfterMs: retryAfterOf(sent),
  };
}

/** Returns the rich status of a call; undefined when it has none, or one that can't be read or contradicts the call. */
function statusOf(failure: ServiceError): Status | undefined {
  const bytes = failure.metadata.get("grpc-status-details-bin")[0];
  if (!(bytes instanceof Uint8Array)) return undefined;
  const sent = decoded(bytes, Status);
  return sent?.code === failure.code ? sent : undefined;
}

/** Returns the detail of a type; undefined when there is none. */
function detail<Detail>(sent: Status | undefined, type: string, codec: Decoder<Detail>): Detail | undefined {
  const packed = sent?.details.find((any) => any.typeUrl.endsWith(`/${type}`));
  return packed && decoded(packed.value, codec);
}

interface Decoder<Message> {
  decode(bytes: Uint8Array): Message;
}

function decoded<Message>(bytes: Uint8Array, codec: Decoder<Message>): Message | undefined {
  try {
    return codec.decode(bytes);
  } catch {
    return undefined; // a failure that is told badly is still that failure
  }
}

function violationsOf(sent: Status | undefined): errors.FieldViolation[] {
  const request = detail(sent, "google.rpc.BadRequest", BadRequest);
  return (request?.fieldViolations ?? []).map(({ field, description }) => ({ field, description }));
}

function retryAfterOf(sent: Status | undefined): number | undefined {
  const info = detail(sent, "google.rpc.RetryInfo", RetryInfo);
  if (info === undefined) return undefined;
  const { seconds = 0, nanos = 0 } = info.retryDelay ?? {};
  return Math.max(0, seconds * 1_000 + nanos / 1_000_000);
}
