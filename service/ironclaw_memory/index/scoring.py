"""Which passages hold the words of a query, and what they score by them: BM25 over the lists of the terms.

The work hardly grows with the scope: the lists of the rarest words give candidates, up to `ENTRY_BUDGET` entries, and
commoner words only add to what is already a candidate. Nor are a word's own passages taken in where none of them could
be among the best. Per entry there is only what `dict`, `set` and `array` do by themselves; a step of Python's own is
taken for passages that hold several of the words, and for the strongest that hold one.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from .analysis import QueryTerm
from .inverted import TermLists, Totals
from .postings import MAX_STRENGTH, STRENGTH_SCALE, PostingList

ENTRY_BUDGET: Final = 2_500
"""Entries read to find candidates: some 0.2 ms. A word that would exceed it is in so many passages that it tells
little; the newest of them are taken where nothing rarer was asked."""
CHECK_BUDGET: Final = 10_000
"""Entries of commoner words among which all candidates are looked for, some 0.3 ms; beyond it only the best are."""
KNOWN_PASSAGES: Final = 128
"""How many those are."""
COMPANION_WORTH: Final = 0.2
"""What a word's companion is worth beside the word itself."""
COMPANION_SCOPE: Final = 4_096
"""In a scope of more passages companions are left out: some passage has the words themselves, and reading the postings
of three times as many terms would grow with the scope."""


class Worth(NamedTuple):
    """What a term is worth in a query, and how many passages hold it."""

    worth: float
    frequency: int


@dataclass(frozen=True, slots=True)
class Question:
    """A query against the lists of one index.

    Attributes:
        lists: of the query's terms.
        worths: of the terms that the index holds, the most telling first.
    """

    lists: TermLists
    worths: dict[int, Worth]


def weigh_terms(connection: sqlite3.Connection, wishes: Sequence[QueryTerm], totals: Totals) -> Question:
    """Return what each term of the index is worth that a wish or a companion names."""
    if totals.passages > COMPANION_SCOPE:
        wishes = [replace(wish, companions=()) for wish in wishes]
    lists = TermLists(connection, totals, {term for wish in wishes for term in (*wish.variants, *wish.companions)})
    frequency = lists.frequencies()
    worths: dict[int, Worth] = {}

    def offer(term: int, worth: float) -> None:
        worths[term] = max(worths.get(term, Worth(0.0, 0)), Worth(worth, frequency[term]))

    for wish in wishes:
        present = [term for term in wish.variants if term in frequency]
        rarity = _rarity(max((frequency[term] for term in present), default=0), totals.passages)
        for term in present:
            offer(term, rarity * wish.weight)
        for term in wish.companions:
            if term in frequency:
                offer(term, COMPANION_WORTH * min(rarity, _rarity(frequency[term], totals.passages)) * wish.weight)
    return Question(lists, dict(sorted(worths.items(), key=lambda item: -item[1].worth)))


def _rarity(frequency: int, passages: int) -> float:
    return max(math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5)), 0.01)


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of a query.

    Attributes:
        unit: what it adds to a passage's score for each unit of its strength there.
        frequency: how many passages hold it.
        entries: its list; None while that is too long to be read without need.
        reach: what it adds to a passage's score at most.
    """

    lists: TermLists
    number: int
    unit: float
    frequency: int
    entries: PostingList | None
    reach: float

    @classmethod
    def of(cls, question: Question, number: int) -> _Term:
        """Return a term of `question`."""
        worth, frequency = question.worths[number]
        unit = worth / STRENGTH_SCALE
        entries = question.lists.of(number) if frequency <= ENTRY_BUDGET else None
        reach = unit * (entries.strength_at(1) if entries else MAX_STRENGTH)
        return cls(question.lists, number, unit, frequency, entries, reach)

    def newest(self) -> PostingList:
        """Return its newest entries, `ENTRY_BUDGET` of them or somewhat more."""
        return self.entries or self.lists.of(self.number, newest=ENTRY_BUDGET)

    def every(self) -> PostingList:
        """Return all its entries."""
        return self.entries or self.lists.of(self.number)


class Scoring:
    """What was found of the terms of a query.

    Args:
        most: how many of the best passages must be right; None for all.

    Attributes:
        several: passages that hold more than one of the terms.
        is_cut: whether passages that hold one have no score, because they can't be among the best.
    """

    def __init__(self, most: int | None) -> None:
        self.several: set[int] = set()
        self.is_cut = False
        self._most = most
        self._seen: set[int] = set()
        self._tables: list[tuple[float, dict[int, int]]] = []
        self._alone: list[tuple[float, dict[int, int], int]] = []
        self._bound = 0.0

    def look_up(self, question: Question, admitted: set[int] | None) -> None:
        """Read the lists of the terms, rarest first; with `admitted`, of those passages alone."""
        if admitted is not None:
            for number, (worth, _) in question.worths.items():
                self._add(worth / STRENGTH_SCALE, question.lists.of(number).among(admitted), 0)
            return
        terms = [_Term.of(question, number) for number in question.worths]
        entries, checks = ENTRY_BUDGET, CHECK_BUDGET
        reach = sum(term.reach for term in terms)
        for term in terms:
            can_be_best = self._most is None or reach >= self._bound
            if not self._seen or (can_be_best and term.frequency <= entries):
                entries -= self._add_list(term)
            elif term.frequency <= checks:
                checks -= term.frequency
                self._add_known(term, self._seen)
            else:
                self._add_known(term, set(best_of(self.scores(), KNOWN_PASSAGES)))
            reach -= term.reach

    def _add_list(self, term: _Term) -> int:
        """Add a term with all its passages; return how many."""
        entries = term.newest()
        least = 0 if self._most is None else entries.strength_at(self._most)
        self._bound = max(self._bound, term.unit * least)  # which `most` passages score at least
        self._add(term.unit, entries.table(), least)
        return len(entries)

    def _add_known(self, term: _Term, known: set[int]) -> None:
        """Add a term with those of its passages that are known: the others can't be among the best."""
        self.is_cut = True
        self._add(term.unit, term.every().among(known), None)

    def _add(self, unit: float, table: dict[int, int], least: int | None) -> None:
        """Add a term's passages; those that hold it alone count from the strength `least`, with None not at all."""
        self.several |= table.keys() & self._seen
        self._seen |= table.keys()
        self._tables.append((unit, table))
        if least is not None:
            self.is_cut = self.is_cut or least > 0
            self._alone.append((unit, table, least))

    def scores(self) -> dict[int, float]:
        """Return the scores of the best passages, and of some others."""
        several = self.several
        found = dict.fromkeys(several, 0.0)
        for unit, table in self._tables:
            for passage in table.keys() & several:
                found[passage] += unit * table[passage]
        for unit, table, least in self._alone:
            strong = [item for item in table.items() if item[1] >= least] if least else table.items()
            found |= {passage: unit * strength for passage, strength in strong if passage not in several}
        return found


def best_of(scores: dict[int, float], most: int) -> list[int]:
    """Return the `most` best passages, best first, the newer of two equal ones first."""
    if len(scores) > 4 * most:
        bound = sorted(scores.values())[-most]
        scores = {passage: score for passage, score in scores.items() if score >= bound}
    return sorted(scores, key=lambda passage: (scores[passage], passage), reverse=True)[:most]
