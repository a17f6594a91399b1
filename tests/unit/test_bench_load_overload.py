"""The benches of overload and of concurrency: that they measure what they say, not how fast this machine is."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from bench.concurrency import METHODS, ConcurrencyPlan, measure_concurrency, print_concurrency
from bench.overload import Health, HealthJob, Overload, ask_health, measure_overload, print_overload
from tests.server_process import run_server

FINE = Overload("Read", "arrivals", 100.0, 400.0, 95.0, 0.75, {}, 10.0, 20.0, 1.0, 0.5, Health(10, {}, 5.0))


def test_overload(tmp_path, capsys):
    """Both ways of overloading are measured, and the server's health is asked for meanwhile."""
    found = measure_overload(tmp_path, 0.3, 1, ("Read",))
    assert [each.way for each in found] == ["arrivals", "callers"]
    for each in found:
        assert each.offered >= each.goodput > 0
        assert each.health.answers > 0
        assert not each.health.bad
    print_overload(found)
    assert capsys.readouterr().out.count("Read ") == 2


@pytest.mark.parametrize(
    "worse",
    [
        replace(FINE, goodput=89.0),
        replace(FINE, others={"CANCELLED": 1}),
        replace(FINE, health=Health(10, {"UNAVAILABLE": 1}, 5.0)),
    ],
)
def test_verdict(worse):
    """Too little goodput, an error that isn't OVERLOADED, or a health check that fails: each alone is a failure."""
    assert FINE.holds
    assert not worse.holds


def test_health(tmp_path):
    """A server that serves is healthy; a port where nobody listens is not."""
    with run_server(tmp_path / "data") as server:
        assert not ask_health(HealthJob(server.address, 0.2)).bad
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        health = ask_health(HealthJob(f"127.0.0.1:{unused.getsockname()[1]}", 0.2))
    assert health.bad == {"UNAVAILABLE": health.answers}


def test_concurrency(tmp_path, capsys):
    """Every method is measured with every number of clients, and none of the calls fails."""
    found = measure_concurrency(ConcurrencyPlan((1, 2), (1,), rounds=1, seconds=0.2), tmp_path)
    assert set(found[1]) == set(METHODS)
    for samples in found[1].values():
        assert set(samples) == {1, 2}
    print_concurrency(found)
    shown = capsys.readouterr().out
    assert [method for method in METHODS if f"\n{method} (" not in shown] == []
