"""MEMORY.md as it enters every turn: a few small chunks of whole lines, from its head.

Pure. The work is bounded by the head that is handed in, not by the document; what lies beyond is not looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

MAX_CHUNKS: Final = 4
MAX_CHUNK_BYTES: Final = 400
SEPARATOR: Final = "; "
TRUNCATED: Final = " (truncated)"
HEAD_BYTES: Final = 64 << 10
"""How much of the document is read: forty times what is shown, so that the lines left out of an ordinary MEMORY.md are
counted exactly, at the price of a few pages from the file cache."""


@dataclass(frozen=True, slots=True)
class StandingLines:
    """The lines of the document's head that aren't blank, trimmed.

    Attributes:
        lines: in their order; the last may be the first part of a longer one.
        goes_on: whether the document is longer than its head.
    """

    lines: tuple[str, ...] = ()
    goes_on: bool = False

    def without(self, withheld: Collection[str]) -> StandingLines:
        """Return the lines less those that are withheld."""
        return StandingLines(tuple(line for line in self.lines if line not in withheld), self.goes_on)


@dataclass(frozen=True, slots=True)
class StandingDocument:
    """What is shown of the document.

    Attributes:
        chunks: at most 4 texts of at most 400 bytes; the last says `(truncated)` when something was left out.
        shown: the lines that the chunks are made of, clipped ones whole.
        omitted_lines: how many lines were left out or clipped; a document's lines beyond its head aren't counted.
    """

    chunks: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    omitted_lines: int = 0


def read_lines(head: bytes, size_bytes: int) -> StandingLines:
    """Return the lines of a document's head.

    Args:
        head: the first bytes of the document.
        size_bytes: how many it has in all.

    Raises:
        UnicodeDecodeError: the head isn't UTF-8.
    """
    goes_on = size_bytes > len(head)
    text = _decode_head(head) if goes_on else head.decode("utf-8")
    stripped = (line.strip() for line in text.splitlines())
    return StandingLines(tuple(line for line in stripped if line), goes_on)


def _decode_head(head: bytes) -> str:
    """Decode bytes that may end within a character."""
    try:
        return head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            raise
        return head[: error.start].decode("utf-8")


def pack_lines(standing: StandingLines, max_chunks: int) -> StandingDocument:
    """Pack lines into chunks: whole, in their order, the first that finds no room ending it.

    Args:
        standing: the lines.
        max_chunks: the most chunks; never more than 4.
    """
    packed = _pack(standing.lines, min(max_chunks, MAX_CHUNKS))
    shown = tuple(line for chunk in packed for line in chunk)
    clipped = sum(_size(line) > MAX_CHUNK_BYTES for line in shown)
    # The part of the last line that lies beyond the head may be all that is missing; then that line is clipped.
    omitted = max(len(standing.lines) - len(shown) + clipped, int(standing.goes_on))
    chunks = tuple(clip(SEPARATOR.join(chunk), MAX_CHUNK_BYTES) for chunk in packed)
    if not packed or not omitted:
        return StandingDocument(chunks, shown, omitted)
    dropped, last = _make_room(packed[-1])
    return StandingDocument((*chunks[:-1], last + TRUNCATED), shown, omitted + dropped)


def _pack(lines: tuple[str, ...], max_chunks: int) -> list[list[str]]:
    chunks: list[list[str]] = []
    room = 0
    for line in lines:
        size = _size(line)
        if chunks and len(SEPARATOR) + size <= room:
            chunks[-1].append(line)
            room -= len(SEPARATOR) + size
        elif len(chunks) >= max_chunks:
            break
        else:
            chunks.append([line])
            room = MAX_CHUNK_BYTES - size
    return chunks


def _make_room(lines: list[str]) -> tuple[int, str]:
    """Return how many more lines had to go for the mark to fit, a line clipped for it counted, and what is left."""
    room = MAX_CHUNK_BYTES - len(TRUNCATED)
    kept = list(lines)
    while len(kept) > 1 and _size(SEPARATOR.join(kept)) > room:
        kept.pop()
    clipped_now = len(kept) == 1 and room < _size(kept[0]) <= MAX_CHUNK_BYTES
    return len(lines) - len(kept) + clipped_now, clip(SEPARATOR.join(kept), room)


def clip(text: str, max_bytes: int) -> str:
    """Return the longest head of a text that fits, cut on a character boundary."""
    encoded = text.encode("utf-8")
    return text if len(encoded) <= max_bytes else encoded[:max_bytes].decode("utf-8", "ignore")


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
