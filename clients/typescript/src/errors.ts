/**
 * Every way in which a call fails, as classes to catch by name.
 *
 *     MemoryServiceError
 *     ├── InvalidRequestError             the caller can mend it by calling differently
 *     │   ├── InvalidPathError
 *     │   ├── InvalidArgumentsError
 *     │   ├── PatchNoMatchError
 *     │   ├── ScopeError
 *     │   ├── RequestIdReusedError
 *     │   └── DocumentTooLargeError
 *     ├── UnsafeTextError                 a prompt file would take an instruction hijack, a secret, or emptiness
 *     ├── SchemaViolationError
 *     ├── DocumentNotFoundError
 *     ├── DocumentStateError              what is stored forbids it: PATH_CONFLICT, PROFILE_CORRUPT and the like
 *     │   ├── PathConflictError
 *     │   ├── DocumentReadOnlyError
 *     │   ├── LeaseInvalidError
 *     │   └── DocumentCorruptError
 *     ├── ConflictError                   somebody else changed the document; read it again
 *     │   └── ContentChangedError
 *     ├── UnauthenticatedError            no credential, or one that isn't accepted
 *     ├── ForbiddenError                  the credential doesn't allow it
 *     │   ├── ScopeForbiddenError
 *     │   ├── PermissionForbiddenError
 *     │   └── ReservedNamespaceError
 *     ├── RateLimitedError
 *     ├── StorageExhaustedError           the scope's quota or the disk
 *     ├── UnavailableError                time may mend it
 *     │   ├── UnreachableError            no answer of the service at all
 *     │   ├── OverloadedError
 *     │   ├── ShuttingDownError
 *     │   └── OutcomeUnknownError
 *     ├── DeadlineExceededError
 *     ├── CallCancelledError
 *     └── InternalServiceError
 *
 * Which failure is which class is said in `failure`. Nothing here knows a channel or a retry.
 */

import type { status } from "@grpc/grpc-js";
import type { ErrorReason as WireReason } from "./generated/ironclaw/memory/v1/error_reason.js";

/** A status code's name, such as `NOT_FOUND`. */
export type StatusCode = keyof typeof status;

/** A reason that the service gives, such as `CONTENT_CHANGED`: the names of the enum of the protos. */
export type Reason = Exclude<keyof typeof WireReason, "UNSPECIFIED" | "UNRECOGNIZED">;

/** One request field to blame. */
export interface FieldViolation {
  /** The field's name in the request, as the protos spell it, such as `target`. */
  readonly field: string;
  /** What is wrong with it, in one sentence. */
  readonly description: string;
}

/** What the service, or the channel in its stead, said about a failed call. */
export interface ErrorDetails {
  /** The status code. */
  readonly code: StatusCode;
  /** One sentence, without document text. */
  readonly message: string;
  /**
   * The service's reason; empty when the failure isn't the service's own, such as a refused connection. A newer service
   * may send one that isn't in the list.
   */
  readonly reason: Reason | "" | (string & {});
  /** `input`, `operation` or `unavailable`; empty like `reason`. */
  readonly kind: string;
  /** What else `google.rpc.ErrorInfo` carried, `kind` aside, such as `limit_bytes`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The request fields to blame; empty but for input errors. */
  readonly fieldViolations: readonly FieldViolation[];
  /** Milliseconds after which the same call may succeed; undefined when the service named none. */
  readonly retryAfterMs: number | undefined;
}

/** A call that failed. `message` begins with the reason, or with the status code where there is none. */
export class MemoryServiceError extends Error implements ErrorDetails {
  readonly code: StatusCode;
  readonly reason: ErrorDetails["reason"];
  readonly kind: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fieldViolations: readonly FieldViolation[];
  readonly retryAfterMs: number | undefined;

  constructor(details: ErrorDetails) {
    super(`${details.reason || details.code}: ${details.message}`);
    this.name = new.target.name;
    this.code = details.code;
    this.reason = details.reason;
    this.kind = details.kind;
    this.metadata = details.metadata;
    this.fieldViolations = details.fieldViolations;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The request is wrong; the caller can mend it by calling differently. */
export class InvalidRequestError extends MemoryServiceError {}

/** A target or path breaks the grammar of paths. */
export class InvalidPathError extends InvalidRequestError {}

/** A field is missing, blank, or out of range. */
export class InvalidArgumentsError extends InvalidRequestError {}

/** The text to be replaced doesn't occur in the document; nothing was changed. */
export class PatchNoMatchError extends InvalidRequestError {}

/** A scope value is missing or breaks the rule of segments. */
export class ScopeError extends InvalidRequestError {}

/** The request id belongs to an earlier write with other arguments. */
export class RequestIdReusedError extends InvalidRequestError {}

/** The resulting document would exceed the limit; the old one stays. */
export class DocumentTooLargeError extends InvalidRequestError {}

/** A prompt file may not take this text; nothing was changed. Repeating it as it is never helps. */
export class UnsafeTextError extends MemoryServiceError {
  /** The rules that matched, most severe first; empty where no rule is involved. */
  get ruleIds(): readonly string[] {
    return (this.metadata.rule_ids ?? "").split(",").filter((id) => id !== "");
  }
}

/** The resulting content doesn't satisfy the JSON Schema of its metadata; nothing was changed. */
export class SchemaViolationError extends MemoryServiceError {}

/** There is no such document, or no such version of it, in this scope. */
export class DocumentNotFoundError extends MemoryServiceError {}

/** What is stored under the path forbids the call. */
export class DocumentStateError extends MemoryServiceError {}

/** A folder is where the document should be, or the reverse. */
export class PathConflictError extends DocumentStateError {}

/** The document's effective metadata says `read_only`. */
export class DocumentReadOnlyError extends DocumentStateError {}

/** The curation's lease is over, or was never given in this scope; nothing was changed. Claim again. */
export class LeaseInvalidError extends DocumentStateError {}

/** What is kept of the document fails its checksum. Waiting doesn't mend it. */
export class DocumentCorruptError extends DocumentStateError {}

/** The document changed meanwhile; read it again, then decide anew. */
export class ConflictError extends MemoryServiceError {}

/** The precondition doesn't hold; nothing was changed. */
export class ContentChangedError extends ConflictError {
  /** The hash of what is there now: 64 hex digits, or empty when there is no document. */
  get currentSha256(): string {
    return this.metadata.current_sha256 ?? "";
  }
}

/** The call carries no credential, or one that is malformed, unknown, expired or revoked. */
export class UnauthenticatedError extends MemoryServiceError {}

/** It may not be done, whoever retries; nothing was looked up. */
export class ForbiddenError extends MemoryServiceError {}

/** The credential doesn't reach this scope. */
export class ScopeForbiddenError extends ForbiddenError {}

/** The credential lacks a permission. */
export class PermissionForbiddenError extends ForbiddenError {
  /** Which one, such as `write`. */
  get permission(): string {
    return this.metadata.permission ?? "";
  }
}

/** The path belongs to the service, such as `threads/`. */
export class ReservedNamespaceError extends ForbiddenError {}

/** The tenant calls or writes faster than it may; nothing was started. `retryAfterMs` says when to come back. */
export class RateLimitedError extends MemoryServiceError {}

/** The scope's quota is used up, or the disk is full; the old bytes are intact. */
export class StorageExhaustedError extends MemoryServiceError {}

/** The service can't do it now; the same call may succeed later. */
export class UnavailableError extends MemoryServiceError {}

/** The connection failed before the service answered. A change without its answer may or may not have been made. */
export class UnreachableError extends UnavailableError {}

/** Too many calls are in flight; this one was not started. */
export class OverloadedError extends UnavailableError {}

/** The server drains; this call was not started. */
export class ShuttingDownError extends UnavailableError {}

/** The change was made but may not survive a power cut; read the document again. */
export class OutcomeUnknownError extends UnavailableError {}

/**
 * The time was over. With a reason, nothing was changed; without one, a change may have been made.
 *
 * To find out, send the same change again with the same `requestId`: it is made once, and its answer says `replayed`.
 */
export class DeadlineExceededError extends MemoryServiceError {}

/** The call was cancelled, by the service or by closing the client. An aborted signal rejects with its own reason. */
export class CallCancelledError extends MemoryServiceError {}

/** A fault of the service. */
export class InternalServiceError extends MemoryServiceError {
  /** What the service's operator finds the fault by in its log; empty when there is none. */
  get incidentId(): string {
    return this.metadata.incident_id ?? "";
  }
}
