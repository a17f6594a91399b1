"""The history of one document: an append-only log of the contents that changes replaced. It knows no document files.

The log's format is in `frames.py`. Readers take no lock and see the frames that were whole when they looked.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from ironclaw_memory.contract.document import VersionInfo, VersionReason
from ironclaw_memory.contract.faults import DocumentCorrupt, DocumentMissing

from .files import NOT_THERE, flush, flush_data, replace_file, write_all
from .frames import (
    EPOCH,
    FOOT_MAGIC,
    REASONS,
    SUFFIX,
    TAIL_BYTES,
    WHOLE,
    Frame,
    VersionLog,
    pack_frame,
    pack_opening,
    parse_tail,
)
from .health import FolderGone

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class VersionLimits:
    """How much history a document keeps; the oldest goes first, the newest always stays.

    Attributes:
        count: versions.
        bytes: size of the log on disk.
        age: how long after it was replaced; None for ever.
    """

    count: int
    bytes: int
    age: timedelta | None


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


class PendingVersion:
    """A version that was appended and may still be taken back: the change that it precedes isn't committed yet."""

    def __init__(self, fd: int, version: int, length_before: int, young_in: int | None) -> None:
        self._fd = fd
        self._young_in = young_in
        self._length_before = length_before
        self.version = version

    def flush(self) -> None:
        """Return once the version is on the disk.

        Raises:
            OSError: it may not be.
        """
        flush_data(self._fd)
        if self._young_in is not None:
            flush(self._young_in)

    def take_back(self) -> None:
        """Cut the version off again; when that fails, the next writer finds it and uses it."""
        with suppress(OSError):
            os.ftruncate(self._fd, self._length_before)

    def close(self) -> None:
        """Let go of the log."""
        os.close(self._fd)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a change replaces, for the history.

    Attributes:
        path: the document's path.
        content: its bytes.
        sha256: their hash.
        modified_ns: when the file was written.
        reason: what replaces it.
        at: when.
    """

    path: str
    content: bytes
    sha256: bytes
    modified_ns: int
    reason: VersionReason
    at: datetime


def append_version_locked(folder: int, name: bytes, replaced: Replaced) -> PendingVersion:
    """Append a content to its document's log. Not yet durable: see `PendingVersion.flush`.

    Raises:
        OSError: the log is as it was.
        FolderGone: the folder was removed.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, 0o600, dir_fd=folder)
    except FileNotFoundError:
        raise FolderGone from None
    try:
        last, length = _mend_locked(fd, folder, name, replaced.path)
        # Up to the second version the log's name may not be durable yet: its maker may have died before that flush.
        young = folder if last is None or last.version <= 1 else None
        if last is not None and _is_left_over(last, replaced):
            return PendingVersion(fd, last.version, length, folder)
        version = (last.version if last else 0) + 1
        _append(fd, _frames_for(last, version, replaced), length)
    except BaseException:
        os.close(fd)
        raise
    return PendingVersion(fd, version, length, young)


def _is_left_over(last: Frame, replaced: Replaced) -> bool:
    """Whether the last version is this very file's content, kept by a writer that died before it replaced it."""
    return last.is_version and last.sha256 == replaced.sha256 and last.modified_ns == replaced.modified_ns


def _frames_for(last: Frame | None, version: int, replaced: Replaced) -> bytes:
    kind, base = _how_to_store(last, replaced.content)
    kept_at_us = (replaced.at - EPOCH) // timedelta(microseconds=1)
    body = zlib.compress(replaced.content[base:], 1)
    foot = (version, kept_at_us, len(replaced.content), base, replaced.modified_ns, replaced.sha256)
    opening = b"" if last else pack_opening(replaced.path, 0)
    return opening + pack_frame(kind, body, foot, REASONS.index(replaced.reason))


def _append(fd: int, frames: bytes, length: int) -> None:
    try:
        write_all(fd, frames)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, length)
        raise


def _how_to_store(last: Frame | None, content: bytes) -> tuple[int, int]:
    if last is None or not last.is_version or not 0 < last.size <= len(content):
        return WHOLE, 0
    if hashlib.sha256(memoryview(content)[: last.size]).digest() != last.sha256:
        return WHOLE, 0
    return SUFFIX, last.size


def _mend_locked(fd: int, folder: int, name: bytes, path: str) -> tuple[Frame | None, int]:
    """Return the last frame and the log's length, after cutting off what a crash tore.

    Damage that isn't a torn end (whole frames lie behind it) is set aside, not cut: it may be mended from a backup.
    """
    log = VersionLog(fd)
    length = os.fstat(fd).st_size
    last = log.last()
    end = last.end if last else 0
    if end == length:
        return last, length
    rest = os.pread(fd, length - end, end)
    beyond = _highest_version(rest)
    if beyond is None:
        os.ftruncate(fd, end)
        return last, end
    _log.error("version_log_damaged", set_aside_bytes=length)
    replace_file(name + b".damaged", os.pread(fd, length, 0), folder)
    os.ftruncate(fd, 0)
    write_all(fd, pack_opening(path, beyond))
    fresh = VersionLog(fd).last()
    return fresh, os.fstat(fd).st_size


def _highest_version(content: bytes) -> int | None:
    """Return the version of the last whole foot anywhere in `content`; None when there is none."""
    position = len(content)
    while (position := content.rfind(FOOT_MAGIC, 0, position)) >= 0:
        end = position + len(FOOT_MAGIC)
        frame = parse_tail(content[max(0, end - TAIL_BYTES) : end], 1 << 62)
        if frame is not None:
            return frame.version
    return None


def trim_versions_locked(folder: int, name: bytes, path: str, limits: VersionLimits, at: datetime) -> None:
    """Drop the oldest versions when the log is over its limits, down to three quarters of them.

    Three quarters, so that the cost of rewriting the log is spread over many changes. Expired versions are no longer
    shown at once, and rewritten away when they are a day over.

    Durability: the old log or the new one is there, whole.

    Raises:
        OSError, DocumentCorrupt: the log is as it was.
    """
    with open_log(folder, name) as log:
        if log is None or not _is_over(log, limits, at):
            return
        frames = list(log.backwards())
        kept = _frames_to_keep(frames, limits, at)
        if len(kept) == len(frames):
            return
        replace_file(name, _rewrite(log, frames, kept, path), folder)


def _is_over(log: VersionLog, limits: VersionLimits, at: datetime) -> bool:
    last = log.last()
    if last is None or not last.is_version:
        return False
    opening = log.opening()
    if last.version - opening.version > limits.count or last.end > limits.bytes:
        return True
    if limits.age is None:
        return False
    oldest = log.starting_at(opening.end)
    return oldest is not None and oldest.info().kept_at < at - limits.age - timedelta(days=1)


def _frames_to_keep(frames: list[Frame], limits: VersionLimits, at: datetime) -> list[Frame]:
    """Return the newest frames (frames and result newest first) that fit; at least one."""
    over = len(frames) > limits.count or frames[0].end > limits.bytes
    most, room = (limits.count * 3 // 4, limits.bytes * 3 // 4) if over else (limits.count, limits.bytes)
    kept: list[Frame] = []
    for frame in frames:
        room -= frame.end - frame.start
        expired = limits.age is not None and frame.info().kept_at < at - limits.age
        if kept and (len(kept) >= most or room < 0 or expired):
            break
        kept.append(frame)
    return kept


def _rewrite(log: VersionLog, frames: list[Frame], kept: list[Frame], path: str) -> bytes:
    oldest = kept[-1]
    chain = [oldest]
    while chain[-1].kind == SUFFIX:
        chain.append(frames[len(kept) - 1 + len(chain)])
    first = zlib.compress(log.content(chain), 1)
    foot = (oldest.version, oldest.kept_at_us, oldest.size, 0, oldest.modified_ns, oldest.sha256)
    parts = [pack_opening(path, oldest.version - 1), pack_frame(WHOLE, first, foot, oldest.reason)]
    parts.extend(log.raw(frame) for frame in reversed(kept[:-1]))
    return b"".join(parts)
