"""Which passages may answer a query: the terms' worth, the postings of the rarest, and the rows behind the best scores.

The work doesn't grow with the scope: the postings of the rarest words give candidates, up to `ENTRY_BUDGET` entries,
and commoner words only add to what is already a candidate. How candidates are looked at closely is `ranking`.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from .analysis import QueryTerm
from .filter import Filter
from .postings import BLOCK_PASSAGES, add_known_scores, add_scores

ENTRY_BUDGET: Final = 2_500
"""Entries read to find candidates: some 0.5 ms. A word that would exceed it is in so many passages that it tells
little; the newest of them are taken where nothing rarer was asked."""
KNOWN_PASSAGES: Final = 256
"""How many candidates stay when the budget is used up."""
SELECTIVE_DOCUMENTS: Final = 500
"""Up to so many documents a filter is applied before ranking, beyond it while ranking."""
COMPANION_WORTH: Final = 0.2
"""What a word's companion is worth beside the word itself."""
COMPANION_SCOPE: Final = 4_096
"""In a scope of more passages companions are left out: some passage has the words themselves, and reading the postings
of three times as many terms would grow with the scope."""

_COLUMNS: Final = (
    "p.id, p.document, p.ordinal, p.start, p.length, p.line, p.body, p.context, p.vector, d.path, d.sha256, d.day"
    " FROM passages p JOIN documents d ON d.id = p.document"
)


class Worth(NamedTuple):
    """What a term is worth in a query, and how many passages hold it."""

    worth: float
    frequency: int


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


def weigh_terms(connection: sqlite3.Connection, wishes: Sequence[QueryTerm], passages: int) -> dict[int, Worth]:
    """Return what each term of the index is worth that a wish or a companion names, the most telling first."""
    if passages > COMPANION_SCOPE:
        wishes = [replace(wish, companions=()) for wish in wishes]
    frequency = _frequencies(connection, {term for wish in wishes for term in (*wish.variants, *wish.companions)})
    worths: dict[int, Worth] = {}

    def offer(term: int, worth: float) -> None:
        worths[term] = max(worths.get(term, Worth(0.0, 0)), Worth(worth, frequency[term]))

    for wish in wishes:
        present = [term for term in wish.variants if term in frequency]
        rarity = _rarity(max((frequency[term] for term in present), default=0), passages)
        for term in present:
            offer(term, rarity * wish.weight)
        for term in wish.companions:
            if term in frequency:
                offer(term, COMPANION_WORTH * min(rarity, _rarity(frequency[term], passages)) * wish.weight)
    return dict(sorted(worths.items(), key=lambda item: -item[1].worth))


def _frequencies(connection: sqlite3.Connection, terms: Iterable[int]) -> dict[int, int]:
    rows = connection.execute(
        "SELECT term, sum(length(entries)) / 2 FROM postings"
        " WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
        (_listed(terms),),
    )
    return dict(rows.fetchall())


def _rarity(frequency: int, passages: int) -> float:
    return max(math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5)), 0.01)


def find_candidates(
    connection: sqlite3.Connection, worths: dict[int, Worth], chosen: Filter, most: int
) -> tuple[list[Row], dict[int, float]]:
    """Return about `most` of the best passages that `chosen` admits, and the scores of passages by their numbers."""
    admitted = _admitted_passages(connection, chosen) if chosen else None
    scores = _score(connection, worths, admitted)
    return _best_rows(connection, scores, chosen if admitted is None else Filter(), most), scores


def find_neighbours(connection: sqlite3.Connection, rows: Sequence[Row]) -> list[Row]:
    """Return the passages before and after `rows` in their documents that aren't among them."""
    here = {(row.document, row.ordinal) for row in rows}
    beside = {(document, ordinal + step) for document, ordinal in here for step in (-1, 1)} - here
    places = ",".join(f"[{document},{ordinal}]" for document, ordinal in beside)
    found = connection.execute(
        f"SELECT {_COLUMNS} WHERE (p.document, p.ordinal) IN"  # noqa: S608 # no text of the caller's is in it
        " (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))",
        (f"[{places}]",),
    )
    return list(map(Row._make, found))


def _score(connection: sqlite3.Connection, worths: dict[int, Worth], admitted: set[int] | None) -> dict[int, float]:
    """Return the scores of candidate passages."""
    scores: dict[int, float] = {} if admitted is None else dict.fromkeys(admitted, 0.0)
    known = None if admitted is None else _by_block(scores)
    budget = ENTRY_BUDGET
    for term, (worth, frequency) in worths.items():
        if known is None and scores and frequency > budget:
            scores = {each: scores[each] for each in _best(scores, KNOWN_PASSAGES)}
            known = _by_block(scores)
        if known is not None:
            for block, entries in _known_blocks(connection, term, _listed(known)):
                add_known_scores(scores, block, entries, worth, known[block])
        else:
            budget -= _add_term(connection, scores, term, worth, budget)
    return {passage: score for passage, score in scores.items() if score}


def _add_term(connection: sqlite3.Connection, scores: dict[int, float], term: int, worth: float, most: int) -> int:
    """Add the entries of `term`, newest first, until about `most`; return how many."""
    added = 0
    rows = connection.execute("SELECT block, entries FROM postings WHERE term = ? ORDER BY block DESC", (term,))
    for block, entries in rows:
        add_scores(scores, block, entries, worth)
        added += len(entries) // 2
        if added >= most:
            break
    return added


def _known_blocks(connection: sqlite3.Connection, term: int, blocks: str) -> Iterator[tuple[int, bytes]]:
    yield from connection.execute(
        "SELECT block, entries FROM postings WHERE term = ? AND block IN (SELECT value FROM json_each(?))",
        (term, blocks),
    )


def _by_block(passages: Iterable[int]) -> dict[int, list[int]]:
    """Return the low bytes of `passages` by the number of their block."""
    known: dict[int, list[int]] = {}
    for passage in passages:
        block, low = divmod(passage, BLOCK_PASSAGES)
        known.setdefault(block, []).append(low)
    return known


def _best(scores: dict[int, float], most: int) -> list[int]:
    return heapq.nlargest(most, scores, key=scores.__getitem__)


def _admitted_passages(connection: sqlite3.Connection, chosen: Filter) -> set[int] | None:
    """Return the passages of the documents that `chosen` admits; None when they are too many to list."""
    condition, values = chosen.condition()
    statement = f"SELECT id FROM documents WHERE {condition} LIMIT ?"  # noqa: S608 # no text of the caller's is in it
    rows = connection.execute(statement, (*values, SELECTIVE_DOCUMENTS + 1)).fetchall()
    if len(rows) > SELECTIVE_DOCUMENTS:
        return None
    passages = connection.execute(
        "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))", (_listed(row[0] for row in rows),)
    )
    return {row[0] for row in passages}


def _best_rows(connection: sqlite3.Connection, scores: dict[int, float], chosen: Filter, most: int) -> list[Row]:
    """Return the best candidates that `chosen` admits, about `most`."""
    condition, values = chosen.condition() if chosen else ("1", ())
    statement = f"SELECT {_COLUMNS} WHERE p.id IN (SELECT value FROM json_each(?)) AND {condition}"  # noqa: S608 # as above
    rows: list[Row] = []
    for numbers in _chunks(_best(scores, len(scores) if chosen else most), max(most, 128)):
        rows += map(Row._make, connection.execute(statement, (_listed(numbers), *values)))
        if len(rows) >= most:
            break
    return rows


def _chunks(items: Sequence[int], size: int) -> Iterable[Sequence[int]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _listed(numbers: Iterable[int]) -> str:
    """Return `numbers` as the JSON array by which a statement with one parameter takes many."""
    return f"[{','.join(map(str, numbers))}]"
