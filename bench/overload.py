"""`python -m bench.overload`: four times what the server can carry. It should serve what it can and refuse the rest.

For each method the peak is looked for first: the best rate of answers over a rising number of calls in flight. Then the
server gets four times as much, in two ways: arrivals at four times that rate, whatever becomes of them, and four times
as many callers as it takes in, each of which calls again at once when it was answered and when it was refused waits for
as long as it was told. Meanwhile another process asks for its health over a connection of its own.

The peak is measured again after the overloads and the two are averaged, so that a machine that slows down or speeds up
meanwhile doesn't count for or against the server.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench import corpus, report
from bench.caller import Prepared
from bench.processes import ServerProcess, Worker, product, worker
from bench.rig import LIFECYCLE, SERVICE
from bench.traffic import Outcome, Traffic, as_round, send, send_all

TIMES: Final = 4
MAX_IN_FLIGHT: Final = 128
"""Calls that a worker takes in, by the service's default; more are refused."""

RISING: Final = (1, 4, 16, 64)
"""Calls in flight among which the peak is looked for."""

CONNECTIONS: Final = 8
ENOUGH: Final = 0.9
"""Goodput under overload, of the peak."""

REFUSED: Final = "UNAVAILABLE OVERLOADED"
HEALTH_SECONDS: Final = 0.1
HEALTH_DEADLINE: Final = 5.0
SCOPE: Final = corpus.SeededScope("overload", 100)

METHODS: Final[dict[str, tuple[str, Callable[[int], Sequence[Prepared]]]]] = {
    "RetrieveContext": (LIFECYCLE, partial(corpus.contexts, SCOPE)),
    "Read": (SERVICE, partial(corpus.reads, SCOPE)),
    "Write": (SERVICE, partial(corpus.writes, SCOPE, written=50)),
}


@dataclass(frozen=True, slots=True)
class HealthJob:
    """Whose health to ask for, and how long."""

    address: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Health:
    """What was answered.

    Attributes:
        answers: how many checks there were.
        bad: answers that were not SERVING, by what they were.
        worst_ms: the longest that one took, in milliseconds.
    """

    answers: int
    bad: dict[str, int]
    worst_ms: float


@dataclass(frozen=True, slots=True)
class Overload:
    """What became of four times the load.

    Attributes:
        method: which was called.
        way: `arrivals` or `callers`.
        peak: the best rate of answers without overload, a second.
        offered: calls a second that were made.
        goodput: calls a second that were answered OK.
        refused: share of the calls that were refused as OVERLOADED.
        others: how many calls ended otherwise, by code and reason.
        p50_ms, p99_ms: latency of the answered, from when they were due, in milliseconds.
        server_cores, caller_cores: CPU that either side took, in cores.
        health: what the health checks meanwhile said.
    """

    method: str
    way: str
    peak: float
    offered: float
    goodput: float
    refused: float
    others: dict[str, int]
    p50_ms: float
    p99_ms: float
    server_cores: float
    caller_cores: float
    health: Health

    @property
    def of_peak(self) -> float:
        """Goodput as a share of the peak."""
        return self.goodput / self.peak

    @property
    def holds(self) -> bool:
        """Whether the server did what it should."""
        return self.of_peak >= ENOUGH and not self.others and not self.health.bad


def ask_health(job: HealthJob) -> Health:
    """Ask every 100 ms; the job of a `bench.processes.Worker`."""
    return asyncio.run(_ask_health(job))


async def _ask_health(job: HealthJob) -> Health:
    bad, worst, answers, end = Counter[str](), 0.0, 0, time.monotonic() + job.seconds
    async with grpc.aio.insecure_channel(job.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while (began := time.monotonic()) < end:
            try:
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=HEALTH_DEADLINE)
            except grpc.aio.AioRpcError as error:
                bad[error.code().name] += 1
            else:
                if answer.status != health_pb2.HealthCheckResponse.SERVING:
                    bad[health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)] += 1
            answers, worst = answers + 1, max(worst, time.monotonic() - began)
            await asyncio.sleep(max(0.0, HEALTH_SECONDS - (time.monotonic() - began)))
    return Health(answers, dict(bad), worst * 1e3)


class Bench:
    """What one method's overload is measured with.

    Args:
        server: whom to load.
        senders: the calling processes.
        prober: the process that asks for the server's health.
        method: one of `METHODS`.
        seconds: length of each stretch.
    """

    def __init__(
        self, server: ServerProcess, senders: Sequence[Worker], prober: Worker, method: str, seconds: float
    ) -> None:
        self._server = server
        self._senders = senders
        self._prober = prober
        self._method = method
        self._seconds = seconds
        self._turns = 0

    def _send(self, lanes: int = 0, rate: float = 0.0) -> Outcome:
        service, prepare = METHODS[self._method]
        count = min(len(self._senders), lanes) if lanes else len(self._senders)
        self._turns += 1
        jobs = [
            Traffic(
                self._server.address,
                f"{service}/{self._method}",
                prepare(self._turns * count + number),
                self._seconds,
                lanes=len(range(number, lanes, count)),
                rate=rate / count,
                connections=CONNECTIONS,
                heeds_delay=True,
                seed=number,
            )
            for number in range(count)
        ]
        return send_all(self._senders[:count], jobs)

    def peak(self) -> tuple[float, int]:
        """Return the best rate and the calls in flight at which it was reached."""
        rates = {lanes: as_round(self._send(lanes=lanes)).rate for lanes in RISING}
        best = max(rates, key=lambda lanes: rates[lanes])
        return rates[best], best

    def measure(self) -> list[Overload]:
        """Return what becomes of four times the load, in both ways."""
        self._send(lanes=max(RISING))  # opens the scope and builds its index
        peak, best = self.peak()
        arrivals = self._overload(rate=TIMES * peak)
        callers = self._overload(lanes=TIMES * MAX_IN_FLIGHT)
        peak = (peak + as_round(self._send(lanes=best)).rate) / 2
        return [self._judge("arrivals", peak, *arrivals), self._judge("callers", peak, *callers)]

    def _overload(self, *, lanes: int = 0, rate: float = 0.0) -> tuple[Outcome, float, Health]:
        self._prober.start(HealthJob(self._server.address, self._seconds))
        before = self._server.cpu_seconds()
        outcome = self._send(lanes, rate)
        cores = (self._server.cpu_seconds() - before) / outcome.seconds
        return outcome, cores, self._prober.finish()

    def _judge(self, way: str, peak: float, outcome: Outcome, cores: float, health: Health) -> Overload:
        taken = as_round(outcome)
        return Overload(
            method=self._method,
            way=way,
            peak=peak,
            offered=outcome.calls / self._seconds,
            goodput=taken.rate,
            refused=outcome.failures[REFUSED] / outcome.calls,
            others={what: count for what, count in outcome.failures.items() if what != REFUSED},
            p50_ms=taken.p50_us / 1e3,
            p99_ms=taken.p99_us / 1e3,
            server_cores=cores,
            caller_cores=outcome.cpu_seconds / outcome.seconds,
            health=health,
        )


def measure_overload(
    folder: Path, seconds: float = 5.0, processes: int = 1, methods: Sequence[str] = tuple(METHODS)
) -> list[Overload]:
    """Measure the overload of each method on one server.

    Args:
        folder: scratch space on the disk to be measured.
        seconds: length of each stretch; there are eight of them a method.
        processes: how many call.
        methods: some of `METHODS`.
    """
    data_dir = corpus.new_data_dir(folder / "overload")
    corpus.seed_scope(data_dir, SCOPE)
    with ExitStack() as stack:
        server = stack.enter_context(product(data_dir, "--max-in-flight", str(MAX_IN_FLIGHT)))
        senders = [stack.enter_context(worker(send)) for _ in range(processes)]
        prober = stack.enter_context(worker(ask_health))
        return [found for method in methods for found in Bench(server, senders, prober, method, seconds).measure()]


def print_overload(found: Sequence[Overload]) -> None:
    """Print a row for each overload, and what went wrong."""
    header = ("", "way", "peak/s", "offered/s", "of peak", "good/s", "of peak", "refused", "p50", "p99")
    header += ("server CPU", "caller CPU", "health", "worst")
    title = f"{TIMES} times the load (milliseconds; CPU in cores; health checks that said SERVING, and the slowest)"
    report.print_table(title, header, [_row(each) for each in found])
    for each in found:
        for what, count in (*each.others.items(), *each.health.bad.items()):
            print(f"  FAILED {count:,} x {what} ({each.method}, {each.way})")


def _row(each: Overload) -> report.Row:
    health = each.health
    return (
        each.method,
        each.way,
        report.figure(each.peak),
        report.figure(each.offered),
        f"{each.offered / each.peak:.1f}",
        report.figure(each.goodput),
        f"{each.of_peak:.2f}",
        f"{each.refused:.0%}",
        f"{each.p50_ms:.0f}",
        f"{each.p99_ms:.0f}",
        f"{each.server_cores:.2f}",
        f"{each.caller_cores:.2f}",
        f"{health.answers - sum(health.bad.values())}/{health.answers}",
        f"{health.worst_ms:.0f}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and with --strict return 1 when a target isn't reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.overload", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each stretch (default 5)")
    parser.add_argument("--processes", type=int, default=1, help="calling processes (default 1)")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated (default all)")
    parser.add_argument("--folder", type=Path, help="where to put the data (default: the current folder)")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when a target isn't reached")
    chosen = parser.parse_args(arguments)
    report.print_machine()
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=chosen.folder or Path.cwd()) as folder:
        found = measure_overload(Path(folder), chosen.seconds, chosen.processes, chosen.methods.split(","))
    print_overload(found)
    return int(chosen.strict and not all(each.holds for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
