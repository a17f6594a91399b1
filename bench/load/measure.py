"""Does the loads one after the other on one server and watches what that takes."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench import corpus
from bench.load.ghz import Ghz, slowest
from bench.load.loads import SCOPE, SIDE_BY_SIDE, SINGLE_LOADS, TURN, TURN_CONFIGS, Result, SingleLoad
from bench.load.turns import TurnJob, play_turns
from bench.processes import ServerProcess, Worker, product, worker
from bench.traffic import Outcome, Traffic, as_round, send, send_all, together

LOOK_SECONDS: Final = 0.1
WARM_UP_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How to load.

    Attributes:
        seconds: length of each load.
        clients: calls in flight, each over a connection of its own.
        processes: how many processes the Python client uses.
        ghz: where `ghz` is; None lets the Python client do its part.
        folder: scratch space on the disk to be measured.
    """

    seconds: float
    clients: int
    processes: int
    ghz: Path | None
    folder: Path


class Watch:
    """Watches a server while a load lasts: its CPU, and the most memory that one of its processes holds."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._over = threading.Event()
        self._peak = 0.0
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._began, self._cpu = time.perf_counter(), self._server.cpu_seconds()
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cores = (self._server.cpu_seconds() - self._cpu) / (time.perf_counter() - self._began)
        self._over.set()
        self._looking.join()
        self.peak_mib = max(self._peak, self._server.resident_mib())

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._peak = max(self._peak, self._server.resident_mib())


def measure_workers(plan: LoadPlan, workers: int) -> Iterator[Result]:
    """Yield what comes of each load on a fresh server with that many workers."""
    data_dir = corpus.new_data_dir(plan.folder / f"workers-{workers}")
    corpus.seed_scope(data_dir, SCOPE)
    with ExitStack() as stack:
        server = stack.enter_context(product(data_dir, "--workers", str(workers)))
        senders = [stack.enter_context(worker(send)) for _ in range(plan.processes)]
        players = [stack.enter_context(worker(play_turns)) for _ in range(plan.processes)]
        _warm_up(plan, server, senders)
        for load in SINGLE_LOADS:
            yield _measure_single(plan, server, workers, load, senders)
        turns = _measure_turns(plan, server, workers, players)
        yield turns
        if plan.ghz:
            yield _measure_side_by_side(plan, plan.ghz, server, workers, turns.taken.rate)


def _warm_up(plan: LoadPlan, server: ServerProcess, senders: Sequence[Worker]) -> None:
    """Call until every worker has opened the scope and its index is built."""
    for load in SINGLE_LOADS:
        _send(replace(plan, seconds=min(WARM_UP_SECONDS, plan.seconds)), server, load, senders, turn=0)


def _measure_single(
    plan: LoadPlan, server: ServerProcess, workers: int, load: SingleLoad, senders: Sequence[Worker]
) -> Result:
    def run() -> Outcome:
        if plan.ghz:
            return Ghz(plan.ghz, server.address, load.config, plan.clients, plan.seconds).finish()
        return _send(plan, server, load, senders, turn=1)

    return _watched(run, server, Result(load.method, workers, "ghz" if plan.ghz else "Python", _NOTHING, 0.0, 0.0, 0.0))


def _send(plan: LoadPlan, server: ServerProcess, load: SingleLoad, senders: Sequence[Worker], turn: int) -> Outcome:
    run = uuid.uuid4().hex[:8]
    jobs = [
        Traffic(
            server.address,
            f"{load.service}/{load.method}",
            load.prepare(turn * len(senders) + number),
            plan.seconds,
            lanes=lanes,
            connections=lanes,
            request_ids=f"{run}-{number}" if load.once else "",
        )
        for number, lanes in enumerate(share_out(plan.clients, len(senders)))
    ]
    return send_all(senders[: len(jobs)], jobs)


def share_out(clients: int, processes: int) -> list[int]:
    """Return how many of the clients each process plays; none plays nobody."""
    return [len(range(number, clients, processes)) for number in range(min(processes, clients))]


def _measure_turns(plan: LoadPlan, server: ServerProcess, workers: int, players: Sequence[Worker]) -> Result:
    def run() -> Outcome:
        name = uuid.uuid4().hex[:8]
        shares = share_out(plan.clients, len(players))
        for number, clients in enumerate(shares):
            players[number].start(TurnJob(server.address, clients, plan.seconds, f"{name}-{number}"))
        return together([player.finish() for player in players[: len(shares)]])

    return _watched(run, server, Result(TURN, workers, "Python", _NOTHING, 0.0, 0.0, 0.0))


def _measure_side_by_side(plan: LoadPlan, ghz: Path, server: ServerProcess, workers: int, rate: float) -> Result:
    def run() -> Outcome:
        lanes = max(1, plan.clients // len(TURN_CONFIGS))
        runs = [Ghz(ghz, server.address, config, lanes, plan.seconds, max(1.0, rate)) for config in TURN_CONFIGS]
        outcomes = [each.finish() for each in runs]
        turns.append(slowest(outcomes))
        return together(outcomes)

    turns: list[float] = []
    result = _watched(run, server, Result(SIDE_BY_SIDE, workers, "ghz", _NOTHING, 0.0, 0.0, 0.0, offered=rate))
    taken = replace(result.taken, calls=round(turns[0] * result.taken.seconds))
    return replace(result, taken=taken, served=result.served / len(TURN_CONFIGS))


_NOTHING: Final = as_round(Outcome(1.0, [0.0]))


def _watched(run: Callable[[], Outcome], server: ServerProcess, result: Result) -> Result:
    with Watch(server) as watch:
        outcome = run()
    taken = as_round(outcome)
    return replace(result, taken=taken, served=taken.calls, server_cores=watch.cores, peak_mib=watch.peak_mib)
