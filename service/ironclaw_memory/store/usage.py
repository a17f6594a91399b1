"""The tally of a scope's documents and bytes, for its quota. Derived: a walk restores it, so it is never flushed.

Room is taken before a change is committed and given back when the change fails, so that writers side by side can't
pass the limit together. Files edited by hand, and a crash in between, make the tally drift; it is counted afresh
before anything is refused. A count must not miss what others have taken room for and not committed yet, so every
writer holds the scope's quota lock shared until its commit, and who counts holds it alone.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ironclaw_memory.contract.faults import ScopeQuota

from .health import FolderGone
from .layout import USAGE_FILE

_LOCK_FILE: Final = b"quota"
_TRIES, _PAUSE_SECONDS = 500, 0.001
_TALLY = struct.Struct("<qqI")  # documents, bytes, crc
Usage = tuple[int, int]
Count = Callable[[], Usage]


@contextmanager
def open_tally(folder: int) -> Iterator[int]:
    """Hold a folder's tally alone and yield its descriptor.

    Raises:
        OSError: it can't be opened.
        FolderGone: the folder was removed.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(USAGE_FILE, flags, 0o600, dir_fd=folder)
    except FileNotFoundError:
        raise FolderGone from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # held for microseconds, or for one walk of the scope
        yield fd
    finally:
        os.close(fd)


def load_tally(fd: int) -> Usage | None:
    """Return the tally; None where there is none that makes sense."""
    raw = os.pread(fd, _TALLY.size, 0)
    if len(raw) != _TALLY.size:
        return None
    documents, size, crc = _TALLY.unpack(raw)
    return (documents, size) if crc == zlib.crc32(raw[:16]) else None


def keep_tally(fd: int, usage: Usage) -> None:
    """Replace the tally. Not durable: a count restores it."""
    raw = struct.pack("<qq", *usage)
    os.pwrite(fd, raw + struct.pack("<I", zlib.crc32(raw)), 0)


class Room:
    """The room that one change takes in its scope, until `close`.

    Args:
        scope_folder, locks_folder: descriptors of the scope's folder and its `locks/`.
        limits: how many documents and bytes the scope may hold; a change that makes it smaller always passes.
        count: walks the scope; called when there is no tally and before anything is refused.

    Raises:
        OSError: the lock can't be opened.
        FolderGone: the scope was removed.
    """

    def __init__(self, scope_folder: int, locks_folder: int, limits: Usage, count: Count) -> None:
        self._scope_folder = scope_folder
        self._limits = limits
        self._count = count
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._fd = os.open(_LOCK_FILE, flags, 0o600, dir_fd=locks_folder)
        except FileNotFoundError:
            raise FolderGone from None
        fcntl.flock(self._fd, fcntl.LOCK_SH)  # waits at most for one walk of the scope

    def take(self, more: Usage) -> None:
        """Add `more` documents and bytes to the tally, or take negative numbers off it.

        Raises:
            ScopeQuota: the scope would exceed a limit by this change; the tally is unchanged.
            OSError: the tally can't be read or kept.
            FolderGone: the scope was removed.
        """
        if self._add(more, recounted=False):
            return
        alone = self._wait_until_alone()
        self._add(more, recounted=alone, last_word=True)

    def recount(self) -> Usage:
        """Count the scope, and keep the result as its tally unless others are at work in it.

        Raises:
            OSError: the scope can't be walked, or the tally not kept.
            FolderGone: the scope was removed.
        """
        alone = self._wait_until_alone()
        with open_tally(self._scope_folder) as fd:
            usage = self._count()
            if alone:
                keep_tally(fd, usage)
        return usage

    def _add(self, more: Usage, *, recounted: bool, last_word: bool = False) -> bool:
        with open_tally(self._scope_folder) as fd:
            usage = self._count() if recounted else load_tally(fd)
            if usage is None:
                if not last_word:
                    return False
                usage = self._count()  # busy, and no tally: a count that may miss a few is better than none
            excess = _excess(usage, more, self._limits)
            if excess is None:
                usage = (usage[0] + more[0], usage[1] + more[1])
            keep_tally(fd, usage)
        if excess is not None and last_word:
            raise excess
        return excess is None

    def _wait_until_alone(self) -> bool:
        """Wait until nobody else has room taken and not committed; False when they never pause, so the tally decides.

        A try that fails gives up our own share of the lock; we have taken no room yet.
        """
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE_SECONDS)
            else:
                return True
        fcntl.flock(self._fd, fcntl.LOCK_SH)
        return False

    def close(self) -> None:
        """Let others count: the change was committed, or its room given back."""
        os.close(self._fd)


def _excess(usage: Usage, more: Usage, limits: Usage) -> ScopeQuota | None:
    for name, used, extra, limit in zip(("documents", "bytes"), usage, more, limits, strict=True):
        if extra > 0 and used + extra > limit:
            return ScopeQuota(name, limit)
    return None
