"""The thread that does ahead what searches would have to do first: for scopes that were changed, or searched lately.

A round goes through the scopes that are open, twice a second: compares those whose comparison takes long, merges lists,
lets a journal go. In between, what was written gets into the index when `backlog` says so, and what isn't needed any
more is closed.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress

import structlog

from ironclaw_memory.contract.faults import Fault
from ironclaw_memory.contract.scope import Scope

from .backlog import QUIET_SECONDS, Backlog
from .query import IndexSettings
from .scope_index import ScopeIndex

_log = structlog.get_logger(__name__)


class Background:
    """Work that nobody waits for. Its thread starts with the first change or search.

    Args:
        settings: how often there is a round; without background seconds there is no thread, and nothing is kept.
        monotonic: the clock, in seconds.
        opened: returns the indices that are open, by scope.
        open_apart: opens the index of a scope that isn't, for a moment.
    """

    def __init__(
        self,
        settings: IndexSettings,
        monotonic: Callable[[], float],
        opened: Callable[[], Mapping[Scope, ScopeIndex]],
        open_apart: Callable[[Scope], ScopeIndex],
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._opened = opened
        self._open_apart = open_apart
        self._backlog = Backlog()
        self._retired: queue.SimpleQueue[ScopeIndex] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def note_change(self, scope: Scope, path: str) -> None:
        """Have a changed document indexed once there is time."""
        if self._settings.background_seconds:
            self._backlog.note_change(scope, path, self._monotonic())
            self._start()

    def note_search(self, scope: Scope) -> None:
        """Leave the changes of a scope to the search that is about to take them in."""
        if self._settings.background_seconds:
            self._backlog.take(scope)
            self._backlog.note_call(self._monotonic())
            self._start()

    def forget(self, scope: Scope) -> None:
        """Leave a scope alone that is about to be erased."""
        self._backlog.take(scope)

    def retire(self, index: ScopeIndex) -> None:
        """Close an index that isn't needed any more: later, where there is a thread, since it may take long."""
        if self._thread is None:
            index.close()
        else:
            self._retired.put(index)

    def stop(self) -> None:
        """End the work."""
        self._stop.set()
        self._backlog.wake.set()
        if self._thread is not None:
            self._thread.join()
        self._close_retired()

    def _start(self) -> None:
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="index-upkeep", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        pause = self._settings.background_seconds
        next_round = self._monotonic() + pause
        while not self._stop.is_set():
            self._backlog.wake.wait(min(pause, QUIET_SECONDS) if self._backlog else pause)
            self._backlog.wake.clear()
            self._close_retired()
            self._work_off()
            if (now := self._monotonic()) >= next_round:
                next_round = now + pause
                self._go_round(now)

    def _work_off(self) -> None:
        """Index what waits."""
        opened = self._opened()
        for scope in self._backlog.due(self._monotonic()):
            if self._stop.is_set():
                return
            if self._backlog.take(scope):  # else a search was quicker, or the scope was erased
                self._try(self._work_off_scope, scope, opened.get(scope))

    def _work_off_scope(self, scope: Scope, index: ScopeIndex | None) -> None:
        if index is not None:
            index.work_off()
            return
        with closing(self._open_apart(scope)) as apart:
            apart.work_off()

    def _go_round(self, now: float) -> None:
        """Look after what is open."""
        since = now - self._settings.idle_seconds
        for index in self._opened().values():
            if self._stop.is_set():
                return
            self._try(index.keep_up, since, self._stop.is_set)
            self._try(index.tidy, self._backlog.is_quiet(self._monotonic()))

    @staticmethod
    def _try(work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except (OSError, Fault) as error:  # the next round, or a search, tries again
            _log.warning("index_upkeep_failed", error=type(error).__name__)

    def _close_retired(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._retired.get_nowait().close()
