"""`python -m bench.concurrency`: how rates and latencies grow with the number of clients and of workers.

Each client is a lane with a connection of its own and calls again when it was answered. The numbers of clients are
measured in turns, in reverse order every other round, and figures are medians over the rounds, as in `bench.rig`. The
callers run on the same machine, so their CPU is told: what it and the server's add up to can't exceed the cores.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from bench import corpus, report
from bench.caller import Prepared
from bench.processes import ServerProcess, Worker, product, worker
from bench.rig import LIFECYCLE, SERVICE
from bench.sample import Round, Sample, take_turns
from bench.traffic import Traffic, as_round, send, send_all

CLIENTS: Final = (1, 2, 4, 8, 16, 32, 64)
WORKERS: Final = (1, 2, 4)
SCOPE: Final = corpus.SeededScope("concurrency", 100)

METHODS: Final[dict[str, tuple[str, Callable[[int], Sequence[Prepared]]]]] = {
    "Read": (SERVICE, partial(corpus.reads, SCOPE)),
    "Write": (SERVICE, partial(corpus.writes, SCOPE, written=50)),
    "Search": (SERVICE, partial(corpus.searches, SCOPE)),
    "RetrieveContext": (LIFECYCLE, partial(corpus.contexts, SCOPE)),
}

ByClients = Mapping[int, Sample]


@dataclass(frozen=True, slots=True)
class ConcurrencyPlan:
    """How much to measure.

    Attributes:
        clients: numbers of clients.
        workers: numbers of workers.
        rounds: turns that each number of clients gets.
        seconds: length of a turn.
        processes: calling processes.
    """

    clients: tuple[int, ...] = CLIENTS
    workers: tuple[int, ...] = WORKERS
    rounds: int = 3
    seconds: float = 0.5
    processes: int = 1


def measure_concurrency(plan: ConcurrencyPlan, folder: Path) -> dict[int, dict[str, ByClients]]:
    """Return samples by workers, method and clients.

    Args:
        plan: how much.
        folder: scratch space on the disk to be measured.

    Raises:
        RuntimeError: a call failed.
    """
    return {workers: _measure_workers(plan, folder, workers) for workers in plan.workers}


def _measure_workers(plan: ConcurrencyPlan, folder: Path, workers: int) -> dict[str, ByClients]:
    data_dir = corpus.new_data_dir(folder / f"concurrency-{workers}")
    corpus.seed_scope(data_dir, SCOPE)
    with ExitStack() as stack:
        server = stack.enter_context(product(data_dir, "--workers", str(workers)))
        senders = [stack.enter_context(worker(send)) for _ in range(plan.processes)]
        return {method: _measure_method(plan, server, senders, method) for method in METHODS}


def _measure_method(plan: ConcurrencyPlan, server: ServerProcess, senders: Sequence[Worker], method: str) -> ByClients:
    turn = _Turn(plan, server, senders, method)
    turn(max(plan.clients))  # every worker opens the scope; its index is built
    subjects = {str(clients): partial(turn, clients) for clients in plan.clients}
    return {int(clients): sample for clients, sample in take_turns(subjects, plan.rounds).items()}


class _Turn:
    def __init__(self, plan: ConcurrencyPlan, server: ServerProcess, senders: Sequence[Worker], method: str) -> None:
        self._plan = plan
        self._server = server
        self._senders = senders
        self._service, self._prepare = METHODS[method]
        self._method = method
        self._turns = 0

    def __call__(self, clients: int) -> Round:
        self._turns += 1
        count = min(len(self._senders), clients)
        jobs = [self._job(number, len(range(number, clients, count))) for number in range(count)]
        before = self._server.cpu_seconds()
        taken = as_round(send_all(self._senders[:count], jobs))
        return replace(taken, server_us=(self._server.cpu_seconds() - before) / taken.calls * 1e6)

    def _job(self, number: int, lanes: int) -> Traffic:
        method = f"{self._service}/{self._method}"
        requests = self._prepare(self._turns * len(self._senders) + number)
        return Traffic(self._server.address, method, requests, self._plan.seconds, lanes=lanes, connections=lanes)


def print_concurrency(found: Mapping[int, Mapping[str, ByClients]]) -> None:
    """Print a table for each method: rows by workers and clients."""
    header = (
        "workers, clients",
        "calls/s",
        "of the best",
        "of 1 worker",
        "p50",
        "p99",
        "server CPU",
        "caller CPU",
        "cores",
    )
    for method in METHODS:
        rows = [
            _row(found, method, workers, clients) for workers, methods in found.items() for clients in methods[method]
        ]
        report.print_table(
            f"{method} (latency and CPU a call in microseconds; cores: of server and callers)", header, rows
        )


def _row(found: Mapping[int, Mapping[str, ByClients]], method: str, workers: int, clients: int) -> report.Row:
    samples = found[workers][method]
    sample, alone = samples[clients], found[min(found)][method][clients]
    return (
        f"{workers:>3}  {clients:>5}",
        report.figure(sample.rate),
        f"{sample.rate / max(each.rate for each in samples.values()):.2f}",
        f"{sample.rate / alone.rate:.2f}",
        report.figure(sample.p50_us),
        report.figure(sample.p99_us),
        report.figure(sample.server_us),
        report.figure(sample.caller_us),
        f"{sample.rate * sample.server_us / 1e6:.2f} + {sample.rate * sample.caller_us / 1e6:.2f}",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.concurrency", description=__doc__)
    default = ConcurrencyPlan()
    parser.add_argument("--clients", default=",".join(map(str, CLIENTS)), help="numbers of clients")
    parser.add_argument("--workers", default=",".join(map(str, WORKERS)), help="numbers of workers")
    parser.add_argument("--rounds", type=int, default=default.rounds, help="turns each (default 3)")
    parser.add_argument("--seconds", type=float, default=default.seconds, help="length of a turn (default 0.5)")
    parser.add_argument("--processes", type=int, default=1, help="calling processes (default 1)")
    parser.add_argument("--folder", type=Path, help="where to put the data (default: the current folder)")
    chosen = parser.parse_args(arguments)
    plan = ConcurrencyPlan(
        _numbers(chosen.clients), _numbers(chosen.workers), chosen.rounds, chosen.seconds, chosen.processes
    )
    report.print_machine()
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=chosen.folder or Path.cwd()) as folder:
        print_concurrency(measure_concurrency(plan, Path(folder)))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


if __name__ == "__main__":
    main()
