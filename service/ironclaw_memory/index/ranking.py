"""Which passages answer a query, and which documents they make: candidates, scores, order.

Reads the index's tables through one connection, never a document. In two steps, so that the work doesn't grow with
the scope: the postings of the rarest words give candidates, up to `ENTRY_BUDGET` entries, and commoner words only add
to what is already a candidate; then the best passages, some for each result that is asked for, are looked at closely.
Their score is BM25 over body, headings and path, and on top

- words that stand next to each other in the query and the passage (`_nearness`),
- a share of what the passages before and after it score: an answer stands next to its question,
- a small preference for the younger document, so that a correction precedes what it corrects.

A document's score is its best passage's plus a falling share of the next ones': many weak passages never beat one
good one by their number.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final, NamedTuple

from .analysis import QueryTerm, analyse_query
from .catalogue import unpack
from .filter import Filter
from .postings import BLOCK_PASSAGES, add_known_scores, add_scores

ENTRY_BUDGET: Final = 2_500
"""Entries read to find candidates: some 0.5 ms. A word that would exceed it is in so many passages that it tells
little; the newest of them are taken where nothing rarer was asked."""
CANDIDATES: Final = 32
CANDIDATES_A_RESULT: Final = 6
KNOWN_PASSAGES: Final = 256
"""How many candidates stay when the budget is used up."""
SELECTIVE_DOCUMENTS: Final = 500
"""Up to so many documents a filter is applied before ranking, beyond it while ranking."""

# What follows was tried on dialogues and on notes in seven languages; within a factor of two of these values nothing
# changes by more than two hundredths of the questions, so the exact values don't matter.
NEARNESS_WORTH: Final = 0.5
NEARNESS_REACH: Final = 4
NEIGHBOUR_SHARE: Final = 0.3
NEXT_PASSAGE_SHARE: Final = 0.2
PASSAGES_COUNTED: Final = 8
YOUTH_WORTH: Final = 0.05
_SHARES: Final = tuple(NEXT_PASSAGE_SHARE**rank for rank in range(PASSAGES_COUNTED))


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage and its score; the place is as the catalogue knows it."""

    score: float
    start: int
    length: int
    line: int


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document, its score, the hash under which it was indexed, and its passages, best first."""

    path: str
    sha256: str
    score: float
    passages: tuple[RankedPassage, ...]


class _Row(NamedTuple):
    id: int
    document: int
    ordinal: int
    start: int
    length: int
    line: int
    body: bytes
    path: str
    sha256: str
    day: int


class _Found(NamedTuple):
    score: float
    own: float
    row: _Row


def rank_documents(connection: sqlite3.Connection, text: str, chosen: Filter, limit: int) -> list[RankedDocument]:
    """Return the documents that hold anything of `text`, best first and equal scores by path, at most `limit`."""
    passages, languages = connection.execute("SELECT passages, languages FROM totals").fetchone()
    wishes = analyse_query(text, tuple(languages.split()) or ("english",))
    worths = _worths(connection, wishes, passages)
    admitted = _admitted_passages(connection, chosen) if chosen else None
    scores = _score(connection, worths, admitted)
    most = CANDIDATES + CANDIDATES_A_RESULT * limit
    rows = _best_rows(connection, scores, chosen if admitted is None else Filter(), most)
    if pairs := _near_pairs(wishes, worths):
        for row in rows:
            scores[row.id] += _nearness(row.body, worths, pairs)
    return _documents(rows, scores, limit)


def _worths(connection: sqlite3.Connection, wishes: Sequence[QueryTerm], passages: int) -> dict[int, tuple[float, int]]:
    """Return what each term is worth and how many passages hold it, rarest wish first."""
    terms = {term for wish in wishes for term in wish.variants}
    rows = connection.execute(
        "SELECT term, sum(length(entries)) / 2 FROM postings"
        " WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
        (_listed(terms),),
    )
    frequency = dict(rows.fetchall())
    worths: dict[int, tuple[float, int]] = {}
    for wish in wishes:
        present = [term for term in wish.variants if term in frequency]
        commonest = max((frequency[term] for term in present), default=0)
        rarity = math.log(1 + (passages - commonest + 0.5) / (commonest + 0.5))
        for term in present:
            worth = max(rarity, 0.01) * wish.weight
            worths[term] = max(worths.get(term, (0.0, 0)), (worth, frequency[term]))
    return dict(sorted(worths.items(), key=lambda item: -item[1][0]))


def _score(
    connection: sqlite3.Connection, worths: dict[int, tuple[float, int]], admitted: set[int] | None
) -> dict[int, float]:
    """Return the scores of candidate passages."""
    scores: dict[int, float] = {} if admitted is None else dict.fromkeys(admitted, 0.0)
    known = None if admitted is None else _by_block(scores)
    budget = ENTRY_BUDGET
    for term, (worth, frequency) in worths.items():
        if known is None and scores and frequency > budget:
            scores = {each: scores[each] for each in _best(scores, KNOWN_PASSAGES)}
            known = _by_block(scores)
        if known is not None:
            blocks = _listed(known)
            for block, entries in _known_blocks(connection, term, blocks):
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


def _best_rows(connection: sqlite3.Connection, scores: dict[int, float], chosen: Filter, most: int) -> list[_Row]:
    """Return the best candidates that `chosen` admits, about `most`."""
    condition, values = chosen.condition() if chosen else ("1", ())
    statement = (
        "SELECT p.id, p.document, p.ordinal, p.start, p.length, p.line, p.body, d.path, d.sha256, d.day"  # noqa: S608 # as above
        " FROM passages p JOIN documents d ON d.id = p.document"
        f" WHERE p.id IN (SELECT value FROM json_each(?)) AND {condition}"
    )
    rows: list[_Row] = []
    for numbers in _chunks(_best(scores, len(scores) if chosen else most), max(most, 128)):
        rows += map(_Row._make, connection.execute(statement, (_listed(numbers), *values)))
        if len(rows) >= most:
            break
    return rows


def _near_pairs(wishes: Sequence[QueryTerm], worths: dict[int, tuple[float, int]]) -> dict[tuple[int, int], float]:
    """Return what it is worth to find one term right beside another, for terms beside each other in the query."""
    pairs: dict[tuple[int, int], float] = {}
    for first, second in pairwise(wishes):
        for a, b in product(first.variants, second.variants):
            if a in worths and b in worths and a != b:
                pairs[a, b] = pairs[b, a] = NEARNESS_WORTH * min(worths[a][0], worths[b][0])
    return pairs


def _nearness(body: bytes, worths: dict[int, tuple[float, int]], pairs: dict[tuple[int, int], float]) -> float:
    """Return what it adds that words next to each other in the query are near each other in the passage."""
    met = [(place, term) for place, term in enumerate(unpack(body)) if term in worths]
    best: dict[float, float] = {}
    for (place, term), (next_place, next_term) in pairwise(met):
        distance = next_place - place
        worth = pairs.get((term, next_term))
        if worth and distance <= NEARNESS_REACH:
            best[worth] = max(best.get(worth, 0.0), worth / math.sqrt(distance))
    return sum(best.values())


def _documents(rows: list[_Row], scores: dict[int, float], limit: int) -> list[RankedDocument]:
    at = {(row.document, row.ordinal): scores[row.id] for row in rows}
    youngest = max((row.day for row in rows), default=0)
    found: dict[int, list[_Found]] = {}
    for row in rows:
        youth = _youth(youngest - row.day)
        around = at.get((row.document, row.ordinal - 1), 0.0) + at.get((row.document, row.ordinal + 1), 0.0)
        own = scores[row.id]
        found.setdefault(row.document, []).append(_Found((own + NEIGHBOUR_SHARE * around) * youth, own * youth, row))
    ranked = [(_document_score(passages), passages) for passages in found.values()]
    ranked.sort(key=lambda each: (-each[0], each[1][0].row.path))
    return [_document(score, passages) for score, passages in ranked[:limit]]


def _document_score(found: list[_Found]) -> float:
    """Return the score of the document whose passages are `found`.

    What they have of their neighbours isn't counted: it would make long documents win by their length.
    """
    own = sorted((each.own for each in found), reverse=True)
    score = sum(each * share for each, share in zip(own, _SHARES, strict=False))
    return round(score, 6)  # so that a difference of rounding isn't taken for one of rank


def _document(score: float, found: list[_Found]) -> RankedDocument:
    found.sort(key=lambda each: (-each.score, -each.row.ordinal))  # the later of two equal passages is the newer
    row = found[0].row
    ranked = tuple(RankedPassage(each.score, each.row.start, each.row.length, each.row.line) for each in found)
    return RankedDocument(row.path, row.sha256, score, ranked)


def _youth(days: int) -> float:
    return 1 + YOUTH_WORTH / (1 + math.log2(1 + days) / 4)


def _chunks(items: Sequence[int], size: int) -> Iterable[Sequence[int]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _listed(numbers: Iterable[int]) -> str:
    """Return `numbers` as the JSON array by which a statement with one parameter takes many."""
    return f"[{','.join(map(str, numbers))}]"
