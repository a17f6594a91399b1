"""Reading the history of one document: a log of the contents that changes replaced. It knows no document files.

The log's format is in `frames.py`, writing one in `history.py`. Readers take no lock and see the frames that were whole
when they looked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import structlog

from ironclaw_memory.contract.document import VersionInfo
from ironclaw_memory.contract.faults import DocumentCorrupt, DocumentMissing

from .files import NOT_THERE
from .frames import WHOLE, Frame, VersionLog

_log = structlog.get_logger(__name__)


@contextmanager
def open_log(folder: int, name: bytes) -> Iterator[VersionLog | None]:
    """Open a document's log for reading; None when it has none.

    Raises:
        OSError: it is there and can't be opened.
    """
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno not in NOT_THERE:
            raise
        yield None
        return
    try:
        yield VersionLog(fd)
    finally:
        os.close(fd)


def last_frame(folder: int, name: bytes) -> Frame | None:
    """Return the last whole frame of a document's log; None when it has no log.

    Raises:
        OSError: the log is there and can't be read.
    """
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise
    try:
        return VersionLog(fd).last()
    finally:
        os.close(fd)


def list_versions(folder: int, name: bytes, since: datetime | None) -> tuple[VersionInfo, ...]:
    """Return the versions that can be read, newest first.

    Args:
        since: leave out what was replaced earlier.

    Raises:
        OSError: the log can't be read.
    """
    found: list[VersionInfo] = []
    with open_log(folder, name) as log:
        if log is None or log.last() is None:
            return ()
        try:
            found.extend(frame.info() for frame in log.backwards())
        except DocumentCorrupt:
            _log.error("version_log_damaged", readable=len(found))
    return tuple(info for info in found if since is None or info.kept_at >= since)


def read_version(folder: int, name: bytes, version: int, since: datetime | None) -> bytes:
    """Return the content of a version.

    Args:
        since: what was replaced earlier counts as gone.

    Raises:
        DocumentMissing: there is no such version, or not any more.
        DocumentCorrupt: it is damaged.
        OSError: the log can't be read.
    """
    chain: list[Frame] = []
    with open_log(folder, name) as log:
        if log is None or log.last() is None:
            raise DocumentMissing("There is no such version.")
        for frame in log.backwards():
            if frame.version == version or chain:
                chain.append(frame)
            if frame.version < version and not chain:
                break
            if chain and frame.kind == WHOLE:
                break
        if not chain or (since is not None and chain[0].info().kept_at < since):
            raise DocumentMissing("There is no such version.")
        return log.content(chain)
