"""When each API key was used last, in a file of its own beside the keys. A convenience for people, not a record.

Calls only leave a note in memory. A thread of its own writes, a minute after the last time at the soonest, and what it
can't write is lost: no call waits for it, and none fails by it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from ironclaw_memory.store.files import replace_file

from .key_file import FOLDER, open_credentials
from .problem import CredentialsError

USE_FILE: Final = "last-use.json"
PAUSE_SECONDS: Final = 60.0

log = structlog.get_logger("ironclaw_memory.credentials")


class LastUse:
    """Notes uses and keeps them from time to time.

    Args:
        data_dir: the data folder.
        now: the time, in seconds since the epoch.
    """

    def __init__(self, data_dir: Path, now: Callable[[], float] = time.time) -> None:
        self._data_dir = data_dir
        self._now = now
        self._closing = threading.Event()
        self._lock = threading.Lock()
        # Guarded by _lock.
        self._pending: dict[str, int] = {}
        self._noted: dict[str, int] = {}
        self._thread: threading.Thread | None = None

    def note(self, key_id: str, now: int) -> None:
        """Remember that a key was used; at most once a minute for each, and never waiting for a disk."""
        if now - self._noted.get(key_id, 0) < PAUSE_SECONDS:
            return
        with self._lock:
            self._noted[key_id] = self._pending[key_id] = now
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="last-use", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._keep()
            if self._closing.wait(PAUSE_SECONDS):
                return

    def close(self) -> None:
        """Write what is pending."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._keep()

    def _keep(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, {}
        if not pending:
            return
        try:
            with open_credentials(self._data_dir) as folder:
                kept = read_last_use(self._data_dir)
                latest = {key_id: max(used, kept.get(key_id, 0)) for key_id, used in pending.items()}
                replace_file(os.fsencode(USE_FILE), json.dumps({**kept, **latest}).encode("ascii"), folder)
        except CredentialsError:
            log.warning("the last use of API keys couldn't be kept")


def read_last_use(data_dir: Path) -> dict[str, int]:
    """Return when keys were used last, by id, in seconds since the epoch; empty where that isn't known."""
    try:
        found = json.loads((data_dir / FOLDER / USE_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {key: used for key, used in found.items() if isinstance(used, int)} if isinstance(found, dict) else {}
