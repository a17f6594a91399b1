"""Rates: a tenant that calls or writes too fast is told so before anything is looked up, and others don't notice."""

from __future__ import annotations

import pytest

from ironclaw_memory.contract.faults import RateLimited
from ironclaw_memory.interceptors.rates import Buckets
from tests.caller import Caller, Refusal
from tests.server_process import run_server
from tests.wire.refusals import refused

SCOPE = {"tenant": "acme", "user": "ann"}


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self):
        return self.now


def test_a_bucket_holds_a_second_s_worth_and_refills():
    """The delay that is named is exactly long enough."""
    clock = Clock()
    buckets = Buckets("calls_per_second", 4, 1.0, clock)
    for _ in range(4):
        buckets.take("acme", 1)
    with pytest.raises(RateLimited) as caught:
        buckets.take("acme", 1)
    buckets.take("umbra", 1)
    assert caught.value.retry_after == pytest.approx(0.25)
    clock.now += caught.value.retry_after
    buckets.take("acme", 1)


def test_workers_share_a_limit():
    """Each process gives its part, and at least one call."""
    clock = Clock()
    buckets = Buckets("calls_per_second", 4, 0.25, clock)
    buckets.take("acme", 1)
    with pytest.raises(RateLimited):
        buckets.take("acme", 1)
    clock.now += 1.0
    buckets.take("acme", 1)


def test_a_large_request_passes_when_the_bucket_is_full_and_is_paid_off():
    """What is larger than the bucket isn't shut out for ever; what follows waits for its debt."""
    clock = Clock()
    buckets = Buckets("write_bytes_per_second", 100, 1.0, clock)
    buckets.take("acme", 1000)
    with pytest.raises(RateLimited) as caught:
        buckets.take("acme", 10)
    assert caught.value.retry_after == pytest.approx(9.1)
    clock.now += 9.1
    buckets.take("acme", 10)


def test_no_limit_takes_no_note():
    """0 is no limit."""
    buckets = Buckets("calls_per_second", 0, 1.0)
    for _ in range(1000):
        buckets.take("acme", 10**9)


def test_calls_beyond_the_rate_are_refused_with_a_delay(tmp_path):
    """The refusal names limit and delay; another tenant goes on, and health is never counted."""
    with run_server(tmp_path / "data", tenant_calls_per_second=2) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caught = []
        for _ in range(50):
            try:
                caller.tree()
            except Refusal as refusal:
                caught.append(refusal)
        assert len(caught) >= 40
        assert caught[0].reason == "RATE_LIMITED"
        assert caught[0].code == "RESOURCE_EXHAUSTED"
        assert caught[0].metadata == {"kind": "operation", "rate": "calls_per_second", "limit": "2"}
        assert 0 < caught[0].retry_seconds <= 1
        caller.within(tenant="umbra").tree()
        for _ in range(10):
            assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10) == b"\x08\x01"


def test_bytes_are_counted_on_what_writes_and_before_it_is_looked_at(tmp_path):
    """A refused write changes nothing; reads aren't counted in bytes, and a tool call is weighed like its RPC."""
    with run_server(tmp_path / "data", tenant_write_bytes_per_second=1000) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.write("n.md", "x" * 50_000)
        for write in (
            lambda: caller.write("n.md", "y" * 500),
            lambda: caller.send("Write", b"\xff" * 500, caller.metadata()),
            lambda: caller.tool("write", target="n.md", content="y" * 500),
        ):
            with refused("RATE_LIMITED") as caught:
                write()
            assert caught[0].metadata["rate"] == "write_bytes_per_second"
            assert caught[0].retry_seconds > 10
        assert caller.read("n.md") == "x" * 50_000
