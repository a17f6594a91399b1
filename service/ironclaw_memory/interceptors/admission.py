"""Bounds the calls in flight, so that overload is refused at once instead of queueing until everything times out.

gRPC's own limit would refuse health checks too, and an orchestrator would then kill the busiest process; this one
leaves them alone.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager

import grpc

from ironclaw_memory.contract.faults import Overloaded, ShuttingDown
from ironclaw_memory.interceptors.around import Around

RETRY_AFTER_SECONDS = 0.2
"""Longer than the slowest ordinary write, short enough that a turn barely notices."""


class Admission(Around):
    """Counts calls in flight and refuses those beyond the limit, or all once `close` was called.

    It is itself the place that each call holds, for a place is nothing but one more in the count.

    Args:
        limit: the most calls that may be in flight.
        methods: full names of the methods that are counted; health is not among them.
    """

    def __init__(self, limit: int, methods: frozenset[str]) -> None:
        super().__init__(methods)
        self._limit = limit
        self._idle = threading.Condition()
        # Both guarded by _idle.
        self._in_flight = 0
        self._closed = False

    def around(self, method: str, context: grpc.ServicerContext) -> AbstractContextManager[None]:
        """Hold a place while the call is served."""
        del method, context
        return self

    def __enter__(self) -> None:
        with self._idle:
            if self._closed:
                raise ShuttingDown
            if self._in_flight >= self._limit:
                raise Overloaded(
                    "Too many calls are in flight; this one was not started.",
                    retry_after=RETRY_AFTER_SECONDS,
                    details={"limit": str(self._limit)},
                )
            self._in_flight += 1

    def __exit__(self, *_: object) -> None:
        with self._idle:
            self._in_flight -= 1
            if self._in_flight == 0:
                self._idle.notify_all()

    def close(self) -> None:
        """Let no further call in."""
        with self._idle:
            self._closed = True

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait for the calls in flight to end, commits included; return False when some are left after `seconds`."""
        with self._idle:
            return self._idle.wait_for(lambda: self._in_flight == 0, seconds)
