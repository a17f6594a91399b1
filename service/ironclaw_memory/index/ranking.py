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
from .candidates import Row, Worth, find_candidates, find_neighbours, weigh_terms
from .catalogue import unpack
from .filter import Filter
from .meaning import AGREEMENT, MEANING_SHARE, MeaningModel, likeness

CANDIDATES: Final = 32
CANDIDATES_A_RESULT: Final = 6
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
PASSAGES_WITH_NEIGHBOURS: Final = 12
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
    own: float
    row: Row


def rank_documents(
    connection: sqlite3.Connection, text: str, chosen: Filter, limit: int, model: MeaningModel | None = None
) -> list[RankedDocument]:
    """Return the documents that hold anything of `text`, best first and equal scores by path, at most `limit`."""
    passages, languages = connection.execute("SELECT passages, languages FROM totals").fetchone()
    wishes = analyse_query(text, tuple(languages.split()) or ("english",))
    worths = weigh_terms(connection, wishes, passages)
    rows, scores = find_candidates(connection, worths, chosen, CANDIDATES + CANDIDATES_A_RESULT * limit)
    _add_nearness(rows, scores, _near_pairs(wishes, worths))
    rows += find_neighbours(connection, heapq.nlargest(PASSAGES_WITH_NEIGHBOURS, rows, key=lambda row: scores[row.id]))
    alike = _likeness(model, wishes, worths, rows)
    best = max(scores.values(), default=0.0)
    total = {row.id: scores.get(row.id, 0.0) + MEANING_SHARE * best * alike.get(row.id, 0.0) for row in rows}
    agreed = {row.document for row in rows if row.id in scores and alike.get(row.id, 0.0) >= AGREEMENT}
    return _documents(rows, total, agreed, limit)


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
    asked = {term for pair in pairs for term in pair}
    if asked:
        for row in rows:
            scores[row.id] += _nearness(row.body, asked, pairs)


def _nearness(body: bytes, asked: set[int], pairs: dict[tuple[int, int], float]) -> float:
    """Return what it adds that words next to each other in the query are near each other in the passage."""
    met = [(place, term) for place, term in enumerate(unpack(body)) if term in asked]
    best: dict[float, float] = {}
    for (place, term), (next_place, next_term) in pairwise(met):
        distance = next_place - place
        worth = pairs.get((term, next_term))
        if worth and distance <= NEARNESS_REACH:
            best[worth] = max(best.get(worth, 0.0), worth / math.sqrt(distance))
    return sum(best.values())


def _documents(rows: list[Row], scores: dict[int, float], agreed: set[int], limit: int) -> list[RankedDocument]:
    at = {(row.document, row.ordinal): (scores[row.id], row.context) for row in rows}
    youngest = max((row.day for row in rows), default=0)
    found: dict[int, list[_Found]] = {}
    for row in rows:
        youth = _youth(youngest - row.day)
        own = scores[row.id]
        before, after = (_share_of(at.get((row.document, row.ordinal + step)), row) for step in (-1, 1))
        score = own + BEFORE_SHARE * before + AFTER_SHARE * after
        found.setdefault(row.document, []).append(_Found(score * youth, own * youth, row))
    ranked = [(_document_score(passages), passages) for passages in found.values()]
    ranked.sort(key=lambda each: (-each[0], each[1][0].row.path))
    return [_document(score, passages, agreed) for score, passages in ranked[:limit]]


def _share_of(neighbour: tuple[float, bytes] | None, row: Row) -> float:
    """Return the score of a neighbour, less when it stands under another heading."""
    if neighbour is None:
        return 0.0
    score, context = neighbour
    return score if context == row.context else OTHER_SECTION * score


def _document_score(found: list[_Found]) -> float:
    """Return the score of the document whose passages are `found`.

    What they have of their neighbours isn't counted: it would make long documents win by their length.
    """
    own = sorted((each.own for each in found), reverse=True)
    score = sum(each * share for each, share in zip(own, _SHARES, strict=False))
    return round(score, 6)  # so that a difference of rounding isn't taken for one of rank


def _document(score: float, found: list[_Found], agreed: set[int]) -> RankedDocument:
    found.sort(key=lambda each: (-each.score, -each.row.ordinal))  # the later of two equal passages is the newer
    row = found[0].row
    ranked = tuple(RankedPassage(each.score, each.row.start, each.row.length, each.row.line) for each in found)
    return RankedDocument(row.path, row.sha256, score, row.document in agreed, ranked)


def _youth(days: int) -> float:
    return 1 + YOUTH_WORTH / (1 + math.log2(1 + days) / 4)
