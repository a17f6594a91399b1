"""Reads the trail's files: whole lines from a place on, and everything of a time in the order of time.

A line is taken once its newline is there, so a record that is being written is never seen in half. Files are opened for
a chunk and closed again: a trail of thousands of files holds no descriptors.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from .audit_file import list_files
from .chain import Link, parse_line
from .record import ENDS, format_time

CHUNK_BYTES: Final = 1 << 16
"""Read at once from a file; many times the longest record."""

_TIME: Final = re.compile(rb'"time":"([0-9TZ:.-]+)"')
_KIND: Final = re.compile(rb'"kind":"([a-z_]+)"')


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file.

    Attributes:
        file: the file's name.
        end: offset of the byte after it.
        data: its bytes with the newline.
        link: the line taken apart; None when it isn't a record.
    """

    file: str
    end: int
    data: bytes
    link: Link | None

    @property
    def time(self) -> bytes:
        """When it was recorded, as text that sorts; empty when it isn't a record."""
        return _search(_TIME, self.data)

    @property
    def kind(self) -> str:
        """What it records."""
        return _search(_KIND, self.data).decode("ascii")

    @property
    def ends_file(self) -> bool:
        """Whether nothing follows it in its file."""
        return self.link is not None and self.kind in ENDS

    def record(self) -> dict[str, Any] | None:
        """Return what it records; None when it isn't a record, or one that is damaged within.

        Nobody who only reads stops at damage: `verify_files` names the place.
        """
        try:
            return self.link.record() if self.link is not None else None
        except ValueError:
            return None


def _search(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    # Both members come before any value that a caller had a say in, so the first match is the record's own.
    match = pattern.search(data)
    return match[1] if match else b""


def ends_file(link: Link) -> bool:
    """Tell whether nothing follows this record in its file."""
    return _search(_KIND, link.body).decode("ascii") in ENDS


def read_chunk(folder: Path, file: str, offset: int) -> list[Line]:
    """Return the whole lines of the next chunk of a file, from `offset` on.

    A line that is longer than a chunk is no record; what can be read of it is skipped as one line.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: it can't be read.
    """
    descriptor = os.open(folder / file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        data = os.pread(descriptor, CHUNK_BYTES, offset)
    finally:
        os.close(descriptor)
    whole = data.rfind(b"\n") + 1 or (len(data) if len(data) == CHUNK_BYTES else 0)
    lines = []
    for line in data[:whole].splitlines(keepends=True):
        offset += len(line)
        lines.append(Line(file, offset, line, parse_line(line)))
    return lines


def read_file(folder: Path, file: str) -> Iterator[Line]:
    """Yield the whole lines of a file; none when it went away."""
    offset = 0
    while True:
        try:
            lines = read_chunk(folder, file, offset)
        except FileNotFoundError:
            return
        if not lines:
            return
        yield from lines
        offset = lines[-1].end


def read_last_line(folder: Path, file: str) -> Line | None:
    """Return the last whole line of a file; None when there is none.

    Raises:
        FileNotFoundError: there is no such file.
    """
    size = (folder / file).stat().st_size
    lines = read_chunk(folder, file, max(0, size - CHUNK_BYTES))
    return lines[-1] if lines else None


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time: from `since` on, before `until`; None leaves it open."""

    since: datetime | None = None
    until: datetime | None = None

    def includes(self, time: bytes) -> bool:
        """Tell whether a record's time lies in it."""
        text = time.decode("ascii")
        return (self.since is None or text >= format_time(self.since)) and (
            self.until is None or text < format_time(self.until)
        )


ALWAYS: Final = Period()


def read_records(folders: Iterable[Path], period: Period = ALWAYS) -> Iterator[dict[str, Any]]:
    """Yield the records of all files in the order of time, each with its `file`; what isn't a record is left out."""
    lines = (read_file(folder, file) for folder in folders for file in list_files(folder))
    for line in heapq.merge(*lines, key=lambda line: line.time):
        record = line.record() if period.includes(line.time) else None
        if line.link is not None and record is not None:
            yield record | {"hash": line.link.hash, "file": line.file}
