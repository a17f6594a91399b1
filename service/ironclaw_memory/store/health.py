"""What the file system's refusals mean: for the caller one fault, for the operator one sentence while it lasts.

This is the store's only table of errno values.
"""

from __future__ import annotations

import errno
from typing import Final

from ironclaw_memory.contract.faults import Fault, PathConflict, StorageFull, StorageUnavailable

PROBLEMS: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk reports input/output errors",
    errno.ENXIO: "the disk is gone",
    errno.ENODEV: "the disk is gone",
    errno.ESTALE: "the file system was taken away",
    errno.ENFILE: "the system has no file descriptors left",
    errno.EMFILE: "the process has no file descriptors left",
}
"""Failures that concern every write. Others (a file that may not be opened, say) concern one document only."""

_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_WRONG_KIND: Final = frozenset((errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.ENOTEMPTY))


class FolderGone(Exception):
    """A folder was removed between opening it and using it: a delete tidied up, or a person did. Try again afresh."""


class Interfered(Exception):
    """Someone edited the document by hand between the store's read and its commit. Read again, then decide again."""


def fault_of(error: OSError) -> Fault:
    """Return the fault that tells a caller about `error`, without the errno text, which would name host paths."""
    if error.errno in _FULL:
        return StorageFull()
    if error.errno in _WRONG_KIND:
        return PathConflict("A document is where a folder should be, or a folder where the document should be.")
    return StorageUnavailable()


class StorageHealth:
    """Why writes can't be served now, if so. One assignment each way, so threads need no lock."""

    def __init__(self) -> None:
        self._problem: str | None = None

    def problem(self) -> str | None:
        """Return one sentence for the operator, without paths; None while writes work."""
        return self._problem

    def note_failure(self, error: OSError) -> None:
        """Remember a failed write when its cause concerns every write."""
        if error.errno in PROBLEMS:
            self._problem = PROBLEMS[error.errno]

    def note_success(self) -> None:
        """Forget the problem: a durable write went through."""
        self._problem = None
