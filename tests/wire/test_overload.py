"""Overload: what is too much is refused at once with a delay, while health and what is in flight go on."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.caller import SERVICES, Caller, Refusal
from tests.server_process import run_server, wait_until
from tests.wire.folder import documents_on_disk, held_locks
from tests.wire.refusals import MARKER, check_form, check_silence

SCOPE = {"tenant": "t", "user": "alice"}
LIMIT = 2


def overloaded(caller):
    """Return the refusal when the server has no place left, else None."""
    try:
        caller.tree()
    except Refusal as refusal:
        return refusal
    return None


def insist(caller, text, **options):
    """Append until there is a place for it: whoever asks whether the server is overloaded may hold the last one."""
    while True:
        try:
            return caller.append("n.md", text, **options)
        except Refusal as refusal:
            if refusal.reason != "OVERLOADED":
                raise


@pytest.fixture
def small(tmp_path):
    """A server with two places, and calls to it."""
    with run_server(tmp_path / "data", max_in_flight=LIMIT) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.append("n.md", "start")
        yield server, caller


def test_overload(small):
    """With every place taken a call is refused within moments, told when to retry, and not started."""
    server, caller = small
    with ThreadPoolExecutor(LIMIT) as pool:
        with held_locks(server, caller):
            waiting = [pool.submit(insist, caller, f"writer {number}") for number in range(LIMIT)]
            wait_until(lambda: overloaded(caller), 20, "the server is overloaded")
            before = documents_on_disk(server, caller)
            started = time.monotonic()
            with pytest.raises(Refusal) as raised:
                caller.append("other.md", MARKER)
            assert time.monotonic() - started < 2
            assert documents_on_disk(server, caller) == before
            check_refused_for_overload(raised.value)
            check_health(caller)
        for call in waiting:
            call.result(20)
    assert sorted(caller.read("n.md").splitlines()) == ["start", "writer 0", "writer 1"]
    assert caller.tree() == ["n.md"]


def check_refused_for_overload(refusal):
    assert (refusal.code, refusal.reason) == ("UNAVAILABLE", "OVERLOADED"), refusal
    check_form(refusal)
    check_silence(refusal)
    assert refusal.retry_seconds is not None
    assert 0 < refusal.retry_seconds <= 5


def check_health(caller):
    stub = health_pb2_grpc.HealthStub(caller.channel)
    for name in ("", *SERVICES):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=2)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_places_come_back(small):
    """Calls that end, well or badly or by their deadline, give their place back."""
    server, caller = small
    for _ in range(3 * LIMIT):
        with pytest.raises(Refusal):
            caller.read("none.md")
        with pytest.raises(Refusal):
            caller.send("Write", b"\xff", caller.metadata())
        with pytest.raises(Refusal):
            caller.send("Write", b"", [])
    with held_locks(server, caller):
        for _ in range(2 * LIMIT):
            with pytest.raises(Refusal) as raised:
                caller.append("n.md", MARKER, seconds=0.3)
            assert raised.value.code in {"DEADLINE_EXCEEDED", "UNAVAILABLE"}
    wait_until(lambda: overloaded(caller) is None, 10, "the places are free again")
    caller.append("n.md", "after")
    assert caller.read("n.md") == "start\nafter\n"
