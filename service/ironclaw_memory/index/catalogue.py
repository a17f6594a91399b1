"""The write side of the index's tables: putting a document in, taking it out, and what is known of each.

Runs inside the caller's transaction, under the scope's write lock. Doesn't read documents; `upkeep` does. A document
that changed keeps the passages whose text stayed: an append to a long document costs what was appended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from .analysis import analyse
from .inverted import MERGE_PASSAGES, merge, remove_passages
from .meaning import MeaningModel
from .passages import Passage, cut_passages
from .postings import pack, strengths

INDEXED: Final = "indexed"
SKIPPED: Final = "skipped"
UNSETTLED: Final = -1
"""Stands for a modification time that must not be trusted: the next comparison reads the document again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalogue knows of a document: its state, and its size and hash when it was last read."""

    id: int
    state: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Old:
    id: int
    digest: bytes
    place: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Analysed:
    passage: Passage
    digest: bytes
    body: list[int]
    context: set[int]
    strengths: dict[int, int]
    language: str
    vector: bytes | None


class Catalogue:
    """The tables of one scope inside one transaction. `save_totals` ends it."""

    def __init__(self, connection: sqlite3.Connection, language: str, model: MeaningModel | None = None) -> None:
        self._sql = connection
        self._language = language
        self._model = model
        row = connection.execute(
            "SELECT next_passage, merged, gone, passages, documents, bytes, languages FROM totals"
        ).fetchone()
        self._next, self._merged, self._gone, self._passages, self._documents, self._bytes = row[:6]
        self._languages = set(row[6].split())
        self._lacks_vectors = False

    def entry(self, path: str) -> Entry | None:
        """Return what is known of the document at `path`."""
        row = self._sql.execute("SELECT id, state, size, sha256 FROM documents WHERE path = ?", (path,)).fetchone()
        return Entry(*row) if row else None

    def touch(self, entry: Entry, stat: tuple[int, int, int]) -> None:
        """Note the size, modification time and inode under which the unchanged document was seen."""
        self._sql.execute("UPDATE documents SET size = ?, modified_ns = ?, inode = ? WHERE id = ?", (*stat, entry.id))

    def put(
        self, path: str, content: bytes, sha256: str, stat: tuple[int, int, int], day: int, known: Entry | None
    ) -> None:
        """Index `content` as the document at `path`, replacing what was indexed of it, which `known` tells.

        Passages whose digests stayed at the head and at the tail are kept; those between are replaced. All analysis
        comes before the first change of a table, so that a text it can't cope with leaves the old state.
        """
        old = self._old_passages(known.id) if known else []
        new = [(passage, _digest(passage, content)) for passage in cut_passages(content)]
        head = _common((a.digest, b[1]) for a, b in zip(old, new, strict=False))
        tail = _common((a.digest, b[1]) for a, b in zip(reversed(old[head:]), reversed(new[head:]), strict=False))
        analysed = self._analyse(path, content, new[head : len(new) - tail])
        document = self._note(path, INDEXED, sha256, stat, day, known)
        self._documents += 1
        self._bytes += stat[0]
        self._delete_passages(old[head : len(old) - tail])
        self._move_passages(old[:head], new[:head], 0)
        self._move_passages(old[len(old) - tail :], new[len(new) - tail :], len(new) - tail)
        self._insert_passages(document, head, analysed)

    def put_aside(self, path: str, state: str, sha256: str, stat: tuple[int, int, int]) -> None:
        """Remember the document at `path` without making it findable; `state` says why."""
        known = self.entry(path)
        document = self._note(path, state, sha256, stat, 0, known)
        if known is not None:
            self._delete_passages(self._old_passages(document))

    def remove(self, path: str) -> None:
        """Forget the document at `path`."""
        entry = self.entry(path)
        if entry is None:
            return
        self._discount(entry)
        self._delete_passages(self._old_passages(entry.id))
        self._sql.execute("DELETE FROM documents WHERE id = ?", (entry.id,))

    def merge(self, most: int = 0) -> None:
        """Bring the lists of terms up to date when more than `most` passages wait for it."""
        if self._next - self._merged + self._gone > most:
            merge(self._sql, self._merged)
            self._merged, self._gone = self._next, 0

    def save_totals(self, pending: tuple[int, int] | None = None) -> None:
        """Write the totals back, and how far the pending file has been worked off if given."""
        self.merge(MERGE_PASSAGES)
        self._sql.execute(
            "UPDATE totals SET next_passage = ?, merged = ?, gone = ?, passages = ?, documents = ?, bytes = ?,"
            " languages = ?",
            (
                self._next, self._merged, self._gone, self._passages, self._documents, self._bytes,
                " ".join(sorted(self._languages)),
            ),
        )  # fmt: skip
        if self._lacks_vectors:
            self._sql.execute("UPDATE totals SET model = '' WHERE model != ''")
        if pending is not None:
            self._sql.execute("UPDATE totals SET pending_inode = ?, pending_offset = ?", pending)

    def _note(
        self, path: str, state: str, sha256: str, stat: tuple[int, int, int], day: int, entry: Entry | None
    ) -> int:
        if entry is None:
            cursor = self._sql.execute(
                "INSERT INTO documents (path, folded, state, size, modified_ns, inode, sha256, day)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (path, path.casefold(), state, *stat, sha256, day),
            )
            return int(cursor.lastrowid or 0)
        self._discount(entry)
        self._sql.execute(
            "UPDATE documents SET state = ?, size = ?, modified_ns = ?, inode = ?, sha256 = ?, day = ? WHERE id = ?",
            (state, *stat, sha256, day, entry.id),
        )
        return entry.id

    def _discount(self, entry: Entry) -> None:
        if entry.state == INDEXED:
            self._documents -= 1
            self._bytes -= entry.size

    def _old_passages(self, document: int) -> list[_Old]:
        rows = self._sql.execute(
            "SELECT id, digest, ordinal, start, length, line FROM passages WHERE document = ? ORDER BY ordinal",
            (document,),
        )
        return [_Old(row[0], row[1], row[2:]) for row in rows]

    def _move_passages(self, old: Sequence[_Old], new: Sequence[tuple[Passage, bytes]], ordinal: int) -> None:
        moved = []
        for offset, (was, (now, _)) in enumerate(zip(old, new, strict=True)):
            place = (ordinal + offset, now.start, now.length, now.line)
            if was.place != place:
                moved.append((*place, was.id))
        self._sql.executemany("UPDATE passages SET ordinal = ?, start = ?, length = ?, line = ? WHERE id = ?", moved)

    def _analyse(self, path: str, content: bytes, passages: Sequence[tuple[Passage, bytes]]) -> list[_Analysed]:
        analysed = []
        path_terms = set(analyse(path, self._language)[0])
        texts = [content[passage.start : passage.start + passage.length].decode() for passage, _ in passages]
        vectors = self._model.embed(texts) if self._model else [None] * len(texts)
        for (passage, digest), text, vector in zip(passages, texts, vectors, strict=True):
            body, language = analyse(text, self._language)
            headings = set(analyse(passage.headings, language)[0]) if passage.headings else set()
            strong = strengths(body, headings, path_terms)
            analysed.append(_Analysed(passage, digest, body, headings | path_terms, strong, language, vector))
        return analysed

    def _insert_passages(self, document: int, ordinal: int, new: Sequence[_Analysed]) -> None:
        rows = []
        for offset, each in enumerate(new):
            place = (ordinal + offset, each.passage.start, each.passage.length, each.passage.line)
            strong = bytes(each.strengths[term] for term in sorted(each.strengths))
            terms = (pack(each.body), pack(sorted(each.context)), strong)
            rows.append((self._next, document, *place, each.digest, *terms, each.vector))
            self._next += 1
        self._passages += len(new)
        self._lacks_vectors |= bool(new) and self._model is None
        self._languages.update(each.language for each in new)
        self._sql.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _delete_passages(self, old: Sequence[_Old]) -> None:
        self._gone += remove_passages(self._sql, [passage.id for passage in old], self._merged)
        self._passages -= len(old)


def known_stats(connection: sqlite3.Connection) -> dict[str, tuple[int, int, int]]:
    """Return size, modification time and inode of every known document by its path."""
    rows = connection.execute("SELECT path, size, modified_ns, inode FROM documents")
    return {path: (size, modified, inode) for path, size, modified, inode in rows}


def _digest(passage: Passage, content: bytes) -> bytes:
    text = content[passage.start : passage.start + passage.length]
    return blake2b(text, digest_size=8, key=passage.headings.encode()[:64]).digest()


def _common(pairs: Iterator[tuple[bytes, bytes]]) -> int:
    count = 0
    for first, second in pairs:
        if first != second:
            break
        count += 1
    return count
