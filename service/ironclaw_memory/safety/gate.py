"""Tells from the words of a text which patterns may match it: two or three on an ordinary page, of two hundred.

An automaton (Aho-Corasick) finds the telling words of all patterns in one pass over the plain form of the text. Its
memory and speed don't depend on the texts that it has seen, unlike those of an RE2 automaton for all patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

from .literals import Clause, Requirement, chance, requirement_of_all, requirements
from .plain_text import plain_form

REACH: Final = 400
"""How far apart, in bytes, the words of an entry may stand; beyond that they are no phrase and no sentence."""

MAX_CHANCE: Final = 0.03
"""A clause more likely than this stands in nearly every text and isn't worth the automaton's while."""

MAX_WORDS_LATE: Final = 4
"""A clause that isn't, or that is one too many, is looked for at the end where it has no more words than this."""

MAX_CLAUSES: Final = 3
"""How many clauses of an entry the automaton looks for."""

MAX_LETTERS: Final = 10
"""Longer words are cut: the automaton gets half as large, and their beginnings are rare enough."""

_MANY: Final = 64
"""Where there are more distances than this they aren't looked at."""

_LONG_REPEAT: Final = re.compile(r"\{\d*,?\d{3,}\}|\{\d+,\}")
"""In patterns that may reach farther by their own words."""

_Numbers = frozenset[int]


@dataclass(frozen=True, slots=True)
class _Need:
    """What one alternative of an entry needs.

    Attributes:
        place: the entry's.
        first: numbers of words of which one must be there.
        others: the same, each.
        late: words, of each list of which one must be there too.
        is_near: whether the words must stand within reach of one another.
    """

    place: int
    first: _Numbers
    others: tuple[_Numbers, ...]
    late: tuple[tuple[bytes, ...], ...]
    is_near: bool


class Gate:
    """The words of all entries; safe to share between threads.

    Args:
        entries: patterns in RE2's syntax; of an entry of several each must match.

    Raises:
        ValueError: a pattern uses a notation that isn't known here.
    """

    def __init__(self, entries: Sequence[tuple[str, ...]]) -> None:
        sorted_out = [(place, *_sort_out(need)) for place, entry in enumerate(entries) for need in _needs(entry)]
        self._always = [place for place, telling, _ in sorted_out if not telling]
        words = sorted({word for _, telling, _ in sorted_out for clause in telling for word in clause})
        numbers = {word: number for number, word in enumerate(words)}
        self._words = BytesAhoCorasick(words or [b"\0"], implementation=Implementation.ContiguousNFA)
        self._begun_by: list[list[_Need]] = [[] for _ in words]
        for place, telling, late in sorted_out:
            is_near = not any(map(_LONG_REPEAT.search, entries[place]))
            clauses = [frozenset(map(numbers.__getitem__, clause)) for clause in telling]
            for word in clauses[0] if clauses else ():
                self._begun_by[word].append(_Need(place, clauses[0], tuple(clauses[1:]), late, is_near))

    def candidates(self, text: str, data: bytes) -> list[int]:
        """Return the places of the entries that may occur, in ascending order.

        Args:
            text: the text.
            data: the same in UTF-8.
        """
        plain = plain_form(text, data)
        found: dict[int, list[int]] = {}
        for word, start, _ in self._words.find_matches_as_indexes(plain, overlapping=True):
            found.setdefault(word, []).append(start)
        words = set(found)  # against a set `isdisjoint` walks the smaller of the two
        places = set(self._always)
        for word in found:
            for need in self._begun_by[word]:
                if need.place not in places and _is_met(need, found, words, plain):
                    places.add(need.place)
        return sorted(places)


def _needs(entry: tuple[str, ...]) -> tuple[Requirement, ...]:
    return requirements(entry[0]) if len(entry) == 1 else (requirement_of_all(entry),)


def _sort_out(need: Requirement) -> tuple[list[set[bytes]], tuple[tuple[bytes, ...], ...]]:
    """Divide clauses into those that the automaton looks for, and those left for the end."""
    telling = [clause for clause in need if chance(clause) <= MAX_CHANCE][:MAX_CLAUSES] or list(need[:1])
    late = [clause for clause in need if clause not in telling and len(clause) <= MAX_WORDS_LATE]
    return [{_to_bytes(word) for word in clause} for clause in telling], tuple(map(_spell, late))


def _spell(clause: Clause) -> tuple[bytes, ...]:
    return tuple(sorted(word.encode("utf-8") for word in clause))


def _to_bytes(word: str) -> bytes:
    return word[:MAX_LETTERS].encode("utf-8")


def _is_met(need: _Need, found: dict[int, list[int]], words: set[int], plain: bytes) -> bool:
    """Tell whether the words are there: the cheapest question first, since most entries fail at it."""
    for other in need.others:
        if words.isdisjoint(other):
            return False
    if need.others and need.is_near and not _stand_near(need, found, words):
        return False
    return all(any(word in plain for word in clause) for clause in need.late)


def _stand_near(need: _Need, found: dict[int, list[int]], words: set[int]) -> bool:
    """Tell whether a word of each clause stands within reach of one and the same word of the first."""
    places = [place for word in need.first & words for place in found[word]]
    for other in need.others:
        others = [place for word in other & words for place in found[word]]
        if len(places) * len(others) > _MANY:
            continue  # to measure would take longer than to try the pattern
        places = [place for place in places if any([-REACH <= place - far <= REACH for far in others])]  # noqa: C419
        if not places:
            return False
    return True
