"""What is shown of a document: the passages that matched, widened to whole lines around them, under their heading.

Pure: works on the bytes of the file as it is now. Which passages matched is `ranking`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .passages import character_floor
from .ranking import RankedPassage

SNIPPET_BYTES: Final = 512
CONTENT_BYTES: Final = 8192
JOINT: Final = "\n…\n"

_HEADING: Final = re.compile(rb"#{1,6}[ \t]")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a document: its offsets, its first line's number, its text, and the heading it stands under."""

    start: int
    end: int
    line: int
    text: str
    heading: str

    def standing_alone(self, size: int = SNIPPET_BYTES) -> str:
        """Return the text under its heading; without that when both have more than `size` bytes."""
        under = f"{self.heading}\n{self.text}" if self.heading else self.text
        return under if len(under.encode()) <= size else self.text


def cut_excerpts(
    content: bytes, passages: Iterable[RankedPassage], most: int, size: int = SNIPPET_BYTES
) -> list[tuple[Excerpt, float]]:
    """Return an excerpt of at most `size` bytes and the score for each passage, best first.

    What a better one shows is left out.
    """
    shown: list[tuple[Excerpt, float]] = []
    for passage in passages:
        if len(shown) == most:
            break
        start, end = passage.start, passage.start + passage.length
        for each, _ in shown:  # what a better one, widened, already shows isn't shown twice
            start = max(start, each.end) if each.start <= start < each.end else start
            end = min(end, each.start) if each.start < end <= each.end else end
        if not content[start:end].strip():
            continue
        low = max((each.end for each, _ in shown if each.end <= start), default=0)
        high = min((each.start for each, _ in shown if each.start >= end), default=len(content))
        shown.append((_excerpt(content, passage, (start, end), (low, high), size), passage.score))
    return shown


def join_excerpts(content: bytes, excerpts: Iterable[Excerpt]) -> str:
    """Return a short document whole, of a long one `excerpts` in reading order; at most `CONTENT_BYTES`."""
    if len(content) <= CONTENT_BYTES:
        return content.decode("utf-8", "replace")
    kept: list[Excerpt] = []
    size = 0
    for excerpt in excerpts:
        size += len(excerpt.standing_alone().encode()) + len(JOINT.encode())
        if size > CONTENT_BYTES:
            break
        kept.append(excerpt)
    kept.sort(key=lambda excerpt: excerpt.start)
    return "".join(
        _joint(content, before, excerpt)
        + (excerpt.text if before and before.heading == excerpt.heading else excerpt.standing_alone())
        for before, excerpt in zip([None, *kept], kept, strict=False)
    )


def _joint(content: bytes, before: Excerpt | None, after: Excerpt) -> str:
    """Return what stands between two excerpts: an ellipsis, or what the document has where they touch."""
    if before is None:
        return ""
    if content[before.end : after.start].strip():
        return JOINT
    end = len(content[: before.end].rstrip())
    gap = content[end : after.end]
    gap = gap[: len(gap) - len(gap.lstrip())]
    return "\n" if b"\n" in gap else " " if gap else ""


def _excerpt(
    content: bytes, passage: RankedPassage, place: tuple[int, int], bounds: tuple[int, int], size: int
) -> Excerpt:
    heading = _heading_above(content, place[0])
    room = size - (len(heading) + 1 if heading else 0)
    start, end = _widen(content, *place, *bounds, max(room, place[1] - place[0]))
    text = content[start:end]
    text = text[: character_floor(text, size)] if len(text) > size else text
    line = passage.line - content.count(b"\n", start, passage.start) + content.count(b"\n", passage.start, start)
    stripped = text.lstrip(b"\r\n")
    line += text[: len(text) - len(stripped)].count(b"\n")
    return Excerpt(start, end, line, stripped.rstrip().decode("utf-8", "replace"), heading.decode("utf-8", "replace"))


def _widen(content: bytes, start: int, end: int, low: int, high: int, room: int) -> tuple[int, int]:
    """Return the stretch with the whole lines that fit after it, then those before it, inside its section."""
    while end < high and content[end : end + 1] == b"\n":
        line_end = content.find(b"\n", end + 1, high)
        line_end = high if line_end < 0 else line_end
        if line_end - start > room or _HEADING.match(content, end + 1):
            break
        end = line_end
    while start > low and content[start - 1 : start] == b"\n" and not _HEADING.match(content, start):
        line_start = max(content.rfind(b"\n", low, start - 1) + 1, low)
        if end - line_start > room:
            break
        start = line_start
    return start, end


def _heading_above(content: bytes, start: int) -> bytes:
    """Return the nearest heading line before `start`; empty when the stretch begins with one."""
    if _HEADING.match(content, start):
        return b""
    found = start
    while (found := content.rfind(b"#", 0, found)) >= 0:
        line_start = content.rfind(b"\n", 0, found) + 1
        if _HEADING.match(content, line_start):
            return content[line_start : content.find(b"\n", found)].strip()
        found = line_start
    return b""
