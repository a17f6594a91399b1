"""Every way in which a call can be refused, as one class a situation.

    Fault
    ├── InvalidPath, InvalidArguments, PatchNoMatch, SchemaViolation, DocumentTooLarge
    ├── ScopeMissing, ScopeInvalid, RequestIdReused, RequestMalformed
    ├── UnsafeText              a prompt file would take an instruction hijack, a secret, or emptiness
    ├── DocumentMissing
    ├── PathConflict, ProfileCorrupt, DocumentNotText, DocumentReadOnly, LeaseInvalid
    ├── ContentChanged, CasExhausted
    ├── CredentialsMissing, CredentialsInvalid
    ├── ScopeForbidden, PermissionForbidden, ReservedNamespace
    ├── RateLimited, ScopeQuota, StorageFull
    ├── Overloaded, ShuttingDown, StorageUnavailable, OutcomeUnknown
    ├── PolicyUnavailable, SafetyEventUnavailable
    ├── DocumentCorrupt
    └── DeadlineExceeded, CallCancelled

A fault knows its reason, its kind and what may be told to the caller; it knows no status code (`interceptors/errors.py`
has the one table). Its message is for a stranger: no host path, no other scope, no document text, ASCII only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Reason(StrEnum):
    """The `ErrorInfo.reason` values of contract section 5, in its order."""

    INVALID_PATH = "INVALID_PATH"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    PATCH_NO_MATCH = "PATCH_NO_MATCH"
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"
    SCOPE_MISSING = "SCOPE_MISSING"
    SCOPE_INVALID = "SCOPE_INVALID"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    DOCUMENT_TOO_LARGE = "DOCUMENT_TOO_LARGE"
    REQUEST_MALFORMED = "REQUEST_MALFORMED"
    HIGH_RISK_PROMPT_INJECTION = "HIGH_RISK_PROMPT_INJECTION"
    CRITICAL_PROMPT_INJECTION = "CRITICAL_PROMPT_INJECTION"
    PROMPT_WRITE_BYPASS_NOT_ALLOWED = "PROMPT_WRITE_BYPASS_NOT_ALLOWED"
    SECRET_DETECTED = "SECRET_DETECTED"  # noqa: S105  # the name of a finding
    NOT_FOUND = "NOT_FOUND"
    PATH_CONFLICT = "PATH_CONFLICT"
    PROFILE_CORRUPT = "PROFILE_CORRUPT"
    DOCUMENT_NOT_TEXT = "DOCUMENT_NOT_TEXT"
    DOCUMENT_READ_ONLY = "DOCUMENT_READ_ONLY"
    LEASE_INVALID = "LEASE_INVALID"
    CONTENT_CHANGED = "CONTENT_CHANGED"
    CAS_EXHAUSTED = "CAS_EXHAUSTED"
    CREDENTIALS_MISSING = "CREDENTIALS_MISSING"
    CREDENTIALS_INVALID = "CREDENTIALS_INVALID"
    SCOPE_FORBIDDEN = "SCOPE_FORBIDDEN"
    PERMISSION_FORBIDDEN = "PERMISSION_FORBIDDEN"
    RESERVED_NAMESPACE = "RESERVED_NAMESPACE"
    RATE_LIMITED = "RATE_LIMITED"
    SCOPE_QUOTA = "SCOPE_QUOTA"
    STORAGE_FULL = "STORAGE_FULL"
    OVERLOADED = "OVERLOADED"
    STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    PROMPT_WRITE_POLICY_UNAVAILABLE = "PROMPT_WRITE_POLICY_UNAVAILABLE"
    PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE = "PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    DOCUMENT_CORRUPT = "DOCUMENT_CORRUPT"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    CANCELLED = "CANCELLED"
    INTERNAL = "INTERNAL"


class Kind(StrEnum):
    """Who can mend a failed call: the caller by calling differently, nobody for this call, or time."""

    INPUT = "input"
    OPERATION = "operation"
    UNAVAILABLE = "unavailable"


class Fault(Exception):
    """A refusal that the caller is told about; every subclass names one situation.

    Args:
        message: one ASCII sentence for the caller, at most 512 bytes, without paths, ids or document text.
        field: the request field to blame, by its proto name; input faults only.
        retry_after: seconds after which the same call may succeed; None when waiting doesn't help.
        details: what `ErrorInfo.metadata` carries besides `kind`; keys in lower_snake, values short and ASCII.
    """

    reason: ClassVar[Reason]
    kind: Kind = Kind.OPERATION

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        retry_after: float | None = None,
        details: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.retry_after = retry_after
        self.details = details or {}


class InvalidPath(Fault):
    """The target or path breaks the grammar of contract 2.2."""

    reason = Reason.INVALID_PATH
    kind = Kind.INPUT


class InvalidArguments(Fault):
    """An argument is missing, blank, of the wrong type or out of range."""

    reason = Reason.INVALID_ARGUMENTS
    kind = Kind.INPUT


class PatchNoMatch(Fault):
    """`old_string` doesn't occur in the document; nothing was changed."""

    reason = Reason.PATCH_NO_MATCH
    kind = Kind.INPUT


class SchemaViolation(Fault):
    """The resulting content doesn't satisfy the JSON Schema of its effective metadata."""

    reason = Reason.SCHEMA_VIOLATION


class ScopeMissing(Fault):
    """The call carries no tenant or no user."""

    reason = Reason.SCOPE_MISSING
    kind = Kind.INPUT


class ScopeInvalid(Fault):
    """A scope value breaks the segment rule, or its key was sent twice."""

    reason = Reason.SCOPE_INVALID
    kind = Kind.INPUT


class RequestIdReused(Fault):
    """The request id belongs to an earlier write with other arguments."""

    reason = Reason.REQUEST_ID_REUSED
    kind = Kind.INPUT


class DocumentTooLarge(Fault):
    """The resulting document would exceed the size limit; the old one stays."""

    reason = Reason.DOCUMENT_TOO_LARGE
    kind = Kind.INPUT

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"The resulting document has {size_bytes} bytes; the limit is {limit_bytes}.",
            field="content",
            details={"size_bytes": str(size_bytes), "limit_bytes": str(limit_bytes)},
        )


class RequestMalformed(Fault):
    """The bytes of the request are not the message that the method takes."""

    reason = Reason.REQUEST_MALFORMED
    kind = Kind.INPUT


class UnsafeText(Fault):
    """A prompt file may not take this text (contract 4.2). The message names rules, never the text.

    Args:
        reason: one of the four safety refusals.
        rule_ids: which rules matched, in the order of their severity; empty where no rule is involved.
    """

    def __init__(self, reason: Reason, message: str, rule_ids: tuple[str, ...] = ()) -> None:
        super().__init__(message, field="content", details={"rule_ids": ",".join(rule_ids[:8])} if rule_ids else None)
        self.reason = reason  # type: ignore[misc]  # the one fault whose reason depends on the finding
        self.rule_ids = rule_ids


class DocumentMissing(Fault):
    """No document, or no version of it, is there. On a read the caller can mend it by reading something else.

    Args:
        on_read: True for the read tool, where the contract counts it as `input`.
    """

    reason = Reason.NOT_FOUND

    def __init__(self, message: str = "There is no such document.", *, on_read: bool = False) -> None:
        super().__init__(message, field="path" if on_read else None)
        self.kind = Kind.INPUT if on_read else Kind.OPERATION


class PathConflict(Fault):
    """A folder is where the document should be, or a document where a folder should be."""

    reason = Reason.PATH_CONFLICT


class ProfileCorrupt(Fault):
    """`context/profile.json` isn't a JSON object with text fields; it was left untouched."""

    reason = Reason.PROFILE_CORRUPT


class DocumentNotText(Fault):
    """The file isn't UTF-8."""

    reason = Reason.DOCUMENT_NOT_TEXT


class DocumentReadOnly(Fault):
    """The effective metadata says `read_only`."""

    reason = Reason.DOCUMENT_READ_ONLY


class LeaseInvalid(Fault):
    """The curation's lease is over, or was never given in this scope; claim again."""

    reason = Reason.LEASE_INVALID

    def __init__(self) -> None:
        super().__init__("The lease is over, or isn't one of this scope; nothing was changed. Claim again.")


class ContentChanged(Fault):
    """A precondition doesn't hold. `current_sha256` is the hex hash of what is there, empty for no document."""

    reason = Reason.CONTENT_CHANGED

    def __init__(self, current_sha256: str) -> None:
        super().__init__(
            "The document isn't what the precondition expects; read it again, then retry.",
            details={"current_sha256": current_sha256},
        )
        self.current_sha256 = current_sha256


class CasExhausted(Fault):
    """The document changed under every try of a compare-and-write."""

    reason = Reason.CAS_EXHAUSTED

    def __init__(self, tries: int) -> None:
        super().__init__(f"The document changed during each of {tries} tries; read it again, then retry.")


class CredentialsMissing(Fault):
    """The server asks for credentials and the call carries none."""

    reason = Reason.CREDENTIALS_MISSING

    def __init__(self) -> None:
        super().__init__("The call carries no credential; send authorization: Bearer with an API key or a token.")


class CredentialsInvalid(Fault):
    """The credential isn't one that the server accepts. The caller isn't told why; the log is."""

    reason = Reason.CREDENTIALS_INVALID

    def __init__(self) -> None:
        super().__init__("The credential is malformed, unknown, expired or revoked.")


class ScopeForbidden(Fault):
    """The credential doesn't reach this scope. Decided before anything is looked up, so it tells of nothing there."""

    reason = Reason.SCOPE_FORBIDDEN

    def __init__(self) -> None:
        super().__init__("The credential doesn't allow calls in this scope.")


class PermissionForbidden(Fault):
    """The credential lacks a permission that the call needs; `permission` in the details names it."""

    reason = Reason.PERMISSION_FORBIDDEN

    def __init__(self, permission: str) -> None:
        super().__init__(f"The credential lacks the permission '{permission}'.", details={"permission": permission})


class RateLimited(Fault):
    """The tenant calls or writes faster than it may; nothing was started. `rate` and `limit` in the details tell."""

    reason = Reason.RATE_LIMITED

    def __init__(self, rate: str, limit: float, retry_after: float) -> None:
        super().__init__(
            f"This tenant's limit of {limit:g} {rate.replace('_', ' ')} is reached; retry after the delay.",
            retry_after=retry_after,
            details={"rate": rate, "limit": f"{limit:g}"},
        )


class ReservedNamespace(Fault):
    """`threads/` belongs to recorded interactions."""

    reason = Reason.RESERVED_NAMESPACE

    def __init__(self) -> None:
        super().__init__("threads/ is reserved for recorded interactions.", field="target")


class ScopeQuota(Fault):
    """A limit of documents or bytes is reached: the scope's, or its tenant's."""

    reason = Reason.SCOPE_QUOTA

    def __init__(self, quota: str, limit: int) -> None:
        whose = "tenant" if quota.startswith("tenant_") else "scope"
        super().__init__(
            f"This {whose}'s limit of {limit} {quota.removeprefix('tenant_')} is reached; delete something first.",
            details={"quota": quota, "limit": str(limit)},
        )


class StorageFull(Fault):
    """The disk or its quota is full; the old bytes are intact."""

    reason = Reason.STORAGE_FULL

    def __init__(self) -> None:
        super().__init__("The storage is full; nothing was changed.")


class Overloaded(Fault):
    """Too many calls are in flight; this one was not started."""

    reason = Reason.OVERLOADED
    kind = Kind.UNAVAILABLE


class ShuttingDown(Fault):
    """The server drains; this call was not started."""

    reason = Reason.SHUTTING_DOWN
    kind = Kind.UNAVAILABLE

    def __init__(self) -> None:
        super().__init__("The server is shutting down; retry elsewhere.", retry_after=1.0)


class StorageUnavailable(Fault):
    """The file system refused; nothing was changed. Carries no errno text, which would name host paths."""

    reason = Reason.STORAGE_UNAVAILABLE
    kind = Kind.UNAVAILABLE

    def __init__(self, message: str = "The storage is unavailable; nothing was changed.") -> None:
        super().__init__(message, retry_after=1.0)


class OutcomeUnknown(Fault):
    """The change may or may not survive a power cut; read the document to see what is there."""

    reason = Reason.OUTCOME_UNKNOWN
    kind = Kind.UNAVAILABLE

    def __init__(self) -> None:
        super().__init__("It is not known whether the change is durable; read the document again.")


class PolicyUnavailable(Fault):
    """The safety check itself failed, so the write is refused."""

    reason = Reason.PROMPT_WRITE_POLICY_UNAVAILABLE
    kind = Kind.UNAVAILABLE

    def __init__(self) -> None:
        super().__init__("The safety check failed; nothing was changed.", retry_after=1.0)


class SafetyEventUnavailable(Fault):
    """The event that must precede this write couldn't be recorded, so the write is refused."""

    reason = Reason.PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE
    kind = Kind.UNAVAILABLE

    def __init__(self) -> None:
        super().__init__("The safety event couldn't be recorded; nothing was changed.", retry_after=1.0)


class DocumentCorrupt(Fault):
    """What the service keeps of the document fails its checksum."""

    reason = Reason.DOCUMENT_CORRUPT


class DeadlineExceeded(Fault):
    """The call's time was over before its commit point; nothing was changed."""

    reason = Reason.DEADLINE_EXCEEDED

    def __init__(self) -> None:
        super().__init__("The deadline passed before the change was committed; nothing was changed.")


class CallCancelled(Fault):
    """The caller went away before the commit point; nothing was changed."""

    reason = Reason.CANCELLED

    def __init__(self) -> None:
        super().__init__("The call was cancelled before the change was committed; nothing was changed.")
