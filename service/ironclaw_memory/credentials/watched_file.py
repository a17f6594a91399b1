"""A configuration file that is read again when it changes, without a restart and without a thread.

Asking costs one `stat`. A change that can't be read or understood leaves what was read last in force and is logged
once: a half-written file must neither lock everyone out nor let anyone in.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

import structlog

from .problem import CredentialsError

Content = TypeVar("Content")
Signature = tuple[int, int, int, int]

SETTLING_SECONDS: Final = 0.1
"""A file read this soon after its change is read again: a second change could have left the same times and size."""

log = structlog.get_logger("ironclaw_memory.credentials")


class WatchedFile(Generic[Content]):
    """What a file says, as of now.

    Args:
        path: the file.
        parse: makes the content from the bytes; raises `CredentialsError` when it can't.
        absent: what a missing file means; None where the file must be there.

    Raises:
        CredentialsError: the file can't be read or understood now, when the server starts.
    """

    def __init__(self, path: Path, parse: Callable[[bytes], Content], absent: Content | None = None) -> None:
        self._path = path
        self._parse = parse
        self._absent = absent
        self._lock = threading.Lock()
        # Written under _lock, read without: each is one reference.
        self._seen: Signature | None = None
        self._settled = False
        signature = self._signature()  # before the reading: a change in between shows at the next call
        self._content = self._load()
        self._note(signature)

    def current(self) -> Content:
        """Return what the file says, or said last where it can't be understood now."""
        signature = self._signature()
        if signature != self._seen or not self._settled:
            with self._lock:
                if signature != self._seen or not self._settled:
                    self._reload(signature)
        return self._content

    def _reload(self, signature: Signature | None) -> None:
        changed = signature != self._seen
        try:
            self._content = self._load()  # before the note, by which others go without the lock
        except CredentialsError as error:
            if changed:
                log.error("file of credentials not taken over", problem=str(error))  # noqa: TRY400  # no trace needed
        else:
            if changed:
                log.info("file of credentials read again", file=self._path.name)
        self._note(signature)

    def _load(self) -> Content:
        try:
            return self._parse(self._path.read_bytes())
        except FileNotFoundError:
            if self._absent is None:
                raise CredentialsError(f"{self._path} is missing") from None
            return self._absent
        except OSError as error:
            raise CredentialsError(f"{self._path} can't be read: {error.strerror}") from None
        except CredentialsError as error:
            raise CredentialsError(f"{self._path}: {error}") from None

    def _note(self, signature: Signature | None) -> None:
        self._seen = signature
        self._settled = signature is None or abs(time.time() - signature[1] / 1e9) > SETTLING_SECONDS

    def _signature(self) -> Signature | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
