"""The inverted index: which passages hold a term, as a search sees it and as a writer brings it up to date.

A write puts its passages into their table and leaves the lists of their terms alone: a document of eighty terms would
change eighty lists on as many pages of the file. Passages that the lists don't have yet are *fresh*, and all that are
newer than `merged`; those that the lists still have are *gone*. A search adds the ones and takes the others away, so
what it finds is the same before and after a merge, which brings the lists up to date for many passages at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .postings import BLOCK_PASSAGES, PostingList, join_blocks, pack, unpack

MERGE_PASSAGES: Final = 256
"""Passages, fresh and gone, from which on a write merges them: a search goes through them in 2 microseconds each."""
BULK_PASSAGES: Final = 4_096
"""The same for the building of an index, of which nobody searches: some 5 MB of memory."""


class Totals(NamedTuple):
    """What the index knows of itself.

    Attributes:
        passages: how many can be found.
        languages: in which there are stems.
        next_passage: the number that the next passage gets.
        merged: passages with a lower number are in the lists.
        gone: how many that are in the lists are no more.
    """

    passages: int
    languages: str
    next_passage: int
    merged: int
    gone: int


def read_totals(connection: sqlite3.Connection) -> Totals:
    """Return the totals of an index."""
    row = connection.execute("SELECT passages, languages, next_passage, merged, gone FROM totals").fetchone()
    return Totals._make(row)


@dataclass(slots=True)
class TermLists:
    """The lists of the terms of one query, within one transaction.

    Args:
        connection: to read from.
        totals: of the index in this transaction.
        terms: that will be asked about.
    """

    connection: sqlite3.Connection
    totals: Totals
    terms: Collection[int]
    _gone: dict[int, set[int]] = field(init=False, default_factory=dict)
    _fresh: dict[int, list[tuple[int, int]]] = field(init=False, default_factory=dict)
    _merged: dict[int, list[tuple[bytes, bytes]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.totals.merged < self.totals.next_passage:
            self._fresh = self._read_fresh()
        if self.totals.gone:
            self._gone = self._read_gone()
        if self._is_small:
            self._merged = self._read_all()

    def frequencies(self) -> dict[int, int]:
        """Return how many passages hold each term that any does."""
        found = self._lengths()
        for term, entries in self._fresh.items():
            found[term] = found.get(term, 0) + len(entries)
        for term, passages in self._gone.items():
            found[term] = found.get(term, 0) - len(passages)
        return {term: count for term, count in found.items() if count > 0}

    def of(self, term: int, newest: int | None = None) -> PostingList:
        """Return the list of a term; with `newest`, at least so many of its newest entries."""
        found = self._merged.get(term) if self._is_small else self._read(term, newest)
        entries = join_blocks(found or [])
        if gone := self._gone.get(term):
            entries = entries.without(gone)
        if fresh := self._fresh.get(term):
            entries = entries.extended(fresh)
        return entries

    @property
    def _is_small(self) -> bool:
        """Whether no term has more than one block: all are read at once then."""
        return self.totals.merged <= BLOCK_PASSAGES

    def _lengths(self) -> dict[int, int]:
        if self._is_small:
            return {term: sum(len(block[1]) for block in blocks) for term, blocks in self._merged.items()}
        rows = self.connection.execute(
            "SELECT term, sum(length(strengths)) FROM postings"
            " WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
            (listed(self.terms),),
        )
        return dict(rows.fetchall())

    def _read_all(self) -> dict[int, list[tuple[bytes, bytes]]]:
        rows = self.connection.execute(
            "SELECT term, passages, strengths FROM postings WHERE term IN (SELECT value FROM json_each(?))",
            (listed(self.terms),),
        )
        found: dict[int, list[tuple[bytes, bytes]]] = {}
        for term, passages, strengths in rows:
            found.setdefault(term, []).append((passages, strengths))
        return found

    def _read(self, term: int, newest: int | None) -> list[tuple[bytes, bytes]]:
        rows = self.connection.execute(
            "SELECT passages, strengths FROM postings WHERE term = ? ORDER BY block DESC", (term,)
        )
        blocks, count = [], 0
        for block in rows:
            blocks.append(block)
            count += len(block[1])
            if newest is not None and count >= newest:
                break
        return blocks[::-1]

    def _read_fresh(self) -> dict[int, list[tuple[int, int]]]:
        wanted = frozenset(self.terms)
        found: dict[int, list[tuple[int, int]]] = {}
        for passage, body, context, strengths in _fresh_passages(self.connection, self.totals.merged):
            held = terms_of(body, context)
            for term in wanted.intersection(held):
                found.setdefault(term, []).append((passage, strengths[held.index(term)]))
        return found

    def _read_gone(self) -> dict[int, set[int]]:
        wanted = frozenset(self.terms)
        found: dict[int, set[int]] = {}
        for passage, terms in self.connection.execute("SELECT id, terms FROM gone"):
            for term in wanted.intersection(unpack(terms)):
                found.setdefault(term, set()).add(passage)
        return found


def terms_of(body: bytes, context: bytes) -> list[int]:
    """Return the terms of a passage in the order of its strengths: ascending."""
    return sorted({*unpack(body), *unpack(context)})


def _fresh_passages(connection: sqlite3.Connection, merged: int) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    yield from connection.execute(
        "SELECT id, body, context, strengths FROM passages WHERE id >= ? ORDER BY id", (merged,)
    )


def remove_passages(connection: sqlite3.Connection, passages: Collection[int], merged: int) -> int:
    """Take passages out of their table; return how many are gone from it and still in the lists."""
    if not passages:
        return 0
    chosen = listed(passages)
    added = connection.execute(
        "INSERT INTO gone SELECT id, CAST(body || context AS BLOB) FROM passages"
        " WHERE id IN (SELECT value FROM json_each(?)) AND id < ?",
        (chosen, merged),
    )
    count = added.rowcount
    connection.execute("DELETE FROM passages WHERE id IN (SELECT value FROM json_each(?))", (chosen,))
    return count


def merge(connection: sqlite3.Connection, merged: int) -> None:
    """Bring the lists up to date with the passages from number `merged` on, and without those that are gone."""
    gone: dict[tuple[int, int], set[int]] = {}
    for passage, terms in connection.execute("SELECT id, terms FROM gone"):
        for term in set(unpack(terms)):
            gone.setdefault((term, passage // BLOCK_PASSAGES), set()).add(passage)
    fresh: dict[tuple[int, int], tuple[list[int], bytearray]] = {}
    for passage, body, context, strengths in _fresh_passages(connection, merged):
        block = passage // BLOCK_PASSAGES
        for term, strength in zip(terms_of(body, context), strengths, strict=True):
            passages, strong = fresh.setdefault((term, block), ([], bytearray()))
            passages.append(passage)
            strong.append(strength)
    _put_lists(connection, sorted(gone.keys() | fresh.keys()), gone, fresh)
    connection.execute("DELETE FROM gone")


def _put_lists(
    connection: sqlite3.Connection,
    keys: Iterable[tuple[int, int]],
    gone: dict[tuple[int, int], set[int]],
    fresh: dict[tuple[int, int], tuple[list[int], bytearray]],
) -> None:
    changed, emptied = [], []
    for key in keys:
        passages, strengths = _kept(connection, key, gone.get(key))
        if key in fresh:
            passages += pack(fresh[key][0])
            strengths += fresh[key][1]
        if strengths:
            changed.append((*key, passages, strengths))
        else:
            emptied.append(key)
    connection.executemany("INSERT OR REPLACE INTO postings VALUES (?, ?, ?, ?)", changed)
    connection.executemany("DELETE FROM postings WHERE term = ? AND block = ?", emptied)


def _kept(connection: sqlite3.Connection, key: tuple[int, int], gone: set[int] | None) -> tuple[bytes, bytes]:
    """Return what stays of a block."""
    row: tuple[bytes, bytes] | None = connection.execute(
        "SELECT passages, strengths FROM postings WHERE term = ? AND block = ?", key
    ).fetchone()
    if row is None or not gone:
        return row or (b"", b"")
    kept = [pair for pair in zip(unpack(row[0]), row[1], strict=True) if pair[0] not in gone]
    return pack(passage for passage, _ in kept), bytes(strength for _, strength in kept)


def listed(numbers: Iterable[int]) -> str:
    """Return `numbers` as the JSON array by which a statement with one parameter takes many."""
    return f"[{','.join(map(str, numbers))}]"
