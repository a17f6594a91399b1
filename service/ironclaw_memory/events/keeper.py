"""The thread that keeps a trail: syncs it every second, closes old files, and anchors its head in the log."""

from __future__ import annotations

import threading
import time
from typing import Final

from .audit_log import AuditLog

SYNC_SECONDS: Final = 1.0
"""What a power cut may take of the events that needn't be durable."""


class Keeper:
    """Keeps one trail until it is stopped.

    Args:
        trail: what to keep.
        anchor_seconds: how often the head is anchored, if it moved.
    """

    def __init__(self, trail: AuditLog, anchor_seconds: float) -> None:
        self._trail = trail
        self._anchor_seconds = anchor_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit-keeper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and return once the thread has."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        anchored_at = time.monotonic()
        while not self._stop.wait(SYNC_SECONDS):
            due = time.monotonic() - anchored_at >= self._anchor_seconds
            self._trail.keep(anchor=due)
            if due:
                anchored_at = time.monotonic()
