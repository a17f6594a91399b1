"""Ends the files of processes that died: sets a torn tail aside and adds the record that says so.

A kill tears nothing, since a record is one write; a power cut or a full disk may leave half a line, or bytes that never
were one, at a file's end. Only such bytes are cut, after a copy of them is on the disk. A line that looks whole isn't
touched, genuine or not: whether it was tampered with is for `verifying` to say, and this must not tidy it away.

Who mends holds the file's lock, which its writer holds while it lives; so the living are left alone, and of several
processes that start together one mends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from .audit_file import list_files, sync_folder, utc_now
from .chain import BEGINNING, Link, derive_key, forge_line, parse_line
from .reading import ends_file
from .record import MENDED, encode_body, encode_members

TAIL_BYTES: Final = 1 << 16
"""Read from a file's end at first; many times the longest record."""

_log = structlog.get_logger(__name__)


def mend_files(folder: Path, key: bytes, now: Callable[[], datetime] = utc_now) -> int:
    """End every file of a dead process in `folder` and return how many there were.

    Durability: copies, cuts and the added records are on the disk when this returns.

    Args:
        folder: where the trail is.
        key: the data directory's secret.
        now: tells the time, with a zone.
    """
    mended = 0
    for name in list_files(folder):
        try:
            mended += _mend(folder, name, derive_key(key), now())
        except OSError as error:  # the trail of the living goes on; verifying tells about this file
            _log.warning("audit_file_not_mended", file=name, error=type(error).__name__)
    return mended


def _mend(folder: Path, name: str, key: bytes, now: datetime) -> bool:
    descriptor = os.open(folder / name, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if not _is_free(descriptor):
            return False
        size = os.fstat(descriptor).st_size
        last, whole = _find_last(descriptor, size)
        if size == 0 or (last is not None and whole == size and ends_file(last)):
            return False
        if last is not None and not last.is_genuine(key):
            _log.warning("audit_tail_suspect", file=name, sequence=last.sequence)
            return False
        if whole < size:
            _set_aside(folder, name, os.pread(descriptor, size - whole, whole))
            os.ftruncate(descriptor, whole)
        _add_end(descriptor, last, key, now, size - whole)
        _log.warning("audit_file_mended", file=name, torn_bytes=size - whole)
        return True
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _find_last(descriptor: int, size: int) -> tuple[Link | None, int]:
    """Return the last line that looks whole and how many bytes of the file end with it."""
    for reach in (TAIL_BYTES, size):
        start = max(0, size - reach)
        tail = os.pread(descriptor, size - start, start)
        end = len(tail)
        while (end := tail.rfind(b"\n", 0, end) + 1) > 0:
            begin = tail.rfind(b"\n", 0, end - 1) + 1
            if (link := parse_line(tail[begin:end])) is not None:
                return link, start + end
            end = begin
        if start == 0:
            break
    return None, 0


def _set_aside(folder: Path, name: str, torn: bytes) -> None:
    copy = f"{name}.{len(torn)}.torn"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(folder / copy, flags, 0o600)
    try:
        view = memoryview(torn)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(folder)


def _add_end(descriptor: int, last: Link | None, key: bytes, now: datetime, torn_bytes: int) -> None:
    members = encode_members({"kind": MENDED, "torn_bytes": torn_bytes})
    body = encode_body(last.sequence + 1 if last else 1, now, members)
    line, _ = forge_line(body, last.hash if last else BEGINNING, key)
    if os.write(descriptor, line) != len(line):
        raise OSError("short write")
    os.fsync(descriptor)
