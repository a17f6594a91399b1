"""Follows the trail: what every process appends to the files of a data directory, from a place on.

By looking, not by being told: processes share nothing but the folder. A look costs a `stat` of each file that is still
written, and a listing when the folder changed. What is held is one chunk of each such file.

The order is that of each file, and between files that of the records' times as far as one look shows them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import structlog

from .audit_file import list_files, opened_before
from .cursor import READ, SLACK_SECONDS, Position
from .reading import Line, read_chunk, read_last_line

_log = structlog.get_logger(__name__)


class Follower:
    """One reader of the trail; for one thread.

    Args:
        folder: where the trail is.
        position: where to go on; None begins with what is appended from now on.
    """

    def __init__(self, folder: Path, position: Position | None = None) -> None:
        self._folder = folder
        self._folder_seen: int | None = None
        self._floor = position.floor if position else ""
        self._offsets = dict(position.offsets) if position else {}
        if position is None:
            self._skip_all()

    def position(self) -> Position:
        """Return the place after the last line that was handed out."""
        return Position(self._floor, dict(self._offsets))

    def look(self) -> Iterator[Line]:
        """Yield what is there now, at most a chunk of each file; the position moves with each line."""
        self._find_files()
        waiting = [lines for lines in map(self._read, list(self._offsets)) if lines]
        while waiting:
            first = min(waiting, key=lambda lines: lines[0].time)
            line = first.popleft()
            self._offsets[line.file] = READ if line.ends_file else line.end
            if not first:
                waiting.remove(first)
            yield line

    def _skip_all(self) -> None:
        self._find_files()
        for name in list(self._offsets):
            try:
                last = read_last_line(self._folder, name)
            except OSError:
                continue
            if last is not None:
                self._offsets[name] = READ if last.ends_file else last.end
        self._forget_old()

    def _find_files(self) -> None:
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except FileNotFoundError:
            return
        if changed == self._folder_seen:
            return
        self._folder_seen = changed
        for name in list_files(self._folder):
            if name >= self._floor:
                self._offsets.setdefault(name, 0)
        self._forget_old()

    def _forget_old(self) -> None:
        """Raise the floor: files that were read to their end needn't be named once no other can still turn up."""
        if not self._offsets:
            return
        self._floor = max(self._floor, opened_before(max(self._offsets), SLACK_SECONDS))
        for name in [name for name, offset in self._offsets.items() if offset == READ and name < self._floor]:
            del self._offsets[name]

    def _read(self, name: str) -> deque[Line]:
        if self._offsets[name] == READ:
            return deque()
        try:
            size = os.stat(self._folder / name).st_size
            if size <= self._offsets[name]:
                self._offsets[name] = size  # less than before: a record that couldn't be made durable was taken back
                return deque()
            return deque(read_chunk(self._folder, name, self._offsets[name]))
        except FileNotFoundError:  # moved away
            del self._offsets[name]
        except OSError as error:
            _log.warning("audit_file_unreadable", file=name, error=type(error).__name__)
        return deque()
