"""Which documents answer a query, and by which passages: the close look at the candidates.

Reads the index's tables through one connection, never a document. A candidate comes with its BM25 score over body,
headings and path (`candidates`), to which is added

- what words are worth that stand next to each other in the query and in the passage (`_nearness`),
- with a model, how alike the passage and the query are in meaning (`meaning`),
- a share of what the passages before and after it score: an answer stands next to its question, mostly after it, and
  need not hold a word of it,
- a small preference for the younger document, so that a correction precedes what it corrects.

A document's score is its best passage's plus a falling share of the next ones': many weak passages never beat one
good one by their number.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final, NamedTuple

from .analysis import QueryTerm, analyse_query
from .candidates import Depth, Row, find_candidates, find_neighbours
from .filter import Filter
from .inverted import read_totals
from .meaning import AGREEMENT, MEANING_SHARE, MeaningModel, likeness
from .postings import SATURATION, TERM_BYTES, pack
from .scoring import Worth, weigh_terms

CANDIDATES: Final = 16
CANDIDATES_A_RESULT: Final = 4
"""Passages looked at closely: so many, and so many for each result that is asked for."""

# What follows was tried on dialogues and on notes in seven languages; within a factor of two of these values nothing
# changes by more than two hundredths of the questions, so the exact values don't matter.
NEARNESS_WORTH: Final = 0.5
NEARNESS_REACH: Final = 4
BEFORE_SHARE: Final = 0.5
AFTER_SHARE: Final = 0.3
"""What a passage has of the score of the one before it, and of the one after it."""
OTHER_SECTION: Final = 0.4
"""What such a share is worth when the neighbour stands under another heading."""
PASSAGES_WITH_NEIGHBOURS: Final = 8
"""Of so many of the best passages the neighbours are looked at though they hold no word of the query."""
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
    """A document, its score, the hash under which it was indexed, and its passages, best first.

    Attributes:
        is_agreed: whether words and meaning agree on it; False without a model.
    """

    path: str
    sha256: str
    score: float
    is_agreed: bool
    passages: tuple[RankedPassage, ...]


class _Found(NamedTuple):
    score: float
    row: Row


def rank_documents(
    connection: sqlite3.Connection, text: str, chosen: Filter, limit: int, model: MeaningModel | None = None
) -> list[RankedDocument]:
    """Return the documents that hold anything of `text`, best first and equal scores by path, at most `limit`."""
    totals = read_totals(connection)
    wishes = analyse_query(text, tuple(totals.languages.split()) or ("english",))
    question = weigh_terms(connection, wishes, totals)
    pairs = _near_pairs(wishes, question.worths)
    found = find_candidates(connection, question, chosen, _depth(limit, question.worths, pairs, model))
    rows, scores = found.rows, found.scores
    _add_nearness([row for row in rows if row.id in found.several], scores, pairs)
    rows += find_neighbours(connection, heapq.nlargest(PASSAGES_WITH_NEIGHBOURS, rows, key=lambda row: scores[row.id]))
    alike = _likeness(model, wishes, question.worths, rows)
    best = max(scores.values(), default=0.0)
    total = {row.id: scores.get(row.id, 0.0) + MEANING_SHARE * best * alike.get(row.id, 0.0) for row in rows}
    agreed = {row.document for row in rows if row.id in scores and alike.get(row.id, 0.0) >= AGREEMENT}
    return _documents(rows, total, agreed, limit)


def _depth(
    limit: int, worths: dict[int, Worth], pairs: dict[tuple[int, int], float], model: MeaningModel | None
) -> Depth:
    """Return how far down the candidates have to be looked at."""
    nearness = sum(set(pairs.values()))
    best = sum(each.worth for each in worths.values()) * (SATURATION + 1) + nearness
    return Depth(
        passages=CANDIDATES + CANDIDATES_A_RESULT * limit,
        documents=limit,
        gain=MEANING_SHARE * best if model else 0.0,
        gain_of_several=nearness,
        lift=(1 + YOUTH_WORTH) * sum(_SHARES),
    )


def _likeness(
    model: MeaningModel | None, wishes: Sequence[QueryTerm], worths: dict[int, Worth], rows: Sequence[Row]
) -> dict[int, float]:
    """Return how alike the passages and the query are in meaning; nothing without a model."""
    if model is None:
        return {}
    unknown = max((each.worth for each in worths.values()), default=1.0)  # no passage has it: as rare as can be
    words = {
        wish.word: max((worths[term].worth for term in wish.variants if term in worths), default=unknown)
        for wish in wishes
        if wish.word.isalpha()
    }
    return likeness(model, words, {row.id: row.vector or b"" for row in rows})


def _near_pairs(wishes: Sequence[QueryTerm], worths: dict[int, Worth]) -> dict[tuple[int, int], float]:
    """Return what it is worth to find one term right beside another, for terms beside each other in the query."""
    pairs: dict[tuple[int, int], float] = {}
    for first, second in pairwise(wishes):
        for a, b in product(first.variants, second.variants):
            if a in worths and b in worths and a != b:
                pairs[a, b] = pairs[b, a] = NEARNESS_WORTH * min(worths[a].worth, worths[b].worth)
    return pairs


def _add_nearness(rows: Sequence[Row], scores: dict[int, float], pairs: dict[tuple[int, int], float]) -> None:
    asked = {term: pack((term,)) for pair in pairs for term in pair}
    if asked:
        for row in rows:
            scores[row.id] += _nearness(row.body, asked, pairs)


def _nearness(body: bytes, asked: dict[int, bytes], pairs: dict[tuple[int, int], float]) -> float:
    """Return what it adds that words next to each other in the query are near each other in the passage."""
    met: list[tuple[int, int]] = []
    for term, packed in asked.items():
        found = body.find(packed)
        while found >= 0:
            if found % TERM_BYTES == 0:
                met.append((found, term))
            found = body.find(packed, found + 1)
    if len(met) < 2:
        return 0.0
    best: dict[float, float] = {}
    for (place, term), (next_place, next_term) in pairwise(sorted(met)):
        distance = (next_place - place) // TERM_BYTES
        worth = pairs.get((term, next_term))
        if worth and distance <= NEARNESS_REACH:
            best[worth] = max(best.get(worth, 0.0), worth / math.sqrt(distance))
    return sum(best.values())


def _documents(rows: Sequence[Row], scores: dict[int, float], agreed: set[int], limit: int) -> list[RankedDocument]:
    youngest = max((row.day for row in rows), default=0)
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.document, []).append(row)
    ranked = [
        (_document_score([scores[row.id] for row in passages]) * _youth(youngest - passages[0].day), passages)
        for passages in found.values()
    ]
    ranked = [(round(score, 6), passages) for score, passages in ranked]  # no difference of rounding is one of rank
    ranked.sort(key=lambda each: (-each[0], each[1][0].path))
    return [_document(score, passages, scores, youngest, agreed) for score, passages in ranked[:limit]]


def _share_of(neighbour: tuple[float, bytes] | None, row: Row) -> float:
    """Return the score of a neighbour, less when it stands under another heading."""
    if neighbour is None:
        return 0.0
    score, context = neighbour
    return score if context == row.context else OTHER_SECTION * score


def _document_score(scores: list[float]) -> float:
    """Return the score of a document from those of its passages.

    What they have of their neighbours isn't counted: it would make long documents win by their length.
    """
    if len(scores) == 1:
        return scores[0]
    scores.sort(reverse=True)
    return sum(score * share for score, share in zip(scores, _SHARES, strict=False))


def _document(
    score: float, rows: list[Row], scores: dict[int, float], youngest: int, agreed: set[int]
) -> RankedDocument:
    at = {row.ordinal: (scores[row.id], row.context) for row in rows}
    youth = _youth(youngest - rows[0].day)
    found = []
    for row in rows:
        before, after = (_share_of(at.get(row.ordinal + step), row) for step in (-1, 1))
        found.append(_Found((scores[row.id] + BEFORE_SHARE * before + AFTER_SHARE * after) * youth, row))
    found.sort(key=lambda each: (-each.score, -each.row.ordinal))  # the later of two equal passages is the newer
    ranked = tuple(RankedPassage(each.score, each.row.start, each.row.length, each.row.line) for each in found)
    return RankedDocument(rows[0].path, rows[0].sha256, score, rows[0].document in agreed, ranked)


def _youth(days: int) -> float:
    return 1 + YOUTH_WORTH / (1 + math.log2(1 + days) / 4)
