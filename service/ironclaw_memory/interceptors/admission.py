"""Bounds the calls in flight, so that overload is refused at once instead of queueing until everything times out.

gRPC's own limit would refuse health checks too, and an orchestrator would then kill the busiest process; this one
leaves them alone.
"""

from __future__ import annotations

import threading

import grpc

from ironclaw_memory.contract.faults import Overloaded, ShuttingDown
from ironclaw_memory.interceptors.around import Around

RETRY_AFTER_SECONDS = 0.2
"""Longer than the slowest ordinary write, short enough that a turn barely notices."""


def overloaded(limit: int, delay: float) -> Overloaded:
    """Return what a call that finds `limit` others in flight is answered, with the seconds after which to retry."""
    message = "Too many calls are in flight; this one was not started."
    return Overloaded(message, retry_after=delay, details={"limit": str(limit)})


class Admission(Around):
    """Counts calls in flight and refuses those beyond the limit, or all once `close` was called.

    Args:
        limit: the most calls that may be in flight.
        methods: full names of the methods that are counted; health is not among them.
    """

    def __init__(self, limit: int, methods: frozenset[str]) -> None:
        super().__init__(methods)
        self._limit = limit
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        # Both guarded by _lock.
        self._in_flight = 0
        self._closed = False

    def enter(self, method: str, context: grpc.ServicerContext) -> None:
        """Take a place for as long as the call is served."""
        del method, context
        with self._lock:
            if self._closed:
                raise ShuttingDown
            if self._in_flight >= self._limit:
                raise overloaded(self._limit, RETRY_AFTER_SECONDS)
            self._in_flight += 1

    def leave(self, entered: None) -> None:
        """Give the place back."""
        del entered
        with self._lock:
            self._in_flight -= 1
            if self._closed and self._in_flight == 0:
                self._idle.notify_all()

    def close(self) -> None:
        """Let no further call in."""
        with self._lock:
            self._closed = True

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait, after `close`, for the calls in flight to end; return False when some are left after `seconds`."""
        with self._idle:
            return self._idle.wait_for(lambda: self._in_flight == 0, seconds)
