"""Writing the history of one document: what a change replaces is appended, and the oldest goes when it grows too long.

The log's format is in `frames.py`, reading one in `versions.py`. It knows no document files.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from ironclaw_memory.contract.document import VersionReason

from .files import NOT_THERE, flush, flush_data, replace_file, write_all
from .frames import (
    EPOCH,
    FOOT_MAGIC,
    REASONS,
    SOURCES,
    SUFFIX,
    TAIL_BYTES,
    WHOLE,
    Frame,
    VersionLog,
    compress,
    pack_frame,
    pack_opening,
    parse_tail,
)
from .health import FolderGone

_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
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


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a change replaces, for the history.

    Attributes:
        path: the document's path.
        content: its bytes.
        sha256: their hash.
        modified_ns: when the file was written.
        reason: what replaces it.
        source_class: what the caller who replaces it writes as; empty where callers have no credentials.
        at: when.
    """

    path: str
    content: bytes
    sha256: bytes
    modified_ns: int
    reason: VersionReason
    at: datetime
    source_class: str = ""


class PendingVersion:
    """A version that was appended and may still be taken back: the change that it precedes isn't committed yet.

    Args:
        fd: the log, which belongs to the caller.
        young_in: descriptor of the log's folder when the log's name must be flushed too.
    """

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


class History:
    """A document's log in the hands of a change that holds the document's lock: opened once, and by then nobody else's.

    Args:
        folder: descriptor of `history/`.
        name: the log's name.

    Attributes:
        last: the last whole frame; None when there is none.

    Raises:
        OSError: the log is there and can't be opened or read.
    """

    def __init__(self, folder: int, name: bytes) -> None:
        self._folder = folder
        self._name = name
        self._length = 0
        self.last: Frame | None = None
        self._fd = self._open()
        if self._fd is not None:
            try:
                self._length = os.fstat(self._fd).st_size
                self.last = VersionLog(self._fd).last(self._length)
            except BaseException:
                os.close(self._fd)
                raise

    def _open(self) -> int | None:
        try:
            return os.open(self._name, _APPEND_FLAGS, dir_fd=self._folder)
        except OSError as error:
            if error.errno in NOT_THERE:
                return None
            raise

    @property
    def version(self) -> int:
        """How many versions there are, those that were dropped included."""
        return self.last.version if self.last else 0

    def close(self) -> None:
        """Let go of the log."""
        if self._fd is not None:
            os.close(self._fd)

    def append_locked(self, replaced: Replaced) -> PendingVersion:
        """Append a content. Not yet durable: see `PendingVersion.flush`.

        Raises:
            OSError: the log is as it was.
            FolderGone: the folder was removed.
        """
        fd = self._make()
        self._mend_locked(fd, replaced.path)
        last, length = self.last, self._length
        # Up to the second version the log's name may not be durable yet: its maker may have died before that flush.
        young = self._folder if last is None or last.version <= 1 else None
        if last is not None and is_left_over(last, replaced.sha256, replaced.modified_ns):
            return PendingVersion(fd, last.version, length, self._folder)
        frames = _frames_for(last, self.version + 1, replaced)
        _append(fd, frames, length)
        self._length += len(frames)
        self.last = parse_tail(frames[-TAIL_BYTES:], self._length)
        return PendingVersion(fd, self.version, length, young)

    def _make(self) -> int:
        if self._fd is None:
            try:
                self._fd = os.open(self._name, _APPEND_FLAGS | os.O_CREAT, 0o600, dir_fd=self._folder)
            except FileNotFoundError:
                raise FolderGone from None
        return self._fd

    def _mend_locked(self, fd: int, path: str) -> None:
        """Cut off what a crash tore.

        Damage that isn't a torn end (whole frames lie behind it) is set aside, not cut: it may be mended from a backup.
        """
        end = self.last.end if self.last else 0
        if end == self._length:
            return
        beyond = _highest_version(os.pread(fd, self._length - end, end))
        if beyond is None:
            os.ftruncate(fd, end)
            self._length = end
            return
        _log.error("version_log_damaged", set_aside_bytes=self._length)
        replace_file(self._name + b".damaged", os.pread(fd, self._length, 0), self._folder)
        os.ftruncate(fd, 0)
        opening = pack_opening(path, beyond)
        write_all(fd, opening)
        self._length = len(opening)
        self.last = parse_tail(opening[-TAIL_BYTES:], self._length)

    def trim_locked(self, path: str, limits: VersionLimits, at: datetime) -> None:
        """Drop the oldest versions when the log is over its limits, down to three quarters of them.

        Three quarters, so that the cost of rewriting the log is spread over many changes. Expired versions are no
        longer shown at once, and rewritten away when they are a day over. The last thing that is done with the log:
        what it was opened as may have no name afterwards.

        Durability: the old log or the new one is there, whole.

        Raises:
            OSError, DocumentCorrupt: the log is as it was.
        """
        if self._fd is None or self.last is None or not self.last.is_version:
            return
        log = VersionLog(self._fd)
        if not _is_over(log, self.last, limits, at):
            return
        frames = list(log.backwards(self._length))
        kept = _frames_to_keep(frames, limits, at)
        if len(kept) < len(frames):
            replace_file(self._name, _rewrite(log, frames, kept, path), self._folder)


def is_left_over(last: Frame, sha256: bytes, modified_ns: int) -> bool:
    """Whether the last version is this very file's content, kept by a writer that didn't replace it, or not yet."""
    return last.is_version and last.sha256 == sha256 and last.modified_ns == modified_ns


def _frames_for(last: Frame | None, version: int, replaced: Replaced) -> bytes:
    kind, base = _how_to_store(last, replaced.content)
    kept_at_us = (replaced.at - EPOCH) // timedelta(microseconds=1)
    body = compress(replaced.content[base:])
    foot = (version, kept_at_us, len(replaced.content), base, replaced.modified_ns, replaced.sha256)
    opening = b"" if last else pack_opening(replaced.path, 0)
    return opening + pack_frame(kind, body, foot, REASONS.index(replaced.reason), SOURCES.index(replaced.source_class))


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


def _highest_version(content: bytes) -> int | None:
    """Return the version of the last whole foot anywhere in `content`; None when there is none."""
    position = len(content)
    while (position := content.rfind(FOOT_MAGIC, 0, position)) >= 0:
        end = position + len(FOOT_MAGIC)
        frame = parse_tail(content[max(0, end - TAIL_BYTES) : end], 1 << 62)
        if frame is not None:
            return frame.version
    return None


def _is_over(log: VersionLog, last: Frame, limits: VersionLimits, at: datetime) -> bool:
    if last.end > limits.bytes:
        return True
    if last.version <= limits.count and limits.age is None:  # so few in all: the log needn't be asked
        return False
    opening = log.opening()
    if last.version - opening.version > limits.count:
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
    first = compress(log.content(chain))
    foot = (oldest.version, oldest.kept_at_us, oldest.size, 0, oldest.modified_ns, oldest.sha256)
    parts = [pack_opening(path, oldest.version - 1), pack_frame(WHOLE, first, foot, oldest.reason, oldest.source)]
    parts.extend(log.raw(frame) for frame in reversed(kept[:-1]))
    return b"".join(parts)
