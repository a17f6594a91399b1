"""Cuts a document into passages: the units that are indexed, ranked and shown.

A passage is a few neighbouring lines of one section, small enough that a context snippet holds it whole. Pure, and
blind to what the text means; which neighbours are shown around a match is `excerpts`.

Rules:
1. Lines are packed until `PACKED_BYTES`; a line that would exceed them starts the next passage.
2. A heading starts a passage; so does the end of a paragraph once half of the bytes are used. A row of short sections
   of one level, such as the messages of a recorded exchange, goes on in the open passage until half of it is full: a
   message of five words is no answer without its question.
3. A fenced block stays whole while it fits `PASSAGE_BYTES`.
4. A line over `PASSAGE_BYTES` (minified text, a script without line breaks) is cut after a sentence, else a space,
   else between two characters.
5. A cut depends only on what stands before it, so that what is appended to a document leaves its earlier passages as
   they were and only the last one has to be indexed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

PACKED_BYTES: Final = 448
PASSAGE_BYTES: Final = 448
HEADING_BYTES: Final = 160

_HEADING: Final = re.compile(rb"(#{1,6})[ \t]+(.*\S)")
_FENCE: Final = re.compile(rb" {0,3}(`{3,}|~{3,})")
_SENTENCE_END: Final = re.compile("(?:[.!?;]+[\"')]*\\s+|(?:。|！|？|；|…)+(?:”|’|」|』)?)".encode())
_SPACE: Final = re.compile(rb"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a passage is in its document.

    Attributes:
        start: offset of its first byte.
        length: in bytes; its end is on a character boundary.
        line: 1-based number of its first line.
        headings: the headings that its first line stands under, outermost first, as text without marks; at most
            `HEADING_BYTES` together.
    """

    start: int
    length: int
    line: int
    headings: str


@dataclass(slots=True)
class _Line:
    start: int
    text: bytes
    number: int


def cut_passages(content: bytes) -> Iterator[Passage]:
    """Yield the passages of a document in reading order; blank stretches belong to none."""
    return _Cutter().cut(content)


class _Cutter:
    """Packs lines; holds the open passage, the headings that it began under, and those of the line at hand."""

    def __init__(self) -> None:
        self._open: list[_Line] = []
        self._size = 0
        self._above = ""
        self._headings: list[tuple[int, bytes]] = []
        self._fence: bytes = b""

    def cut(self, content: bytes) -> Iterator[Passage]:
        start = 0
        for number, text in enumerate(content.split(b"\n"), 1):
            yield from self._take(_Line(start, text, number))
            start += len(text) + 1
        yield from self._close()

    def _take(self, line: _Line) -> Iterator[Passage]:
        if self._fence:
            yield from self._take_fenced(line)
            return
        if heading := _HEADING.match(line.text):
            level = len(heading[1])
            yield from self._close_over(PACKED_BYTES // 2 if self._is_in_row(level) else 0)
            self._enter(level, heading[2].rstrip(b"# \t"))
        elif fence := _FENCE.match(line.text):
            yield from self._close_over(PACKED_BYTES // 2)
            self._fence = fence[1]
        elif not line.text.strip():
            yield from self._close_over(PACKED_BYTES // 2)
            return
        elif self._size and self._size + len(line.text) > PACKED_BYTES:
            yield from self._close()
        yield from self._add(line)

    def _take_fenced(self, line: _Line) -> Iterator[Passage]:
        if self._size and self._size + len(line.text) > PASSAGE_BYTES:
            yield from self._close()
        yield from self._add(line)
        if line.text.strip().startswith(self._fence):
            self._fence = b""
            yield from self._close_over(PACKED_BYTES // 2)

    def _is_in_row(self, level: int) -> bool:
        """Tell whether a heading of this level follows a section of the same level."""
        return bool(self._headings) and self._headings[-1][0] == level > 1

    def _enter(self, level: int, text: bytes) -> None:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, text))

    def _add(self, line: _Line) -> Iterator[Passage]:
        if len(line.text) <= PASSAGE_BYTES:
            self._above = self._above if self._open else self._headings_above()
            self._open.append(line)
            self._size += len(line.text) + 1
            return
        yield from self._close()
        above = self._headings_above()
        for start, end in cut_long_line(line.text):
            yield Passage(line.start + start, end - start, line.number, above)

    def _close_over(self, size: int) -> Iterator[Passage]:
        if self._size > size:
            yield from self._close()

    def _close(self) -> Iterator[Passage]:
        if self._open:
            first, last = self._open[0], self._open[-1]
            yield Passage(first.start, last.start + len(last.text) - first.start, first.number, self._above)
        self._open, self._size = [], 0

    def _headings_above(self) -> str:
        return b" / ".join(text for _, text in self._headings)[-HEADING_BYTES:].decode("utf-8", "ignore")


def cut_long_line(line: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each piece of a line over `PASSAGE_BYTES`, in order and without gaps."""
    start = 0
    while len(line) - start > PASSAGE_BYTES:
        end = _piece_end(line, start)
        yield start, end
        start = end
    if line[start:].strip():
        yield start, len(line)


def _piece_end(line: bytes, start: int) -> int:
    window = line[start : start + PASSAGE_BYTES]
    for boundary in (_SENTENCE_END, _SPACE):
        ends = [match.end() for match in boundary.finditer(window) if match.end() > PASSAGE_BYTES // 2]
        if ends:
            return start + ends[-1]
    return start + character_floor(window, len(window))


def character_floor(text: bytes, end: int) -> int:
    """Return the last character boundary of UTF-8 `text` at or before `end`; at least 1 for invalid text."""
    if end >= len(text) and text:
        end = len(text)
        lead = end - 1
        while lead > 0 and text[lead] & 0xC0 == 0x80:
            lead -= 1
        width = 1 if text[lead] < 0x80 else 2 if text[lead] < 0xE0 else 3 if text[lead] < 0xF0 else 4
        return end if lead + width <= end else max(lead, 1)
    while end > 0 and text[end] & 0xC0 == 0x80:
        end -= 1
    return max(end, 1)
