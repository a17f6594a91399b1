"""Calls over several connections: in closed loops, or as they arrive whatever has become of those before.

A closed loop can't overload a server by more than its lanes; arrivals can, as the world's do. Latencies of arrivals
count from the moment at which a call was due, so a caller that falls behind shows. Messages are serialised beforehand
and answers aren't parsed, as in `bench.caller`; every status is looked at, and what isn't OK is counted by its code and
reason and has no latency.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from bench.caller import CALL_SECONDS, REQUEST_ID, Prepared, cpu_seconds, describe_failure
from bench.processes import Worker
from bench.sample import Round, round_of


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one calling process sends.

    Attributes:
        address: HOST:PORT of the server.
        method: full name with slashes.
        requests: serialised messages and their metadata, repeated from the start.
        seconds: how long.
        lanes: calls in flight of a closed loop; 0 for arrivals.
        rate: arrivals a second, evenly random (a Poisson process); 0 for a closed loop.
        connections: how many connections share the calls; one connection stays with one worker of the server.
        request_ids: a prefix; each call then carries a request id of its own.
        heeds_delay: whether a lane that is refused waits for as long as the server says, as our clients do.
        seed: of the arrivals.
    """

    address: str
    method: str
    requests: Sequence[Prepared]
    seconds: float
    lanes: int = 0
    rate: float = 0.0
    connections: int = 1
    request_ids: str = ""
    heeds_delay: bool = False
    seed: int = 0


@dataclass(slots=True)
class Outcome:
    """What came of a process's calls.

    Attributes:
        seconds: from the first call to the end of the last.
        latencies: of the answered calls, in seconds.
        failures: how many ended otherwise than OK, by code and reason.
        cpu_seconds: what the process took.
    """

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    cpu_seconds: float = 0.0

    @property
    def calls(self) -> int:
        """How many calls ended, well or badly."""
        return len(self.latencies) + self.failures.total()


def send(traffic: Traffic) -> Outcome:
    """Send the calls and return what came of them; the job of a `bench.processes.Worker`."""
    return asyncio.run(_Sender(traffic).run())


class _Sender:
    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._outcome = Outcome()
        self._requests = itertools.cycle(traffic.requests)
        self._numbers = itertools.count()

    async def run(self) -> Outcome:
        async with AsyncExitStack() as stack:
            calls = [await self._connect(stack) for _ in range(self._traffic.connections)]
            cpu, began = cpu_seconds(), time.perf_counter()
            await (self._arrive(calls, began) if self._traffic.rate else self._loop(calls, began))
            self._outcome.seconds = time.perf_counter() - began
            self._outcome.cpu_seconds = cpu_seconds() - cpu
        return self._outcome

    async def _connect(self, stack: AsyncExitStack) -> Any:
        options = [("grpc.use_local_subchannel_pool", 1)]  # a connection of its own, whatever ran before
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(self._traffic.address, options=options))
        await asyncio.wait_for(channel.channel_ready(), CALL_SECONDS)
        return channel.unary_unary(self._traffic.method)

    async def _loop(self, calls: Sequence[Any], began: float) -> None:
        lanes = zip(range(self._traffic.lanes), itertools.cycle(calls))
        await asyncio.gather(*(self._lane(call, began + self._traffic.seconds) for _, call in lanes))

    async def _lane(self, call: Any, end: float) -> None:
        while (due := time.perf_counter()) < end:
            delay = await self._call(call, due)
            if delay and self._traffic.heeds_delay:
                await asyncio.sleep(min(delay, max(0.0, end - time.perf_counter())))

    async def _arrive(self, calls: Sequence[Any], began: float) -> None:
        gaps, due, running = random.Random(self._traffic.seed), began, set[asyncio.Task[float]]()
        for call in itertools.cycle(calls):
            due += gaps.expovariate(self._traffic.rate)
            if due >= began + self._traffic.seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.create_task(self._call(call, due))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)

    async def _call(self, call: Any, due: float) -> float:
        """Make one call; return the delay that a refusal asks for, else 0."""
        message, metadata = next(self._requests)
        if self._traffic.request_ids:
            metadata = (*metadata, (REQUEST_ID, f"{self._traffic.request_ids}-{next(self._numbers)}"))
        try:
            await call(message, metadata=metadata, timeout=CALL_SECONDS)
        except grpc.aio.AioRpcError as error:
            self._outcome.failures[describe_failure(error)] += 1
            return asked_delay(error)
        self._outcome.latencies.append(time.perf_counter() - due)
        return 0.0


def asked_delay(error: grpc.aio.AioRpcError) -> float:
    """Return how many seconds a refusal asks its caller to wait; 0 where it doesn't say."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.ToNanoseconds() / 1e9)
    return 0.0


def send_all(senders: Sequence[Worker], jobs: Iterable[Traffic]) -> Outcome:
    """Let the processes send at the same time and return what came of all calls together."""
    started = [sender for sender, job in zip(senders, jobs, strict=True) if sender.start(job) is None]
    return together([sender.finish() for sender in started])


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcomes of processes that ran side by side as one."""
    whole = Outcome(seconds=max(outcome.seconds for outcome in outcomes))
    for outcome in outcomes:
        whole.latencies.extend(outcome.latencies)
        whole.failures.update(outcome.failures)
        whole.cpu_seconds += outcome.cpu_seconds
    return whole


def as_round(outcome: Outcome) -> Round:
    """Return the figures of an outcome.

    Raises:
        RuntimeError: no call was answered.
    """
    return round_of(outcome.latencies, outcome.seconds, outcome.cpu_seconds, outcome.failures)
