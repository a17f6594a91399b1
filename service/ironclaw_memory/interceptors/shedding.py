"""Refuses calls beyond the limit at a part of what refusing them further in would take: the outermost interceptor.

`Admission` refuses too; but by then a call has had its message received, a thread, its metadata checked and its fault
made into a status. Under overload most calls are refused, and what that takes is missing to those that are served. So
here, on gRPC's serving thread, a call beyond the limit is answered with a status that was made beforehand. Nothing
about it is looked at, its credential included: the answer tells nothing but that there is no place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import grpc
import structlog

from ironclaw_memory.call_threads import CallThreads, Ending
from ironclaw_memory.interceptors.admission import RETRY_AFTER_SECONDS, overloaded
from ironclaw_memory.interceptors.around import Around, Handler
from ironclaw_memory.interceptors.errors import status_of

MOST_DELAY_SECONDS: Final = 5.0

REFUSED_OF_SERVED: Final = 0.5
"""Refusals wanted for each call that is served: enough to fill a place that falls free, cheap enough to be no load."""

PERIOD_SECONDS: Final = 1.0
"""How often the delay is set anew and refusals, which come by the thousand, are logged."""

log = structlog.get_logger("ironclaw_memory.calls")


class CountedThreads(CallThreads):
    """The threads that serve calls. They know how many calls were taken on and have no answer yet.

    A call counts from when gRPC hands it over, before its thread has run a line of ours: of calls that come in a burst,
    each would otherwise find the same free place.

    Attributes:
        counts_next: whether the call that is handed over next counts. gRPC has one serving thread, which asks the
            interceptors and then submits.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.counts_next = False
        self._open: set[object] = set()  # adding, discarding and counting are atomic
        self._current = threading.local()

    @property
    def open_calls(self) -> int:
        """How many calls were taken on and have no answer yet."""
        return len(self._open)

    def submit(self, run: Callable[..., object], *args: Any) -> Ending:
        """Take on a call.

        Raises:
            RuntimeError: the pool was shut down.
        """
        if not self.counts_next:
            return self.submit_out_of_turn(run, *args)
        self.counts_next = False
        call = object()
        self._open.add(call)
        return super().submit(self._serve, call, run, *args)

    def _serve(self, call: object, run: Callable[..., object], *args: Any) -> None:
        self._current.call = call
        try:
            run(*args)
        finally:
            self._open.discard(call)  # its client may have left before there was a message to handle

    def leave(self) -> None:
        """Count the call that this thread serves no longer."""
        self._open.discard(getattr(self._current, "call", None))  # a stream may be dropped on another thread


class Shedding(Around):
    """Answers OVERLOADED in the place of a method's handler.

    Args:
        limit: the most calls that may be open.
        threads: the server's.
        methods: full names of the methods that are counted; health is not among them.
        now: a clock in seconds.
    """

    def __init__(
        self, limit: int, threads: CountedThreads, methods: frozenset[str], now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(methods)
        self._limit = limit
        self._threads = threads
        self._now = now
        # From here on touched by the serving thread alone.
        self._since = now() - PERIOD_SECONDS
        self._passed = self._shed = 0
        self._delay = RETRY_AFTER_SECONDS
        self._refusal = make_refusal(limit, self._delay)

    def enter(self, method: str, context: grpc.ServicerContext) -> None:
        """Do nothing: the call has counted since it was handed over."""

    def leave(self, entered: None) -> None:
        """Give the place back before the answer is sent: whoever has that may call again at once."""
        del entered
        self._threads.leave()

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the method's handler, or the one that refuses."""
        counts = handler_call_details.method in self._methods
        if counts and self._threads.open_calls >= self._limit:
            return self._refuse()
        handler = super().intercept_service(continuation, handler_call_details)
        self._threads.counts_next = counts
        self._passed += counts
        return handler

    def _refuse(self) -> Handler:
        self._shed += 1
        if self._now() - self._since >= max(PERIOD_SECONDS, self._delay):
            self._begin_period()
        return self._refusal

    def _begin_period(self) -> None:
        log.warning("calls refused for overload", times=self._shed)
        wanted = self._delay * self._shed / (REFUSED_OF_SERVED * max(1, self._passed))
        self._delay = min(MOST_DELAY_SECONDS, max(RETRY_AFTER_SECONDS, wanted))
        self._refusal = make_refusal(self._limit, self._delay)
        self._since, self._passed, self._shed = self._now(), 0, 0


class _AtOnce(ThreadPoolExecutor):
    """Runs what it is given on the spot; a pool by its type, since gRPC takes nothing else."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


_AT_ONCE: Final = _AtOnce(1)


def make_refusal(limit: int, delay: float) -> Handler:
    """Return a handler that refuses any call before its message is there: to gRPC it is one that takes a stream."""
    status = status_of(overloaded(limit, delay))
    trailers = (("grpc-status-details-bin", status.SerializeToString()),)

    def refuse(requests: object, context: grpc.ServicerContext) -> bytes:
        del requests
        context.set_trailing_metadata(trailers)
        context.set_code(grpc.StatusCode.UNAVAILABLE)
        context.set_details(status.message)
        return b""

    refuse.experimental_thread_pool = _AT_ONCE  # type: ignore[attr-defined]  # where gRPC looks for another pool
    return grpc.stream_unary_rpc_method_handler(refuse)
