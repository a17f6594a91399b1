"""Notes calls that were refused for who makes them: in the log, without letting a flood of them flood the log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from ironclaw_memory.contract.faults import Fault

QUIET_SECONDS: Final = 10.0
"""Between two lines about the same matter; the later one says how many there were."""

MATTERS: Final = 256
"""Matters remembered at once; they are our own words and our own ids, so there are not many."""

log = structlog.get_logger("ironclaw_memory.credentials")


class RefusalLog:
    """Counts refusals and logs the first of a kind at once, and those that follow in sums.

    Args:
        now: a clock in seconds.
        told: called with each line that is logged: the method, the fault and whose credential it was; for the audit
            trail, which a flood of refusals must not fill either.
    """

    def __init__(
        self, told: Callable[[str, Fault, str], None] = lambda *_: None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._told = told
        self._now = now
        self._lock = threading.Lock()
        # Guarded by _lock: by why and whose, when it was logged last and how many came since.
        self._matters: dict[tuple[str, str], tuple[float, int]] = {}

    def note(self, method: str, fault: Fault, why: str, subject: str) -> None:
        """Note one refusal.

        Args:
            method: the method's full name.
            fault: what the caller is answered.
            why: in our own words.
            subject: a key's id, a principal's name, or nothing; never what the caller sent.
        """
        count = self._count((why, subject))
        if count:
            self._told(method, fault, subject)
            log.warning("credential refused", method=method, why=why, subject=subject, times=count)

    def _count(self, matter: tuple[str, str]) -> int:
        now = self._now()
        with self._lock:
            last, more = self._matters.get(matter, (-QUIET_SECONDS, 0))
            if now - last < QUIET_SECONDS:
                self._matters[matter] = (last, more + 1)
                return 0
            if len(self._matters) >= MATTERS:
                self._matters.clear()
            self._matters[matter] = (now, 0)
            return more + 1
