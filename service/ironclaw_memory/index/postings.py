"""The packed form of the inverted index: which passages hold a term, and how strongly.

A block is the entries of one term for the passages `4096 * block` to `4096 * block + 4095`: their numbers in ascending
order, four bytes each, and apart from them their strengths, a byte each. Numbers only grow, so a block only grows at
its end until full. Strength is the saturating part of BM25 over the fields of a passage; what depends on the whole
index (how rare a term is) is applied when a query runs, so that a write never touches other passages.

Why numbers in full where a difference would take a byte: lists are read with `array` and `dict`, which take an entry in
some 50 ns, where a loop of Python's own takes six times that.

Why not SQLite's FTS5: over 22,000 passages its `bm25()` took 3.5 ms for the median question of a chat log, because it
scores every passage that holds any of the words; these lists, read rarest word first up to a budget, take a fifth of
that. An FTS5 deletion also leaves the words in older segments, and it can't weigh headings inside one column. The price
is size: 2.9 times the text, where FTS5 takes 0.7 times, without the terms it would have to be given again to delete
them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

BLOCK_PASSAGES: Final = 4_096

HEADING_WEIGHT: Final = 0.6
PATH_WEIGHT: Final = 0.3
"""What a mention in a heading or in the path is worth, in mentions in the text."""
SATURATION: Final = 1.0
"""BM25's k1: low, because in a passage of three lines a second mention says little."""
LENGTH_PENALTY: Final = 0.4
"""BM25's b: passages are cut to nearly one length, so what is left of the difference says little too."""
TYPICAL_TERMS: Final = 45
"""Terms in a usual passage. A constant, so that strengths never have to be recomputed."""
MAX_STRENGTH: Final = 255
STRENGTH_SCALE: Final = MAX_STRENGTH / (SATURATION + 1)
"""Strength of a passage whose share of BM25 is 1."""
TERM_BYTES: Final = 4
"""Size of a packed number."""
_STEPS_A_SEARCH: Final = 12
"""Entries that are gone through in the time in which one is looked for by halving."""


@dataclass(slots=True)
class PostingList:
    """The entries of a term.

    Attributes:
        passages: numbers of the passages that hold it, ascending.
        strengths: how strongly each does, 1 to 255.
    """

    passages: array[int]
    strengths: bytes

    def __len__(self) -> int:
        return len(self.strengths)

    def table(self) -> dict[int, int]:
        """Return the strengths by passage."""
        return dict(zip(self.passages, self.strengths, strict=True))

    def among(self, wanted: set[int]) -> dict[int, int]:
        """Return the strengths of those of the `wanted` passages that hold the term."""
        if len(self) <= _STEPS_A_SEARCH * len(wanted):
            wanted = wanted.intersection(self.passages)
        found = {}
        for passage in wanted:
            place = bisect_left(self.passages, passage)
            if place < len(self) and self.passages[place] == passage:
                found[passage] = self.strengths[place]
        return found

    def strength_at(self, rank: int) -> int:
        """Return the strength of the entry that is the `rank`th by it, from 1; 0 where there are fewer."""
        if len(self) < rank:
            return 0
        return max(self.strengths) if rank == 1 else sorted(self.strengths)[-rank]

    def without(self, gone: Collection[int]) -> PostingList:
        """Return the list without some passages."""
        kept = [entry for entry in zip(self.passages, self.strengths, strict=True) if entry[0] not in gone]
        return PostingList(array("I", (entry[0] for entry in kept)), bytes(entry[1] for entry in kept))

    def extended(self, entries: Sequence[tuple[int, int]]) -> PostingList:
        """Return the list with newer entries at its end."""
        added = array("I", (passage for passage, _ in entries))
        return PostingList(self.passages + added, self.strengths + bytes(strength for _, strength in entries))


def join_blocks(blocks: Sequence[tuple[bytes, bytes]]) -> PostingList:
    """Return the list whose packed blocks, numbers and strengths, are given in ascending order."""
    return PostingList(unpack(b"".join(block[0] for block in blocks)), b"".join(block[1] for block in blocks))


def strengths(body: Sequence[int], headings: Iterable[int], path: Iterable[int]) -> dict[int, int]:
    """Return the strength, 1 to 255, of each term of a passage from its three fields."""
    frequency: dict[int, float] = dict(Counter(body))
    for field, weight in ((set(headings), HEADING_WEIGHT), (set(path), PATH_WEIGHT)):
        for term in field:
            frequency[term] = frequency.get(term, 0.0) + weight
    damping = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * len(body) / TYPICAL_TERMS)
    grown = {count: _strength(count, damping) for count in set(frequency.values())}
    return {term: grown[count] for term, count in frequency.items()}


def _strength(count: float, damping: float) -> int:
    return max(1, min(MAX_STRENGTH, round(STRENGTH_SCALE * count * (SATURATION + 1) / (count + damping))))


def pack(numbers: Iterable[int]) -> bytes:
    """Return numbers of terms or passages as four bytes each."""
    return array("I", numbers).tobytes()


def unpack(packed: bytes) -> array[int]:
    """Return the numbers that `pack` packed."""
    numbers = array("I")
    numbers.frombytes(packed)
    return numbers
