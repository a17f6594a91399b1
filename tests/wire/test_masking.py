"""The errors interceptor on a server of its own: what a handler raises by accident reaches nobody but the log."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from structlog.testing import capture_logs

from ironclaw_memory.contract import faults
from ironclaw_memory.contract.faults import Fault, Kind, Reason
from ironclaw_memory.interceptors.errors import STATUS, Errors
from tests.caller import refusal_of
from tests.wire.refusals import CODES, check_form

SECRET = "/srv/data/tenants/acme/secret.md"  # a path that an exception may quote
SAFETY_REFUSALS = (
    Reason.HIGH_RISK_PROMPT_INJECTION,
    Reason.CRITICAL_PROMPT_INJECTION,
    Reason.PROMPT_WRITE_BYPASS_NOT_ALLOWED,
    Reason.SECRET_DETECTED,
)
ARITIES = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


def raising(error, *, after=0):
    """Return a generic handler of service `t.S` whose four methods raise `error`, streams after some answers."""

    def answer(_request, _context):
        raise error

    def stream(_request, _context):
        for _ in range(after):
            yield b"answer"
        raise error

    behaviours = {arity: stream if arity.endswith("stream") else answer for arity in ARITIES}
    handlers = {a: getattr(grpc, f"{a}_rpc_method_handler")(behaviour) for a, behaviour in behaviours.items()}
    return grpc.method_handlers_generic_handler("t.S", handlers)


def call_raising(error, arity="unary_unary", *, after=0):
    """Serve a method that raises, call it, and return the refusal and the answers before it."""
    errors = Errors(frozenset(f"/t.S/{a}" for a in ARITIES))
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, interceptors=[errors], handlers=[raising(error, after=after)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                return _call(channel, arity)
        finally:
            server.stop(None).wait()


def _call(channel, arity):
    request = iter([b"x"]) if arity.startswith("stream") else b"x"
    answers = []

    def call():
        answer = getattr(channel, arity)(f"/t.S/{arity}")(request, timeout=10)
        answers.extend(answer if arity.endswith("stream") else [])

    with pytest.raises(grpc.RpcError) as raised:
        call()
    return refusal_of(raised.value), answers


ACCIDENTS = [ValueError(SECRET), OSError(5, "Input/output error", SECRET), KeyError(SECRET), RecursionError(SECRET),
             MemoryError(SECRET), UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET), AssertionError(SECRET),
             NotImplementedError(SECRET), grpc.RpcError(SECRET)]  # fmt: skip


@pytest.mark.parametrize("error", ACCIDENTS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("arity", ARITIES)
def test_accident(error, arity):
    """An unexpected exception becomes INTERNAL with an incident id and nothing of what it said, for every arity."""
    with capture_logs() as logs:
        refusal, _ = call_raising(error, arity)
    check_form(refusal)
    assert (refusal.code, refusal.reason) == ("INTERNAL", "INTERNAL")
    incident = refusal.metadata["incident_id"]
    assert re.fullmatch(r"[0-9a-f]{16,64}", incident)
    assert incident in refusal.message
    assert set(refusal.metadata) == {"kind", "incident_id"}
    assert SECRET not in refusal.raw
    assert type(error).__name__ not in refusal.message + str(refusal.metadata)
    (line,) = [line for line in logs if line.get("incident_id") == incident]
    assert line["log_level"] == "error"
    assert line["error"] == type(error).__name__
    assert SECRET not in str(line)


def test_accident_within_a_stream():
    """Answers before the accident arrive, and the stream ends with the incident."""
    refusal, answers = call_raising(ValueError(SECRET), "unary_stream", after=3)
    assert answers == [b"answer"] * 3
    assert refusal.reason == "INTERNAL"
    assert SECRET not in refusal.raw


def test_two_accidents_are_two_incidents():
    """Each incident has an id of its own."""
    ids = {call_raising(ValueError())[0].metadata["incident_id"] for _ in range(2)}
    assert len(ids) == 2


def all_faults():
    """Return an instance of every fault class."""
    made = []
    for cls in vars(faults).values():
        if isinstance(cls, type) and issubclass(cls, Fault) and cls is not Fault:
            made.extend(_instances(cls))
    return made


def _instances(cls):
    special = {
        faults.DocumentTooLarge: [(2, 1)],
        faults.UnsafeText: [(reason, "No.") for reason in SAFETY_REFUSALS],
        faults.ContentChanged: [("0" * 64,)],
        faults.CasExhausted: [(8,)],
        faults.ScopeQuota: [("documents", 3), ("tenant_documents", 3)],
        faults.PermissionForbidden: [("admin",)],
        faults.RateLimited: [("calls_per_second", 0.5, 0.25)],
    }
    if cls in special:
        return [cls(*arguments) for arguments in special[cls]]
    try:
        return [cls()]
    except TypeError:
        blames = cls.kind is Kind.INPUT and cls is not faults.RequestMalformed
        return [cls("A sentence.", field="path" if blames else None)]


@pytest.mark.parametrize("fault", all_faults(), ids=lambda fault: f"{type(fault).__name__}-{fault.reason}")
def test_every_fault_has_its_status(fault):
    """Each fault arrives with the code, reason and kind of the contract's table."""
    refusal, _ = call_raising(fault)
    check_form(refusal)
    assert refusal.reason == fault.reason.value
    assert (refusal.retry_seconds is not None) == (fault.retry_after is not None)
    for key, value in fault.details.items():
        assert refusal.metadata[key] == value


def test_every_reason_has_a_fault():
    """No reason of the contract is without a class, INTERNAL aside, which isn't raised but what remains."""
    assert {fault.reason for fault in all_faults()} == set(Reason) - {Reason.INTERNAL}


def test_table_of_status_codes():
    """The interceptor's table is the contract's."""
    assert set(STATUS) == set(Reason)
    assert {reason.value: code.name for reason, code in STATUS.items()} == {r.value: CODES[r.value][0] for r in Reason}


def test_long_and_foreign_text_fits_the_trailers():
    """A message that is too long or not ASCII still arrives as the service's own error."""
    refusal, _ = call_raising(faults.InvalidArguments("茶" * 4000, field="content"))
    check_form(refusal)
    assert refusal.reason == "INVALID_ARGUMENTS"
