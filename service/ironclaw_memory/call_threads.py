"""The threads that serve calls: few of them run at once, and the one that was idle last comes first.

Python runs one thread at a time. With sixteen that want to, each system call hands the interpreter to another and has
to win it back, and a read takes twice the CPU that it takes alone. So calls take turns: `AT_ONCE` of them run, the rest
wait in the order in which they came. A call that waits for the disk or a lock gives its turn away (`turns.py`), and one
that has taken long, whatever with, loses it to the next while it goes on: nobody waits for a call that hangs.

`concurrent.futures.ThreadPoolExecutor` has no turns, keeps a future with a condition for every call, and wakes the
thread that has waited longest, whose stack has left the processor's caches by then. gRPC looks at no result.
Figures are in `docs/benchmarks.md`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import structlog

from ironclaw_memory.turns import current

AT_ONCE: Final = 2
"""While one runs, another can be received or sent, which gRPC does without the interpreter."""

LONG_SECONDS: Final = 0.01
"""A call that has run for so long is no longer counted, if others wait: many times what a read or a search takes."""

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


class _Call:
    """Something to run.

    Attributes:
        ending: tells when it has ended.
        since: when it got its turn, on the monotonic clock.
    """

    __slots__ = ("_pool", "args", "ending", "run", "since")

    def __init__(self, pool: CallThreads, run: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._pool = pool
        self.run = run
        self.args = args
        self.ending = Ending()
        self.since = 0.0

    def give_away(self) -> bool:
        """Let another call run; return whether this one had a turn."""
        return self._pool.give_away(self)

    def take_back(self) -> None:
        """Run again, at once."""
        self._pool.take_back(self)


class _Seat:
    """Where an idle thread waits for what it is handed: a call, or None for the end."""

    __slots__ = ("_call", "_wake")

    def __init__(self) -> None:
        self._wake = threading.Lock()
        self._wake.acquire()
        self._call: _Call | None = None

    def hand(self, call: _Call | None) -> None:
        self._call = call
        self._wake.release()

    def wait(self) -> _Call | None:
        self._wake.acquire()
        call, self._call = self._call, None
        return call


class CallThreads:
    """Runs what is submitted, on threads that are made when they are first needed; gRPC's thread pool.

    The threads are daemons: whoever stops the server has waited for its calls, and one that hangs must not keep the
    process from ending.

    Args:
        limit: the most threads. What comes beyond them waits for one.
        at_once: how many calls run at once.
    """

    def __init__(self, limit: int, at_once: int = AT_ONCE) -> None:
        self._limit: Final = limit
        self._at_once: Final = at_once
        self._lock = threading.Lock()
        self._all_served = threading.Condition(self._lock)
        # The rest is guarded by _lock.
        self._idle: list[_Seat] = []
        self._urgent: deque[_Call] = deque()
        self._queue: deque[_Call] = deque()
        self._turns: set[_Call] = set()
        self._threads = 0
        self._closed = False
        self._has_overseer = False
        self._overseer_sleeps = False

    @property
    def idle_threads(self) -> int:
        """How many threads wait for something to do."""
        return len(self._idle)

    def submit(self, run: Callable[..., object], *args: Any) -> Ending:
        """Run `run(*args)` when its turn comes; its result is dropped.

        Raises:
            RuntimeError: the pool was shut down.
        """
        return self._enqueue(self._queue, _Call(self, run, args))

    def submit_out_of_turn(self, run: Callable[..., object], *args: Any) -> Ending:
        """Run `run(*args)` at once: what must be answered under any load, or goes on for as long as its caller likes.

        Raises:
            RuntimeError: the pool was shut down.
        """
        return self._enqueue(self._urgent, _Call(self, run, args))

    def _enqueue(self, queue: deque[_Call], call: _Call) -> Ending:
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool was shut down")
            queue.append(call)
            self._launch_locked()
            if self._queue:
                self._oversee_locked()
        return call.ending

    def give_away(self, call: _Call) -> bool:
        """Let another call run in this one's turn; return whether it had one."""
        with self._lock:
            if call not in self._turns:
                return False
            self._turns.remove(call)
            self._launch_locked()
            return True

    def take_back(self, call: _Call) -> None:
        """Count a call among those that run."""
        with self._lock:
            call.since = time.monotonic()
            self._turns.add(call)

    def shutdown(self) -> None:
        """Take nothing more; the threads end when they have done what was submitted."""
        with self._lock:
            self._closed = True
            for seat in self._idle:
                seat.hand(None)
            self._idle = []
            self._all_served.notify_all()

    def _launch_locked(self) -> None:
        """Put calls on threads, as far as there are both, and turns for those that need one."""
        while (self._idle or self._threads < self._limit) and (call := self._next_locked()) is not None:
            if self._idle:
                self._idle.pop().hand(call)
            else:
                self._threads += 1
                threading.Thread(target=self._work, args=(call,), name="call", daemon=True).start()

    def _next_locked(self) -> _Call | None:
        """Return the call that a free thread should run now, its turn given; None when none should."""
        if self._urgent:
            return self._urgent.popleft()
        if not self._queue or len(self._turns) >= self._at_once:
            return None
        call = self._queue.popleft()
        call.since = time.monotonic()
        self._turns.add(call)
        return call

    def _work(self, call: _Call | None) -> None:
        seat = _Seat()
        while call is not None:
            current.turn = call
            try:
                call.run(*call.args)
            except BaseException as error:  # one call's failure must not cost a thread
                log.error("a call's thread failed", error=type(error).__name__)  # noqa: TRY400  # a trace quotes texts
            call.ending.tell()
            call = self._finish(call, seat)

    def _finish(self, call: _Call, seat: _Seat) -> _Call | None:
        """Return what this thread runs next, waiting for it if need be; None at the end."""
        current.turn = None  # an idle thread must not keep the last call's message alive
        with self._lock:
            self._turns.discard(call)
            following = self._next_locked()
            if following is not None or self._closed:
                return following
            self._idle.append(seat)
        del call
        return seat.wait()

    def _oversee_locked(self) -> None:
        """See to it that those who wait get the turn of a call that has run for long."""
        if self._overseer_sleeps:
            self._overseer_sleeps = False
            self._all_served.notify_all()
        elif not self._has_overseer:
            self._has_overseer = True
            threading.Thread(target=self._oversee, name="turns", daemon=True).start()

    def _oversee(self) -> None:
        with self._lock:
            while not self._closed or self._queue:
                if not self._queue:
                    self._overseer_sleeps = True
                    self._all_served.wait()
                    continue
                self._all_served.wait(LONG_SECONDS / 2)
                late = time.monotonic() - LONG_SECONDS
                self._turns -= {call for call in self._turns if call.since < late}
                self._launch_locked()
