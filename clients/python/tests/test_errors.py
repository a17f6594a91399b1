"""From status and details on the wire to the error that a caller catches."""

import pickle

import grpc
import pytest

import ironclaw_memory_client as package
from ironclaw.memory.v1 import error_reason_pb2
from ironclaw_memory_client import (
    ContentChangedError,
    DeadlineExceededError,
    DocumentTooLargeError,
    FieldViolation,
    MemoryServiceError,
    OverloadedError,
    UnavailableError,
    UnreachableError,
    UnsafeTextError,
)
from ironclaw_memory_client.failure import BY_REASON

from .scripted import SILENCE, Refusal

Code = grpc.StatusCode
ONCE = package.RetryPolicy(max_tries=1)


def refusal_of(client):
    """Read something and return the error."""
    with pytest.raises(MemoryServiceError) as caught:
        client.read("MEMORY.md")
    return caught.value


def test_every_reason_of_the_protos_has_a_class_and_no_other():
    """The table of reasons and the enum `ErrorReason` list the same names."""
    names = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()}  # noqa: SIM118
    assert set(BY_REASON) == names - {"UNSPECIFIED"}


def test_every_error_class_is_in_the_table_or_documented_as_a_fallback_and_exported():
    """No class is dead: each is reached by a reason, is a parent of one, or is the fallback for a lost connection."""
    reached = {parent for cls in BY_REASON.values() for parent in cls.__mro__}
    defined = {c for c in vars(package.errors).values() if isinstance(c, type) and issubclass(c, MemoryServiceError)}
    assert defined - reached == {UnreachableError}
    assert {cls.__name__ for cls in defined} <= set(package.__all__)


@pytest.mark.parametrize("reason", sorted(BY_REASON))
def test_each_reason_is_raised_as_its_class(connect, script, reason):
    """Both clients raise exactly the class of the reason that came over the wire."""
    script.answers = [Refusal(Code.FAILED_PRECONDITION, reason)]
    error = refusal_of(connect(script.target, retry=ONCE))
    assert type(error) is BY_REASON[reason]
    assert (error.code, error.reason, error.kind) == (Code.FAILED_PRECONDITION, reason, "input")


def test_everything_the_service_said_is_on_the_error(connect, script):
    """Message, metadata without kind, field violations and the server's delay are attributes."""
    refusal = Refusal(
        Code.INVALID_ARGUMENT,
        "DOCUMENT_TOO_LARGE",
        message="Too large.",
        retry_after=1.5,
        metadata={"limit_bytes": "1048576"},
        fields={"content": "It has 2 MiB."},
    )
    script.answers = [refusal]
    error = refusal_of(connect(script.target))
    assert isinstance(error, DocumentTooLargeError)
    assert error.message == "Too large."
    assert str(error) == "DOCUMENT_TOO_LARGE: Too large."
    assert error.metadata == {"limit_bytes": "1048576"}
    assert error.field_violations == (FieldViolation("content", "It has 2 MiB."),)
    assert error.retry_after == 1.5


def test_a_failed_precondition_tells_the_current_hash(connect, script):
    """`ContentChangedError` hands over the hash to go on with."""
    script.answers = [Refusal(Code.ABORTED, "CONTENT_CHANGED", metadata={"current_sha256": "ab" * 32})]
    error = refusal_of(connect(script.target))
    assert isinstance(error, ContentChangedError)
    assert error.current_sha256 == "ab" * 32


@pytest.mark.parametrize(("ids", "expected"), [("a1,b2", ("a1", "b2")), ("", ())])
def test_a_safety_refusal_tells_its_rules(connect, script, ids, expected):
    """`UnsafeTextError` names the rules that matched, and none where no rule is involved."""
    script.answers = [Refusal(Code.INVALID_ARGUMENT, "SECRET_DETECTED", metadata={"rule_ids": ids} if ids else {})]
    error = refusal_of(connect(script.target))
    assert isinstance(error, UnsafeTextError)
    assert error.rule_ids == expected


@pytest.mark.parametrize(
    ("code", "expected"), [(Code.UNAVAILABLE, UnavailableError), (Code.FAILED_PRECONDITION, MemoryServiceError)]
)
def test_a_reason_from_a_newer_server_falls_back_to_the_code(connect, script, code, expected):
    """An unknown reason keeps its name on the nearest class that the code allows."""
    script.answers = [Refusal(code, "MOON_IN_THE_WRONG_PHASE")]
    error = refusal_of(connect(script.target, retry=ONCE))
    assert type(error) is expected
    assert error.reason == "MOON_IN_THE_WRONG_PHASE"


def test_details_of_another_domain_are_not_taken_for_ours(connect, script):
    """A proxy's ErrorInfo with a reason of the same name doesn't pass for the service's word."""
    script.answers = [Refusal(Code.UNAVAILABLE, "OVERLOADED", domain="proxy.example")]
    error = refusal_of(connect(script.target, retry=ONCE))
    assert type(error) is UnreachableError
    assert error.reason == ""


def test_a_refused_connection_is_unreachable(connect, closed_port):
    """Where nobody listens, the error is `UnreachableError` without a reason, and says UNAVAILABLE."""
    error = refusal_of(connect(f"127.0.0.1:{closed_port}", retry=ONCE))
    assert type(error) is UnreachableError
    assert (error.code, error.reason) == (Code.UNAVAILABLE, "")
    assert str(error).startswith("UNAVAILABLE: ")


def test_a_deadline_that_passes_here_is_a_deadline_error(connect, script):
    """A deadline that the channel itself notices has the same class as one that the service reports, and no reason."""
    script.answers = [SILENCE]
    error = refusal_of(connect(script.target, deadline=0.2))
    assert type(error) is DeadlineExceededError
    assert error.reason == ""


def test_an_error_survives_pickling(connect, script):
    """An error can cross a process pool with its class and details."""
    script.answers = [Refusal(Code.UNAVAILABLE, "OVERLOADED", retry_after=2.0)]
    error = refusal_of(connect(script.target, retry=ONCE))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # bytes made on this line
    assert type(again) is OverloadedError
    assert again.details == error.details


def test_broken_details_still_give_an_error(connect, script):
    """A status whose details are no protobuf is reported by its code instead of failing in the client."""

    class Broken(Refusal):
        def status(self):
            status = super().status()
            return status._replace(trailing_metadata=(("grpc-status-details-bin", b"\xff\xff\xff"),))

    script.answers = [Broken(Code.NOT_FOUND, "NOT_FOUND", message="There is none.")]
    error = refusal_of(connect(script.target))
    assert type(error) is MemoryServiceError
    assert (error.code, error.message) == (Code.NOT_FOUND, "There is none.")
