"""The passages that are looked at closely: the rows behind the best scores, those around them, and the filter.

How passages come to their scores is `scoring`, what a close look adds to them is `ranking`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from .filter import Filter
from .inverted import listed
from .scoring import Question, Scoring, best_of

SELECTIVE_DOCUMENTS: Final = 500
"""Up to so many documents a prefix of paths is applied before ranking, beyond it while ranking."""
HEAD_ROWS_A_RESULT: Final = 2
"""Rows fetched first for each result that is asked for: what they score tells which others can still matter."""
_ORDINAL_BITS: Final = 24

_COLUMNS: Final = (
    "p.id, p.document, p.ordinal, p.start, p.length, p.line, p.body, p.context, p.vector, d.path, d.sha256, d.day"
    " FROM passages p JOIN documents d ON d.id = p.document"
)


class Row(NamedTuple):
    """A passage as the tables have it, with its document's path, hash and day."""

    id: int
    document: int
    ordinal: int
    start: int
    length: int
    line: int
    body: bytes
    context: bytes
    vector: bytes | None
    path: str
    sha256: str
    day: int


@dataclass(frozen=True, slots=True)
class Depth:
    """How far down the candidates are looked at.

    Attributes:
        passages: how many at most, about.
        documents: how many documents are asked for.
        gain: what a close look adds to a passage's score at most.
        gain_of_several: what it adds, beyond that, to one that holds several of the terms.
        lift: by what a document's score exceeds that of its best passage at most, as a factor.
    """

    passages: int
    documents: int
    gain: float
    gain_of_several: float
    lift: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages that may answer a query.

    Attributes:
        rows: those that can matter to the best documents.
        scores: of passages by their numbers, those of `rows` among them.
        several: passages that hold more than one of the terms.
    """

    rows: list[Row]
    scores: dict[int, float]
    several: set[int]


def find_candidates(connection: sqlite3.Connection, question: Question, chosen: Filter, depth: Depth) -> Candidates:
    """Return the best passages that `chosen` admits."""
    admitted = _admitted_passages(connection, chosen) if chosen.path_prefix else None
    if admitted is not None:
        chosen, most = Filter(), None
    else:
        most = 2 * depth.passages if chosen else depth.passages
    scoring = _scored(question, admitted, most)
    rows = _Rows(connection, scoring.scores(), scoring.several, chosen, depth)
    if chosen and scoring.is_cut and not rows.suffice():  # much of what scores best isn't admitted
        scoring = _scored(question, admitted, None)
        rows = _Rows(connection, scoring.scores(), scoring.several, chosen, depth)
    return Candidates(rows.fetched, rows.scores, scoring.several)


def _scored(question: Question, admitted: set[int] | None, most: int | None) -> Scoring:
    scoring = Scoring(most)
    scoring.look_up(question, admitted)
    return scoring


class _Rows:
    """Fetches the rows that can matter, the best first."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        scores: dict[int, float],
        several: set[int],
        chosen: Filter,
        depth: Depth,
    ) -> None:
        self.scores = scores
        self.fetched: list[Row] = []
        self._connection = connection
        self._several = several
        self._depth = depth
        self._condition, self._values = chosen.condition() if chosen else ("1", ())
        self._fetch(best_of(scores, len(scores) if chosen else depth.passages))

    def suffice(self) -> bool:
        """Tell whether there are as many documents as were asked for."""
        return len({row.document for row in self.fetched}) >= self._depth.documents

    def _fetch(self, numbers: list[int]) -> None:
        """Fetch the best, then those that can still matter: to the best documents, or to make another one of them."""
        head, most = HEAD_ROWS_A_RESULT * self._depth.documents, self._depth.passages
        self._fetch_all(numbers[:head])
        for start in range(head, len(numbers), most):
            part, bound = numbers[start : start + most], self._bound()
            strong = [number for number in part if self._reach(number) >= bound]
            self._fetch_all(strong)
            if bound and start == head:
                self._fetch_all(set(part).difference(strong), only_known=True)
            if len(self.fetched) >= most or not strong:
                return

    def _bound(self) -> float:
        """Return what a document must score to be among those asked for, as far as the rows tell by now."""
        best: dict[int, float] = {}
        for row in self.fetched:
            best[row.document] = max(best.get(row.document, 0.0), self.scores[row.id])
        wanted = self._depth.documents
        return sorted(best.values(), reverse=True)[wanted - 1] if len(best) >= wanted else 0.0

    def _reach(self, number: int) -> float:
        """Return what a document can score whose best passage this is."""
        gain = self._depth.gain + (self._depth.gain_of_several if number in self._several else 0.0)
        return (self.scores[number] + gain) * self._depth.lift

    def _fetch_all(self, numbers: Collection[int], *, only_known: bool = False) -> None:
        """Fetch the rows that the filter admits; with `only_known`, of documents that others were fetched of."""
        if not numbers:
            return
        condition, values = self._condition, (listed(numbers), *self._values)
        if only_known:
            condition += " AND p.document IN (SELECT value FROM json_each(?))"
            values += (listed({row.document for row in self.fetched}),)
        statement = f"SELECT {_COLUMNS} WHERE p.id IN (SELECT value FROM json_each(?)) AND {condition}"  # noqa: S608
        self.fetched += map(Row._make, self._connection.execute(statement, values))


def find_neighbours(connection: sqlite3.Connection, rows: Sequence[Row]) -> list[Row]:
    """Return the passages before and after `rows` in their documents that aren't among them."""
    here = {(row.document, row.ordinal) for row in rows}
    beside = {(document, ordinal + step) for document, ordinal in here for step in (-1, 1)} - here
    places = listed(document << _ORDINAL_BITS | ordinal for document, ordinal in beside if ordinal >= 0)
    found = connection.execute(
        f"SELECT {_COLUMNS} WHERE (p.document, p.ordinal) IN"  # noqa: S608 # no text of the caller's is in it
        f" (SELECT value >> {_ORDINAL_BITS}, value & {(1 << _ORDINAL_BITS) - 1} FROM json_each(?))",
        (places,),
    )
    return list(map(Row._make, found))


def _admitted_passages(connection: sqlite3.Connection, chosen: Filter) -> set[int] | None:
    """Return the passages of the documents that `chosen` admits; None when they are too many to list."""
    condition, values = chosen.condition()
    statement = f"SELECT id FROM documents WHERE {condition} LIMIT ?"  # noqa: S608 # no text of the caller's is in it
    rows = connection.execute(statement, (*values, SELECTIVE_DOCUMENTS + 1)).fetchall()
    if len(rows) > SELECTIVE_DOCUMENTS:
        return None
    passages = connection.execute(
        "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))", (listed(row[0] for row in rows),)
    )
    return {row[0] for row in passages}
