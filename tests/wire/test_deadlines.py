"""Deadlines: a call ends in time, whoever sets the time, and a write that is out of time writes nothing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.caller import MEMORY, Caller, Refusal
from tests.server_process import run_server, wait_until
from tests.wire.folder import held_locks
from tests.wire.refusals import MARKER, check_form, refused
from tests.wire.test_overload import overloaded

SCOPE = {"tenant": "t", "user": "alice"}


@pytest.fixture
def brief(tmp_path):
    """A server whose default deadline is one second and whose longest is two, and calls to it."""
    with (
        run_server(tmp_path / "data", default_deadline_seconds=1, max_deadline_seconds=2) as server,
        server.channel() as channel,
    ):
        caller = Caller(channel, SCOPE)
        caller.write("n.md", "before")
        yield server, caller


def test_server_default(brief):
    """A call without a deadline gets the server's."""
    server, caller = brief
    started = time.monotonic()
    with held_locks(server, caller), refused("DEADLINE_EXCEEDED"):
        replace(caller, seconds=None).write("n.md", MARKER)
    assert 0.5 < time.monotonic() - started < 8
    assert caller.read("n.md") == "before"


def test_server_cap(brief):
    """A deadline beyond the server's longest is cut to it."""
    server, caller = brief
    started = time.monotonic()
    with held_locks(server, caller), refused("DEADLINE_EXCEEDED"):
        caller.write("n.md", MARKER, seconds=60)
    assert 1.5 < time.monotonic() - started < 10
    assert caller.read("n.md") == "before"


def test_own_deadline(caller, server):
    """A write that waited until its deadline changes nothing afterwards, also when the document comes free then."""
    caller.write("n.md", "before")
    with held_locks(server, caller), pytest.raises(Refusal) as raised:
        caller.write("n.md", MARKER, seconds=0.4)
    assert raised.value.code == "DEADLINE_EXCEEDED"
    if raised.value.reason:  # the client's own clock may have been first; then there are no details
        check_form(raised.value)
    caller.append("n.md", "after")
    assert caller.read("n.md") == "before\nafter\n"


def test_expired_before_it_began(caller):
    """A call whose deadline is over does nothing."""
    with pytest.raises(Refusal) as raised:
        caller.write("n.md", MARKER, seconds=1e-9)
    assert raised.value.code == "DEADLINE_EXCEEDED"
    assert caller.tree() == []


def test_cancelled_write(tmp_path):
    """A write whose caller went away while it waited gives its place back and changes nothing afterwards."""
    with run_server(tmp_path / "data", max_in_flight=1) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.append("n.md", "before")
        with held_locks(server, caller):
            stub = channel.unary_unary(f"/{MEMORY}/Write")
            calls = []

            def is_in_flight():
                if not calls or calls[-1].done():  # our own question had the place
                    calls.append(stub.future(b"\x0a\x04n.md\x12\x05after", metadata=caller.metadata(), timeout=20))
                return overloaded(caller) is not None and not calls[-1].done()

            wait_until(is_in_flight, 20, "the write is in flight")
            calls[-1].cancel()
            wait_until(lambda: overloaded(caller) is None, 10, "the server gave the write up")
        caller.append("n.md", "next")
        assert caller.read("n.md") == "before\nnext\n"


def test_reads_never_wait_for_writers(caller, server):
    """While a document is locked it can be read, listed and found."""
    caller.write("n.md", f"{MARKER} text")
    with held_locks(server, caller):
        assert caller.read("n.md") == f"{MARKER} text"
        assert caller.tree() == ["n.md"]
        assert caller.tool("search", query=MARKER)["result_count"] == 1


def test_waiting_writers_all_get_through(caller, server):
    """Writers that waited for a lock all write once it is free, each once."""
    caller.append("n.md", "start")
    with ThreadPoolExecutor(6) as pool:
        with held_locks(server, caller):
            waiting = [pool.submit(caller.append, "n.md", f"writer {number}") for number in range(6)]
        for call in waiting:
            call.result(20)
    lines = caller.read("n.md").splitlines()
    assert sorted(lines) == ["start", *(f"writer {number}" for number in range(6))]
