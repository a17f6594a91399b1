"""When equal stats prove that nothing was changed in between, and what is remembered on the strength of that.

A change gives a file, or a folder that a name is put into or taken out of, a new change time, which no program can set
back. But the clock behind it ticks in steps: two changes within one step look alike, and an inode that a rename freed
may serve the next file within that step. So a stat proves something only once it is older than the coarsest step: what
was looked at earlier is looked at again. Nothing here is kept on disk.
"""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import Final

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of the last write and the last change in nanoseconds."""

SETTLED_AFTER_NS: Final = 2_000_000_000
"""Twice the coarsest step of a file system with inodes, one second (ext4 with small inodes, HFS+); most take 4 ms."""

MAX_NAMES: Final = 4_000
"""A folder with more entries isn't remembered, some 100 bytes each."""


def stamp_of(found: os.stat_result) -> Stamp:
    """Return what tells this state of a file or folder from every other."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def is_settled(stamp: Stamp, seen_ns: int) -> bool:
    """Return whether every change since the stat is sure to show.

    Args:
        seen_ns: the wall clock, read before the stat was made: the caller may have been held up since.
    """
    return seen_ns - stamp[4] > SETTLED_AFTER_NS


class KnownNames:
    """The names in one open folder, listed again only when one may have come or gone. Safe for threads.

    Args:
        fd: the folder's descriptor; belongs to the caller and outlives this object.
    """

    __slots__ = ("_fd", "_kept")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._kept: tuple[Stamp, frozenset[bytes] | None] | None = None  # replaced whole, so threads need no lock

    def get(self) -> frozenset[bytes] | None:
        """Return every name in the folder as of this call; None when only looking for each can tell.

        Raises:
            OSError: the folder can't be read.
        """
        seen_ns = time.time_ns()
        stamp = stamp_of(os.fstat(self._fd))
        kept = self._kept
        if kept is not None and kept[0] == stamp:
            return kept[1]
        if not is_settled(stamp, seen_ns):
            return None
        names = self._list()
        self._kept = (stamp, names)
        return names

    def _list(self) -> frozenset[bytes] | None:
        with os.scandir(self._fd) as entries:
            names = frozenset(os.fsencode(entry.name) for entry in islice(entries, MAX_NAMES + 1))
        return names if len(names) <= MAX_NAMES else None
