"""Every way in which a call fails, as classes to catch by name.

    MemoryServiceError
    ├── InvalidRequestError             the caller can mend it by calling differently
    │   ├── InvalidPathError
    │   ├── InvalidArgumentsError
    │   ├── PatchNoMatchError
    │   ├── ScopeError
    │   ├── RequestIdReusedError
    │   └── DocumentTooLargeError
    ├── UnsafeTextError                 a prompt file would take an instruction hijack, a secret, or emptiness
    ├── SchemaViolationError
    ├── DocumentNotFoundError
    ├── DocumentStateError              what is stored forbids it: PATH_CONFLICT, PROFILE_CORRUPT and the like
    │   ├── PathConflictError
    │   ├── DocumentReadOnlyError
    │   ├── LeaseInvalidError
    │   └── DocumentCorruptError
    ├── ConflictError                   somebody else changed the document; read it again
    │   └── ContentChangedError
    ├── UnauthenticatedError            no credential, or one that isn't accepted
    ├── ForbiddenError                  the credential doesn't allow it
    │   ├── ScopeForbiddenError
    │   ├── PermissionForbiddenError
    │   └── ReservedNamespaceError
    ├── RateLimitedError
    ├── StorageExhaustedError           the scope's quota or the disk
    ├── UnavailableError                time may mend it
    │   ├── UnreachableError            no answer of the service at all
    │   ├── OverloadedError
    │   ├── ShuttingDownError
    │   └── OutcomeUnknownError
    ├── DeadlineExceededError
    ├── CallCancelledError
    └── InternalServiceError

Which failure is which class is said in `failure`. Nothing here knows a channel or a retry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import grpc


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One request field to blame.

    Attributes:
        field: the field's name in the request, such as `target`.
        description: what is wrong with it, in one sentence.
    """

    field: str
    description: str


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """What the service, or the channel in its stead, said about a failed call.

    Attributes:
        code: the status code.
        message: one sentence, without document text.
        reason: a name of the `ErrorReason` enum without its prefix, such as `CONTENT_CHANGED`; empty when the failure
            isn't the service's own, such as a refused connection.
        kind: `input`, `operation` or `unavailable`; empty like `reason`.
        metadata: what else `google.rpc.ErrorInfo` carried, `kind` aside.
        field_violations: the fields to blame; empty but for input errors.
        retry_after: seconds to wait before another try; None when the server named none.
    """

    code: grpc.StatusCode
    message: str
    reason: str = ""
    kind: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    field_violations: tuple[FieldViolation, ...] = ()
    retry_after: float | None = None


class MemoryServiceError(Exception):
    """A call that failed. `str()` is `REASON: message`; every detail is an attribute."""

    def __init__(self, details: ErrorDetails) -> None:
        # The one argument is kept as it is, so that the exception can be pickled across processes.
        super().__init__(details)
        self.details = details

    def __str__(self) -> str:
        return f"{self.reason or self.code.name}: {self.message}"

    @property
    def code(self) -> grpc.StatusCode:
        """The status code of the call."""
        return self.details.code

    @property
    def reason(self) -> str:
        """The service's reason, such as `INVALID_PATH`; empty when the service itself didn't answer."""
        return self.details.reason

    @property
    def kind(self) -> str:
        """`input`, `operation` or `unavailable`; empty when the service itself didn't answer."""
        return self.details.kind

    @property
    def message(self) -> str:
        """What went wrong, in one sentence without document text."""
        return self.details.message

    @property
    def metadata(self) -> Mapping[str, str]:
        """Further facts, such as `limit_bytes`."""
        return self.details.metadata

    @property
    def field_violations(self) -> tuple[FieldViolation, ...]:
        """The request fields to blame."""
        return self.details.field_violations

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the same call may succeed; None when the server named none."""
        return self.details.retry_after


class InvalidRequestError(MemoryServiceError):
    """The request is wrong; the caller can mend it by calling differently."""


class InvalidPathError(InvalidRequestError):
    """A target or path breaks the grammar of paths."""


class InvalidArgumentsError(InvalidRequestError):
    """A field is missing, blank, or out of range."""


class PatchNoMatchError(InvalidRequestError):
    """`old_string` doesn't occur in the document; nothing was changed."""


class ScopeError(InvalidRequestError):
    """A scope value is missing or breaks the rule of segments."""


class RequestIdReusedError(InvalidRequestError):
    """The request id belongs to an earlier write with other arguments."""


class DocumentTooLargeError(InvalidRequestError):
    """The resulting document would exceed the limit; the old one stays."""


class UnsafeTextError(MemoryServiceError):
    """A prompt file may not take this text; nothing was changed. Repeating it as it is never helps."""

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The rules that matched, most severe first; empty where no rule is involved."""
        return tuple(filter(None, self.metadata.get("rule_ids", "").split(",")))


class SchemaViolationError(MemoryServiceError):
    """The resulting content doesn't satisfy the JSON Schema of its metadata; nothing was changed."""


class DocumentNotFoundError(MemoryServiceError):
    """There is no such document, or no such version of it, in this scope."""


class DocumentStateError(MemoryServiceError):
    """What is stored under the path forbids the call."""


class PathConflictError(DocumentStateError):
    """A folder is where the document should be, or the reverse."""


class DocumentReadOnlyError(DocumentStateError):
    """The document's effective metadata says `read_only`."""


class LeaseInvalidError(DocumentStateError):
    """The curation's lease is over, or was never given in this scope; nothing was changed. Claim again."""


class DocumentCorruptError(DocumentStateError):
    """What is kept of the document fails its checksum. Waiting doesn't mend it."""


class ConflictError(MemoryServiceError):
    """The document changed meanwhile; read it again, then decide anew."""


class ContentChangedError(ConflictError):
    """The precondition doesn't hold; nothing was changed."""

    @property
    def current_sha256(self) -> str:
        """The hash of what is there now: 64 hex digits, or empty when there is no document."""
        return self.metadata.get("current_sha256", "")


class UnauthenticatedError(MemoryServiceError):
    """The call carries no credential, or one that is malformed, unknown, expired or revoked."""


class ForbiddenError(MemoryServiceError):
    """It may not be done, whoever retries; nothing was looked up."""


class ScopeForbiddenError(ForbiddenError):
    """The credential doesn't reach this scope."""


class PermissionForbiddenError(ForbiddenError):
    """The credential lacks a permission."""

    @property
    def permission(self) -> str:
        """Which one, such as `write`."""
        return self.metadata.get("permission", "")


class ReservedNamespaceError(ForbiddenError):
    """The path belongs to the service, such as `threads/`."""


class RateLimitedError(MemoryServiceError):
    """The tenant calls or writes faster than it may; nothing was started. `retry_after` says when to come back."""


class StorageExhaustedError(MemoryServiceError):
    """The scope's quota is used up, or the disk is full; the old bytes are intact."""


class UnavailableError(MemoryServiceError):
    """The service can't do it now; the same call may succeed later."""


class UnreachableError(UnavailableError):
    """The connection failed before the service answered. A change without its answer may or may not have been made."""


class OverloadedError(UnavailableError):
    """Too many calls are in flight; this one was not started."""


class ShuttingDownError(UnavailableError):
    """The server drains; this call was not started."""


class OutcomeUnknownError(UnavailableError):
    """The change was made but may not survive a power cut; read the document again."""


class DeadlineExceededError(MemoryServiceError):
    """The time was over. With a reason, nothing was changed; without one, a change may have been made.

    To find out, send the same change again with the same `request_id`: it is made once, and its answer says `replayed`.
    """


class CallCancelledError(MemoryServiceError):
    """The call was cancelled."""


class InternalServiceError(MemoryServiceError):
    """A fault of the service; the message holds an incident id for its operator."""
