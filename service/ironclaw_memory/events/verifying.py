"""Tells whether a trail is what was written: chains, gaps, files that are missing, and heads anchored in a log.

What it can show: a record that was changed, removed or added between others, another order, a file that a later one
names and that isn't there, and with anchors an end that was cut off or a file that was written anew by someone who has
the key. What it can't show without anchors: that the last records of a file whose process died, or still runs, are
gone, or that a process's only file is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from .audit_file import list_files
from .chain import BEGINNING, Head, derive_key
from .reading import Line, read_file
from .record import CLOSED, FORMAT, MENDED, OPENED

ANCHOR_EVENT: Final = "audit_anchor"
"""The log line that anchors a head."""


class Ending(StrEnum):
    """How a file ends, and so what its end is worth."""

    CLOSED = "closed"
    MENDED = "mended"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that isn't as it was written.

    Attributes:
        file: where.
        sequence: at, or after, which record; 0 for the file as a whole.
        what: a sentence without anybody's data.
    """

    file: str
    sequence: int
    what: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file.

    Attributes:
        file: its name.
        records: how many records it has.
        ending: how it ends.
        torn_bytes: how many bytes were set aside when it was mended.
        losses: how many events its process couldn't record, as far as it could still say.
        anchored: the highest sequence that an anchor confirms; 0 for none.
    """

    file: str
    records: int
    ending: Ending
    torn_bytes: int = 0
    losses: int = 0
    anchored: int = 0

    @property
    def unconfirmed(self) -> bool:
        """Whether records could be missing at its end without anyone seeing it."""
        return self.ending is not Ending.CLOSED


@dataclass(slots=True)
class Report:
    """A whole trail."""

    files: list[FileReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_anchors(lines: Iterable[str]) -> Iterable[Head]:
    """Yield the heads that a log anchors; lines that aren't anchors are passed over."""
    for line in lines:
        start = line.find("{")  # a journal may put its own words before it
        if start < 0 or ANCHOR_EVENT not in line:
            continue
        try:
            told = json.loads(line[start:])
            if told.get("event") == ANCHOR_EVENT:
                yield Head(str(told["file"]), int(told["sequence"]), str(told["hash"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue


def verify_files(folders: Iterable[Path], key: bytes, anchors: Iterable[Head] = ()) -> Report:
    """Check every file of the trail.

    Args:
        folders: where the files are: the trail's own, and where old ones were moved.
        key: the data directory's secret.
        anchors: heads that someone outside of the trail remembers.
    """
    wanted: dict[str, dict[int, str]] = {}
    for head in anchors:
        wanted.setdefault(head.file, {})[head.sequence] = head.hash
    report, heads, follows = Report(), {}, {}
    for folder in folders:
        for name in list_files(folder):
            check = _FileCheck(name, derive_key(key), wanted.get(name, {}))
            for line in read_file(folder, name):
                check.take(line)
            report.files.append(check.finish())
            report.problems.extend(check.problems)
            heads[name] = check.head
            if check.follows is not None:
                follows[name] = check.follows
    report.problems.extend(_check_successions(follows, heads))
    report.problems.extend(
        Problem(file, 0, "an anchor names this file, but it isn't here") for file in wanted if file not in heads
    )
    return report


def _check_successions(follows: Mapping[str, Head], heads: Mapping[str, Head]) -> Iterable[Problem]:
    for head in follows.values():
        found = heads.get(head.file)
        if found is None:
            yield Problem(head.file, 0, "the next file names this one, but it isn't here")
        elif found.sequence < head.sequence:
            yield Problem(head.file, found.sequence, f"the end is missing: the next file knows {head.sequence} records")


class _FileCheck:
    """Reads one file, line after line."""

    def __init__(self, name: str, key: bytes, anchors: dict[int, str]) -> None:
        self.problems: list[Problem] = []
        self.head = Head(name, 0, BEGINNING)
        self.follows: Head | None = None
        self._key = key
        self._anchors = anchors
        self._records = 0
        self._anchored = 0
        self._losses = 0
        self._torn_bytes = 0
        self._ending = Ending.OPEN

    def take(self, line: Line) -> None:
        """Check the next line."""
        if line.link is None:
            self._complain("a line isn't a record")
            return
        link = line.link
        if self._ending is not Ending.OPEN:
            self._complain("records follow the one that ends the file")
            self._ending = Ending.OPEN
        is_genuine = link.is_genuine(self._key)
        if not is_genuine:
            self._complain("a record was changed, or written by someone without the key", link.sequence)
        if link.previous != self.head.hash or link.sequence != self.head.sequence + 1:
            self._complain(f"the chain is broken: record {link.sequence} follows", self.head.sequence)
        self._records += 1
        self._compare_anchor(link.sequence, link.hash)
        self.head = Head(self.head.file, link.sequence, link.hash)
        if is_genuine:  # what somebody else wrote need not even be JSON
            self._read(line, link.record())

    def _read(self, line: Line, record: dict[str, Any]) -> None:
        if record["format"] != FORMAT:
            self._complain(f"format {record['format']} isn't known to this version", self.head.sequence)
        self._losses = max(self._losses, record.get("losses", 0))
        if line.kind == OPENED:
            if record["file"] != self.head.file:
                self._complain("the file was renamed", self.head.sequence)
            self.follows = Head(**record["follows"]) if record["follows"] else None
        elif self._records == 1 and line.kind != MENDED:
            self._complain("the beginning is missing")
        if line.kind == CLOSED:
            self._ending = Ending.CLOSED
        elif line.kind == MENDED:
            self._ending, self._torn_bytes = Ending.MENDED, record["torn_bytes"]

    def _compare_anchor(self, sequence: int, found: str) -> None:
        expected = self._anchors.pop(sequence, None)
        if expected is None:
            return
        if expected == found:
            self._anchored = max(self._anchored, sequence)
        else:
            self._complain("an anchor knows another record here: the file was written anew", sequence)

    def finish(self) -> FileReport:
        """Return what there is to say once every line was taken."""
        for sequence in sorted(self._anchors):
            self._complain(f"the end is missing: an anchor knows record {sequence}", self.head.sequence)
        return FileReport(self.head.file, self._records, self._ending, self._torn_bytes, self._losses, self._anchored)

    def _complain(self, what: str, sequence: int | None = None) -> None:
        self.problems.append(Problem(self.head.file, self.head.sequence if sequence is None else sequence, what))
