"""The outermost interceptor: turns every exception into a status that a host can act on, without what it shouldn't see.

Holds the one table from reason to status code. A `Fault` becomes its status with `ErrorInfo`, `BadRequest` and
`RetryInfo` as they apply; anything else becomes INTERNAL with an incident id, under which the log has the exception's
type and place.
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from ironclaw_memory.contract.faults import Fault, Kind, Reason
from ironclaw_memory.interceptors.around import Around, Behaviour

DOMAIN: Final = "memory.ironclaw"
MAX_MESSAGE_BYTES: Final = 512
"""Clients refuse trailers above 8 KiB and then show their own error instead of ours."""

STATUS: Final[dict[Reason, grpc.StatusCode]] = {
    Reason.INVALID_PATH: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.INVALID_ARGUMENTS: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.PATCH_NO_MATCH: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.SCHEMA_VIOLATION: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.SCOPE_MISSING: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.SCOPE_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.REQUEST_ID_REUSED: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.DOCUMENT_TOO_LARGE: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.REQUEST_MALFORMED: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.HIGH_RISK_PROMPT_INJECTION: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.CRITICAL_PROMPT_INJECTION: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.PROMPT_WRITE_BYPASS_NOT_ALLOWED: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.SECRET_DETECTED: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Reason.PATH_CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.PROFILE_CORRUPT: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.DOCUMENT_NOT_TEXT: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.DOCUMENT_READ_ONLY: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.LEASE_INVALID: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.CONTENT_CHANGED: grpc.StatusCode.ABORTED,
    Reason.CAS_EXHAUSTED: grpc.StatusCode.ABORTED,
    Reason.CREDENTIALS_MISSING: grpc.StatusCode.UNAUTHENTICATED,
    Reason.CREDENTIALS_INVALID: grpc.StatusCode.UNAUTHENTICATED,
    Reason.SCOPE_FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    Reason.PERMISSION_FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    Reason.RESERVED_NAMESPACE: grpc.StatusCode.PERMISSION_DENIED,
    Reason.RATE_LIMITED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.SCOPE_QUOTA: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.STORAGE_FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.OVERLOADED: grpc.StatusCode.UNAVAILABLE,
    Reason.STORAGE_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    Reason.SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    Reason.PROMPT_WRITE_POLICY_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    Reason.PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    Reason.OUTCOME_UNKNOWN: grpc.StatusCode.UNAVAILABLE,
    Reason.DOCUMENT_CORRUPT: grpc.StatusCode.DATA_LOSS,
    Reason.DEADLINE_EXCEEDED: grpc.StatusCode.DEADLINE_EXCEEDED,
    Reason.CANCELLED: grpc.StatusCode.CANCELLED,
    Reason.INTERNAL: grpc.StatusCode.INTERNAL,
}

log = structlog.get_logger("ironclaw_memory.calls")


class Errors(Around):
    """Answers for everything that is raised below it."""

    def enter(self, method: str, context: grpc.ServicerContext) -> None:
        """Nothing comes before: all is done when something was raised."""

    def answering(self, method: str, inner: Behaviour) -> Behaviour:
        """Map what the call raises to its status."""

        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                return inner(request, context)
            except Exception as error:  # the purpose of this class: nothing unexpected reaches the wire
                _abort(method, context, error)

        return answer

    def streaming(self, method: str, inner: Behaviour) -> Behaviour:
        """Map what the stream raises, whenever it does."""

        def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                yield from inner(request, context)
            except Exception as error:  # as above
                _abort(method, context, error)

        return stream


def _abort(method: str, context: grpc.ServicerContext, error: Exception) -> NoReturn:
    if isinstance(error, Fault):
        _note_fault(method, error)
        status = status_of(error)
    else:
        status = _mask(method, error)
    context.abort_with_status(rpc_status.to_status(status))
    raise AssertionError("gRPC's abort returned")  # for the type checker: it raises


def status_of(fault: Fault) -> status_pb2.Status:
    """Return the status of a fault with its details, ASCII and small enough for any client's trailers."""
    details = {"kind": fault.kind.value, **fault.details}
    return _status(STATUS[fault.reason], fault.message, fault.reason, details, *_advice(fault))


def _advice(fault: Fault) -> Iterator[Message]:
    if fault.field is not None and fault.kind is Kind.INPUT:
        violation = error_details_pb2.BadRequest.FieldViolation(field=fault.field, description=_ascii(fault.message))
        yield error_details_pb2.BadRequest(field_violations=[violation])
    if fault.retry_after is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(int(fault.retry_after * 1e9))
        yield error_details_pb2.RetryInfo(retry_delay=delay)


def _mask(method: str, error: Exception) -> status_pb2.Status:
    incident = uuid.uuid4().hex
    # Frames and type only: an exception's text may hold a path or a document's words.
    frames = [f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    log.error(
        "call failed unexpectedly", method=method, incident_id=incident, error=type(error).__name__, at=frames[-8:]
    )
    message = f"Internal error; incident {incident}."
    details = {"kind": Kind.OPERATION.value, "incident_id": incident}
    return _status(grpc.StatusCode.INTERNAL, message, Reason.INTERNAL, details)


def _status(
    code: grpc.StatusCode, message: str, reason: Reason, metadata: dict[str, str], *advice: Message
) -> status_pb2.Status:
    status = status_pb2.Status(code=code.value[0], message=_ascii(message))
    for detail in (error_details_pb2.ErrorInfo(reason=reason.value, domain=DOMAIN, metadata=metadata), *advice):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def _ascii(message: str) -> str:
    return message.encode("ascii", "replace").decode("ascii")[:MAX_MESSAGE_BYTES]


def _note_fault(method: str, fault: Fault) -> None:
    note = log.warning if fault.kind is Kind.UNAVAILABLE else log.debug
    note("call refused", method=method, reason=fault.reason.value)
