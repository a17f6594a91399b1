"""The format of a version log, and reading one. Writing one is in `history.py`.

A log is a sequence of frames, and each frame ends in a foot of fixed size, so that the last version is found from the
end of the file with one read, however long the log is:

    head   magic, length of the body
    body   the content, compressed; or only what it has beyond the content of the frame before
    foot   version, time, size, hash, lengths, checksums, magic

The first frame, the opening, holds the document's path and the highest version number that is no longer kept. An entry
that was appended costs only itself: the content before it is a prefix of the content after it, so a thousand appends
cost about the document once. A crash can tear the last frame only; the next writer cuts it off, under the lock.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ironclaw_memory.contract.document import VersionInfo, VersionReason
from ironclaw_memory.contract.faults import DocumentCorrupt
from ironclaw_memory.contract.path import MAX_PATH_BYTES

_HEAD = struct.Struct("<4sI")
_FOOT = struct.Struct("<QQQQQ32sIIBBBx")  # the fields of Frame in their order, without the offsets
_SEAL = struct.Struct("<I4s")  # crc of the foot, magic
_HEAD_MAGIC: Final = b"IMv1"
FOOT_MAGIC: Final = b"1vMI"
TAIL_BYTES: Final = _FOOT.size + _SEAL.size
_FRAME_BYTES: Final = _HEAD.size + TAIL_BYTES
_SMALL: Final = 4096

OPENING, WHOLE, SUFFIX = 0, 1, 2
REASONS: Final[tuple[VersionReason, ...]] = ("replaced", "deleted")
SOURCES: Final = ("", "user", "agent", "tool", "import")
"""Source classes of credentials by their byte in the foot; a new one goes to the end."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame's foot, and where the frame lies in the log.

    Attributes:
        start, end: byte offsets of the frame.
        version: its number; in the opening, the highest number that was given before the first frame.
        base: how many bytes of the content before it this content starts with; 0 when it is stored whole.
        modified_ns: when the file that held the content had been written.
    """

    start: int
    end: int
    version: int
    kept_at_us: int
    size: int
    base: int
    modified_ns: int
    sha256: bytes
    body_length: int
    body_crc: int
    kind: int
    reason: int
    source: int

    @property
    def is_version(self) -> bool:
        """Whether this frame holds a version: all but the opening do."""
        return self.kind != OPENING

    def info(self) -> VersionInfo:
        """Return what a caller is told about the version."""
        return VersionInfo(
            version=self.version,
            sha256=self.sha256.hex(),
            size_bytes=self.size,
            kept_at=EPOCH + timedelta(microseconds=self.kept_at_us),
            reason=REASONS[self.reason],
            replaced_by=SOURCES[self.source] if self.source < len(SOURCES) else "",
        )


class VersionLog:
    """An open log. Readers see the frames that were whole when they looked; writers hold the document's lock."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def last(self, length: int | None = None) -> Frame | None:
        """Return the last whole frame; None when there is none. `length`: the log's, if it is known."""
        end = os.fstat(self._fd).st_size if length is None else length
        frame = self._frame_ending_at(end)
        if frame is not None or end == 0:
            return frame
        whole = self.scan()
        return whole[-1] if whole else None

    def backwards(self, length: int | None = None) -> Iterator[Frame]:
        """Yield the versions, newest first. `length`: the log's, if it is known.

        Raises:
            DocumentCorrupt: a frame in the middle is damaged.
        """
        frame = self.last(length)
        while frame is not None and frame.is_version:
            yield frame
            frame = self._frame_ending_at(frame.start)
        if frame is None or frame.start != 0:
            raise DocumentCorrupt("A kept version of the document is damaged.")

    def _frame_ending_at(self, end: int) -> Frame | None:
        if end < _FRAME_BYTES:
            return None
        return parse_tail(os.pread(self._fd, TAIL_BYTES, end - TAIL_BYTES), end)

    def scan(self) -> list[Frame]:
        """Return the whole frames up to the first damage, with their bodies checked. Slow; for repair."""
        frames: list[Frame] = []
        content = os.pread(self._fd, os.fstat(self._fd).st_size, 0)
        position = 0
        while len(content) - position >= _FRAME_BYTES:
            magic, length = _HEAD.unpack_from(content, position)
            end = position + _FRAME_BYTES + length
            if magic != _HEAD_MAGIC or end > len(content):
                break
            frame = parse_tail(content[end - TAIL_BYTES : end], end)
            body = content[position + _HEAD.size : end - TAIL_BYTES]
            if frame is None or frame.start != position or zlib.crc32(body) != frame.body_crc:
                break
            frames.append(frame)
            position = end
        return frames

    def starting_at(self, position: int) -> Frame | None:
        """Return the frame that starts at `position`; None when no whole one does."""
        head = os.pread(self._fd, _HEAD.size, position)
        if len(head) != _HEAD.size:
            return None
        return self._frame_ending_at(position + _FRAME_BYTES + _HEAD.unpack(head)[1])

    def raw(self, frame: Frame) -> bytes:
        """Return a frame as it lies in the log."""
        return os.pread(self._fd, frame.end - frame.start, frame.start)

    def opening(self) -> Frame:
        """Return the first frame.

        Raises:
            DocumentCorrupt: it is damaged.
        """
        start = os.pread(self._fd, _FRAME_BYTES + MAX_PATH_BYTES, 0)
        end = _FRAME_BYTES + (_HEAD.unpack_from(start)[1] if len(start) >= _FRAME_BYTES else 0)
        frame = parse_tail(start[end - TAIL_BYTES : end], end)
        if frame is None or frame.kind != OPENING:
            raise DocumentCorrupt("The history of the document is damaged.")
        return frame

    def body(self, frame: Frame) -> bytes:
        """Return what a frame stores, uncompressed: the content, or its end.

        Raises:
            DocumentCorrupt: it is damaged.
        """
        raw = os.pread(self._fd, frame.body_length, frame.start + _HEAD.size)
        if zlib.crc32(raw) != frame.body_crc:
            raise DocumentCorrupt("A kept version of the document is damaged.")
        return zlib.decompress(raw)

    def content(self, chain: Sequence[Frame]) -> bytes:
        """Return the content of the first frame of `chain`, which goes back to a frame that is stored whole.

        Raises:
            DocumentCorrupt: a frame of the chain is damaged.
        """
        try:
            content = b"".join(self.body(frame) for frame in reversed(chain))
        except zlib.error:
            content = b""
        if hashlib.sha256(content).digest() != chain[0].sha256:
            raise DocumentCorrupt("A kept version of the document is damaged.")
        return content


def parse_tail(tail: bytes, end: int) -> Frame | None:
    """Return the frame whose foot is `tail` and ends at byte `end`; None when it isn't one, or is damaged."""
    if len(tail) != TAIL_BYTES:
        return None
    crc, magic = _SEAL.unpack_from(tail, _FOOT.size)
    if magic != FOOT_MAGIC or crc != zlib.crc32(tail[: _FOOT.size]):
        return None
    fields = _FOOT.unpack_from(tail)
    start = end - _FRAME_BYTES - fields[6]
    return None if start < 0 else Frame(start, end, *fields)


def compress(content: bytes) -> bytes:
    """Return a frame's body for `content`.

    The default tables are made for 32 KB and cost ten times what a small content costs; a window that holds the content
    finds as much in it, and any reader unpacks it.
    """
    if len(content) > _SMALL:
        return zlib.compress(content, 1)
    packer = zlib.compressobj(1, zlib.DEFLATED, _SMALL.bit_length() - 1, 5)
    return packer.compress(content) + packer.flush()


def pack_frame(
    kind: int, body: bytes, foot: tuple[int, int, int, int, int, bytes], reason: int = 0, source: int = 0
) -> bytes:
    """Return a frame. `foot`: version, time kept, size, base, time modified, SHA-256."""
    raw = _FOOT.pack(*foot, len(body), zlib.crc32(body), kind, reason, source)
    return _HEAD.pack(_HEAD_MAGIC, len(body)) + body + raw + _SEAL.pack(zlib.crc32(raw), FOOT_MAGIC)


def pack_opening(path: str, floor: int) -> bytes:
    """Return the first frame of a log: the document's path, and the highest number that is no longer kept."""
    return pack_frame(OPENING, path.encode("utf-8"), (floor, 0, 0, 0, 0, bytes(32)))
