"""How much is measured, and the one way in which a stretch of calls is: with the CPU that both sides took for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.caller import CallJob, Prepared
from bench.processes import ServerProcess, Worker
from bench.sample import Round

SERVICE: Final = "/ironclaw.memory.v1.MemoryService"
LIFECYCLE: Final = "/ironclaw.memory.v1.MemoryLifecycleService"
Prepare = Callable[[int], Sequence[Prepared]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    Attributes:
        rounds: turns that each subject gets; figures are medians over them.
        seconds: length of one turn.
        concurrency: calls in flight.
        documents: sizes of a scope to compare, in documents.
        scopes: numbers of scopes to compare, of ten documents each.
        starts: how often the service is started.
        writes: durable writes a turn when the index's share is measured.
    """

    rounds: int
    seconds: float
    concurrency: tuple[int, ...]
    documents: tuple[int, ...]
    scopes: tuple[int, ...]
    starts: int
    writes: int


FULL: Final = Plan(5, 1.0, (1, 4, 16), (10, 100, 1_000, 10_000), (10, 100, 1_000), 5, 300)
QUICK: Final = Plan(3, 0.3, (1, 16), (10, 100, 1_000), (10, 100), 3, 100)


@dataclass(frozen=True, slots=True)
class Rig:
    """What every experiment works with.

    Attributes:
        plan: how much.
        folder: scratch space on the disk to be measured; removed at the end.
        caller: the calling process.
    """

    plan: Plan
    folder: Path
    caller: Worker

    def calls(
        self,
        server: ServerProcess,
        method: str,
        prepare: Prepare,
        concurrency: int,
        *,
        with_ids: bool = False,
        service: str = SERVICE,
    ) -> Callable[[], Round]:
        """Return what makes one turn of calls of a method, with other requests at each turn.

        Args:
            server: whom to call.
            method: the method's name.
            prepare: makes a turn's requests from the turn's number.
            concurrency: calls in flight.
            with_ids: whether each call carries a request id of its own.
            service: the method's service, with a slash before it.
        """
        turns = itertools.count()

        def turn() -> Round:
            number = next(turns)
            ids = f"{concurrency}-{number}" if with_ids else ""
            job = CallJob(
                server.address, f"{service}/{method}", prepare(number), concurrency, self.plan.seconds, request_ids=ids
            )
            return self.call(server, job)

        return turn

    def call(self, server: ServerProcess, job: CallJob) -> Round:
        """Do one stretch of calls and add what the server took."""
        before = server.cpu_seconds()
        taken: Round = self.caller.do(job)
        return replace(taken, server_us=(server.cpu_seconds() - before) / taken.calls * 1e6)
