"""The calling side: closed loops of unary calls over one connection, with as little Python around a call as can be.

Messages are serialised beforehand and answers aren't parsed; only their status is looked at. It runs in a process of
its own (`processes.Worker`) and still takes about as much CPU a call as the server does for an empty handler.
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from bench.sample import Round, round_of

CALL_SECONDS = 10.0
WARM_UP_CALLS = 8
REQUEST_ID = "x-ironclaw-request-id"

Metadata = tuple[tuple[str, str], ...]
Prepared = tuple[bytes, Metadata]


@dataclass(frozen=True, slots=True)
class CallJob:
    """A stretch of calls.

    Attributes:
        address: HOST:PORT of the server.
        method: full name with slashes.
        requests: serialised messages and their metadata, shared out among the lanes and repeated from the start.
        concurrency: how many calls are in flight: lanes, each of which calls again when it was answered.
        seconds: how long.
        request_ids: a prefix; each call then carries a request id of its own.
        once: make each request once, without warming up, instead of repeating them for `seconds`.
    """

    address: str
    method: str
    requests: Sequence[Prepared]
    concurrency: int
    seconds: float
    request_ids: str = ""
    once: bool = False


def call_repeatedly(job: CallJob) -> Round:
    """Do the calls and return how they went."""
    return asyncio.run(_Caller(job).run())


class _Caller:
    def __init__(self, job: CallJob) -> None:
        self._job = job
        self._latencies: list[float] = []
        self._failures: Counter[str] = Counter()

    async def run(self) -> Round:
        options = [("grpc.use_local_subchannel_pool", 1)]  # a connection of its own, whatever ran before
        async with grpc.aio.insecure_channel(self._job.address, options=options) as channel:
            call: Any = channel.unary_unary(self._job.method)
            if not self._job.once:
                await self._warm_up(call)
            cpu, started = cpu_seconds(), time.perf_counter()
            lanes = (self._lane(call, lane, started + self._job.seconds) for lane in range(self._job.concurrency))
            await asyncio.gather(*lanes)
            seconds = time.perf_counter() - started
        return round_of(self._latencies, seconds, cpu_seconds() - cpu, self._failures)

    async def _warm_up(self, call: Any) -> None:
        for message, metadata in self._job.requests[:WARM_UP_CALLS]:
            await call(message, metadata=metadata, timeout=CALL_SECONDS, wait_for_ready=True)

    async def _lane(self, call: Any, lane: int, end: float) -> None:
        marks = bool(self._job.request_ids)
        mine = self._job.requests[lane :: self._job.concurrency] or self._job.requests
        for number, (message, metadata) in enumerate(mine if self._job.once else itertools.cycle(mine)):
            sent = (*metadata, (REQUEST_ID, f"{self._job.request_ids}-{lane}-{number}")) if marks else metadata
            began = time.perf_counter()
            if began >= end and not self._job.once:
                return
            try:
                await call(message, metadata=sent, timeout=CALL_SECONDS, wait_for_ready=self._job.once)
            except grpc.aio.AioRpcError as error:
                self._failures[describe_failure(error)] += 1
            else:
                self._latencies.append(time.perf_counter() - began)


def cpu_seconds() -> float:
    """Return the CPU that this process took so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def describe_failure(error: grpc.aio.AioRpcError) -> str:
    """Return the code and, where the service gave one, the reason."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return f"{error.code().name} {info.reason}"
    return str(error.code().name)
