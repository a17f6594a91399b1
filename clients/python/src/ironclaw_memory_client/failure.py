"""From a failed call to the error to raise: one table by reason, and the reading of `google.rpc` details.

A reason that the table doesn't know, from a newer server, falls back to the status code and else to the base class,
with all that the server said still on it.
"""

from __future__ import annotations

from typing import TypeVar, cast

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from .errors import (
    CallCancelledError,
    ConflictError,
    ContentChangedError,
    DeadlineExceededError,
    DocumentCorruptError,
    DocumentNotFoundError,
    DocumentReadOnlyError,
    DocumentStateError,
    DocumentTooLargeError,
    ErrorDetails,
    FieldViolation,
    ForbiddenError,
    InternalServiceError,
    InvalidArgumentsError,
    InvalidPathError,
    InvalidRequestError,
    LeaseInvalidError,
    MemoryServiceError,
    OutcomeUnknownError,
    OverloadedError,
    PatchNoMatchError,
    PathConflictError,
    PermissionForbiddenError,
    RateLimitedError,
    RequestIdReusedError,
    ReservedNamespaceError,
    SchemaViolationError,
    ScopeError,
    ScopeForbiddenError,
    ShuttingDownError,
    StorageExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnreachableError,
    UnsafeTextError,
)

DOMAIN = "memory.ironclaw"

Detail = TypeVar("Detail", bound=Message)

BY_REASON: dict[str, type[MemoryServiceError]] = {
    "INVALID_PATH": InvalidPathError,
    "INVALID_ARGUMENTS": InvalidArgumentsError,
    "PATCH_NO_MATCH": PatchNoMatchError,
    "SCHEMA_VIOLATION": SchemaViolationError,
    "SCOPE_MISSING": ScopeError,
    "SCOPE_INVALID": ScopeError,
    "REQUEST_ID_REUSED": RequestIdReusedError,
    "DOCUMENT_TOO_LARGE": DocumentTooLargeError,
    "REQUEST_MALFORMED": InvalidRequestError,
    "HIGH_RISK_PROMPT_INJECTION": UnsafeTextError,
    "CRITICAL_PROMPT_INJECTION": UnsafeTextError,
    "PROMPT_WRITE_BYPASS_NOT_ALLOWED": UnsafeTextError,
    "SECRET_DETECTED": UnsafeTextError,
    "NOT_FOUND": DocumentNotFoundError,
    "PATH_CONFLICT": PathConflictError,
    "PROFILE_CORRUPT": DocumentStateError,
    "DOCUMENT_NOT_TEXT": DocumentStateError,
    "DOCUMENT_READ_ONLY": DocumentReadOnlyError,
    "LEASE_INVALID": LeaseInvalidError,
    "CONTENT_CHANGED": ContentChangedError,
    "CAS_EXHAUSTED": ConflictError,
    "CREDENTIALS_MISSING": UnauthenticatedError,
    "CREDENTIALS_INVALID": UnauthenticatedError,
    "SCOPE_FORBIDDEN": ScopeForbiddenError,
    "PERMISSION_FORBIDDEN": PermissionForbiddenError,
    "RESERVED_NAMESPACE": ReservedNamespaceError,
    "RATE_LIMITED": RateLimitedError,
    "SCOPE_QUOTA": StorageExhaustedError,
    "STORAGE_FULL": StorageExhaustedError,
    "OVERLOADED": OverloadedError,
    "STORAGE_UNAVAILABLE": UnavailableError,
    "SHUTTING_DOWN": ShuttingDownError,
    "PROMPT_WRITE_POLICY_UNAVAILABLE": UnavailableError,
    "PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE": UnavailableError,
    "OUTCOME_UNKNOWN": OutcomeUnknownError,
    "DOCUMENT_CORRUPT": DocumentCorruptError,
    "DEADLINE_EXCEEDED": DeadlineExceededError,
    "CANCELLED": CallCancelledError,
    "INTERNAL": InternalServiceError,
}

BY_CODE: dict[grpc.StatusCode, type[MemoryServiceError]] = {
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: ForbiddenError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.CANCELLED: CallCancelledError,
}
"""What a reason that the table above doesn't know, or no reason at all, comes down to."""


def error_of(failure: grpc.RpcError) -> MemoryServiceError:
    """Return the failure of a call, sync or asyncio, as the class to catch."""
    details = details_of(failure)
    if not details.reason and details.code is grpc.StatusCode.UNAVAILABLE:
        return UnreachableError(details)
    by_code = BY_CODE.get(details.code, MemoryServiceError)
    return BY_REASON.get(details.reason, by_code)(details)


def details_of(failure: grpc.RpcError) -> ErrorDetails:
    """Return what a failed call carries: its code and message always, the rest as far as the service sent it."""
    call = cast("grpc.Call", failure)  # what a finished call raises is the call itself, in grpc and in grpc.aio
    status = _status_of(call)
    info = _detail(status, error_details_pb2.ErrorInfo())
    if info is None or info.domain != DOMAIN:  # a proxy's details are not ours to read
        return ErrorDetails(call.code(), call.details() or "")
    metadata = dict(info.metadata)
    return ErrorDetails(
        code=call.code(),
        message=call.details() or "",
        reason=info.reason,
        kind=metadata.pop("kind", ""),
        metadata=metadata,
        field_violations=_violations_of(status),
        retry_after=_retry_after_of(status),
    )


def _status_of(call: grpc.Call) -> status_pb2.Status:
    """Return the rich status of a call; an empty one when it has none, or one that contradicts the call."""
    try:
        return rpc_status.from_call(call) or status_pb2.Status()
    except (ValueError, DecodeError):
        return status_pb2.Status()


def _detail(status: status_pb2.Status, found: Detail) -> Detail | None:
    """Return the empty message `found` filled with the detail of its type; None when there is none."""
    for packed in status.details:
        if packed.Is(found.DESCRIPTOR):
            try:
                return found if packed.Unpack(found) else None
            except DecodeError:
                return None
    return None


def _violations_of(status: status_pb2.Status) -> tuple[FieldViolation, ...]:
    request = _detail(status, error_details_pb2.BadRequest())
    return tuple(FieldViolation(v.field, v.description) for v in request.field_violations) if request else ()


def _retry_after_of(status: status_pb2.Status) -> float | None:
    info = _detail(status, error_details_pb2.RetryInfo())
    return max(0.0, info.retry_delay.ToTimedelta().total_seconds()) if info else None
