"""When what was written gets into the index though nobody searches: once calls pause, or when too much has piled up.

Indexing in the middle of a burst of writes would take the interpreter from them, and a document that is written five
times would be indexed five times. So changes wait until the process has been quiet for `QUIET_SECONDS`; those of a
scope wait no longer than `WAITING_SECONDS`, and no more than `WAITING_DOCUMENTS` of them do, so that the search that
comes next has only so much to take in first. The changes themselves are noted in the scope's own folder; here is only
when to look.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from ironclaw_memory.contract.scope import Scope

QUIET_SECONDS: Final = 0.1
WAITING_SECONDS: Final = 2.0
WAITING_DOCUMENTS: Final = 256
"""Documents that a search takes in within some 0.1 s."""


@dataclass(slots=True)
class _Waiting:
    since: float
    paths: set[str] = field(default_factory=set)


class Backlog:
    """The scopes whose changes wait, as far as this process made them. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scopes: dict[Scope, _Waiting] = {}
        self._last_call = float("-inf")
        self.wake = threading.Event()
        """Set when a scope has so many changes that they shouldn't wait."""

    def note_call(self, now: float) -> None:
        """Remember that somebody is waiting for an answer about now."""
        self._last_call = now

    def note_change(self, scope: Scope, path: str, now: float) -> None:
        """Remember that a document changed."""
        self._last_call = now
        with self._lock:
            waiting = self._scopes.setdefault(scope, _Waiting(now))
            waiting.paths.add(path)
            is_full = len(waiting.paths) == WAITING_DOCUMENTS
        if is_full:
            self.wake.set()

    def take(self, scope: Scope) -> bool:
        """Forget a scope whose changes are about to be taken in, and tell whether any waited.

        What changes from now on waits anew.
        """
        if scope not in self._scopes:
            return False
        with self._lock:
            return self._scopes.pop(scope, None) is not None

    def is_quiet(self, now: float) -> bool:
        """Tell whether calls have paused."""
        return now - self._last_call >= QUIET_SECONDS

    def due(self, now: float) -> list[Scope]:
        """Return the scopes whose changes should wait no longer."""
        with self._lock:
            if self.is_quiet(now):
                return list(self._scopes)
            return [
                scope
                for scope, waiting in self._scopes.items()
                if now - waiting.since >= WAITING_SECONDS or len(waiting.paths) >= WAITING_DOCUMENTS
            ]

    def __bool__(self) -> bool:
        return bool(self._scopes)
