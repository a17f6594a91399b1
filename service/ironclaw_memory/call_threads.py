"""The threads that serve calls: a pool that hands each call to the thread that was idle last.

`concurrent.futures.ThreadPoolExecutor` keeps a future with a condition for every call and wakes the thread that has
waited longest, whose stack has left the processor's caches by then. gRPC needs none of that: it never looks at a
result. Around an empty handler that is some 20 microseconds of CPU a call.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import structlog

log = structlog.get_logger("ironclaw_memory.server")


class Ending:
    """Stands for a call that was submitted; all that can be asked of it is to tell when it has ended."""

    __slots__ = ("_ended", "_listeners")

    def __init__(self) -> None:
        self._ended = False
        self._listeners: list[Callable[[Ending], object]] = []

    def add_done_callback(self, listener: Callable[[Ending], object]) -> None:
        """Call `listener` once the call has ended, on its thread; at once when it has."""
        self._listeners.append(listener)
        if self._ended:
            self.tell()

    def tell(self) -> None:
        """Tell whoever listens. `pop` is atomic, so each hears of it once whichever thread comes first."""
        self._ended = True
        while self._listeners:
            try:
                listener = self._listeners.pop()
            except IndexError:
                return
            listener(self)


class _Seat:
    """Where an idle thread waits for what it is handed."""

    __slots__ = ("task", "wake")

    def __init__(self) -> None:
        self.wake = threading.Lock()
        self.wake.acquire()
        self.task: _Task | None = None


_Task = tuple[Ending, Callable[..., object], tuple[Any, ...]]


class CallThreads:
    """Runs what is submitted on at most `limit` threads, made when they are first needed; gRPC's thread pool.

    The threads are daemons: whoever stops the server has waited for its calls, and one that hangs must not keep the
    process from ending.

    Args:
        limit: the most threads. What comes beyond them waits its turn.
    """

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._lock = threading.Lock()
        # The rest is guarded by _lock.
        self._idle: list[_Seat] = []
        self._waiting: deque[_Task] = deque()
        self._threads = 0
        self._closed = False

    @property
    def idle_threads(self) -> int:
        """How many threads wait for something to do."""
        return len(self._idle)

    def submit(self, run: Callable[..., object], *args: Any) -> Ending:
        """Run `run(*args)` on one of the threads; its result is dropped.

        Raises:
            RuntimeError: the pool was shut down.
        """
        task = (Ending(), run, args)
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool was shut down")
            seat = self._idle.pop() if self._idle else None
            if seat is None and self._threads == self._limit:
                self._waiting.append(task)
                return task[0]
            self._threads += seat is None
        if seat is None:
            threading.Thread(target=self._work, args=(task,), name="call", daemon=True).start()
        else:
            seat.task = task
            seat.wake.release()
        return task[0]

    def shutdown(self, *, wait: bool = False) -> None:
        """Take nothing more; the threads end when they have done what was submitted.

        Raises:
            NotImplementedError: `wait` is asked for.
        """
        if wait:
            raise NotImplementedError("the server waits for its calls, not for threads")
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for seat in idle:
            seat.wake.release()

    def _work(self, task: _Task | None) -> None:
        seat = _Seat()
        while task is not None:
            ending, run, args = task
            try:
                run(*args)
            except BaseException as error:  # one call's failure must not cost a thread
                log.error("a call's thread failed", error=type(error).__name__)  # noqa: TRY400  # a trace quotes texts
            ending.tell()
            del task, ending, run, args  # an idle thread must not keep the last call's message alive
            task = self._next(seat)

    def _next(self, seat: _Seat) -> _Task | None:
        """Return what to do next, when there is something; None at the end."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            if self._closed:
                return None
            self._idle.append(seat)
        seat.wake.acquire()
        task, seat.task = seat.task, None
        return task
