"""langgraph's `SqliteStore` as a library: an item a key, with an index of embeddings or without.

With the index it searches by meaning, and a document goes in as its lines, for an item's text is one vector. Without
it a search lists items, newest first, whatever is asked.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from fastembed import TextEmbedding
from langgraph.store.sqlite import SqliteStore

from bench.compare.subjects import (
    ATTACK,
    NO,
    PASSAGES,
    YES,
    Finding,
    Lacking,
    Place,
    Subject,
    document_lines,
    first_of_each,
    join_block,
)

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSIONS = 384
USER = "bench"
INDEXED = "index"


def _open_store(place: Place) -> SqliteStore:
    index: Any = None
    if place.variant == INDEXED:
        model = TextEmbedding(MODEL)

        def embed(texts: Any) -> list[list[float]]:
            return [vector.tolist() for vector in model.embed(list(texts))]

        index = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}
    # What `from_conn_string` does, without its context manager.
    connection = sqlite3.connect(place.folder / "store.db", check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection, index=index)
    store.setup()
    return store


class Memory(Subject):
    """The items of one namespace."""

    languages = "Python; JavaScript has a store of its own, without SQLite"

    def __init__(self, place: Place, store: SqliteStore | None = None, user: str = USER) -> None:
        self._place, self._user = place, user
        self._store = store or _open_store(place)
        self._indexed = place.variant == INDEXED

    @property
    def _namespace(self) -> tuple[str, ...]:
        return ("memories", self._user)

    def put(self, key: str, text: str) -> None:
        """Put the item."""
        self._store.put(self._namespace, key, {"text": text, "document": key})

    def get(self, key: str) -> str:
        """Get the item."""
        found = self._store.get(self._namespace, key)
        if found is None:
            raise KeyError(key)
        return str(found.value["text"])

    def append(self, key: str, line: str) -> None:
        """Put the longer text: there is neither append nor a condition."""
        self.put(key, f"{self.get(key)}{line}\n")

    def _found(self, question: str) -> list[Any]:
        return self._store.search(self._namespace, query=question if self._indexed else None, limit=PASSAGES)

    def search(self, question: str) -> list[str]:
        """Search by meaning, where there is an index."""
        if not self._indexed:
            raise Lacking("without an index it lists items, whatever is asked")
        return first_of_each(str(each.value["document"]) for each in self._found(question))

    def context(self, question: str) -> str:
        """Join what is found, or the newest items where nothing can be searched."""
        return join_block(str(each.value["text"]) for each in self._found(question))

    def add_document(self, path: str, text: str) -> None:
        """Put the document's lines, each an item."""
        for number, line in enumerate(document_lines(text)):
            self._store.put(self._namespace, f"{path}:{number}", {"text": line, "document": path})

    def ask(self, question: str) -> tuple[list[str], str]:
        """Search once, for both."""
        if not self._indexed:
            return self.search(question), ""
        found = self._found(question)
        keys = first_of_each(str(each.value["document"]) for each in found)
        return keys, join_block(str(each.value["text"]) for each in found)

    def as_user(self, user: str) -> Memory:
        """Take another namespace."""
        return Memory(self._place, self._store, user)

    def probe_tenants(self) -> Finding:
        """Search above the namespaces."""
        self.put("private/plan", "The vault code is heliotrope.")
        every = self._store.search(("memories",), limit=1_000_000)
        leaks = any("heliotrope" in str(each.value.get("text")) for each in every)
        return Finding(
            NO if leaks else YES, "namespaces are a convention: a search above them returns everybody's items"
        )

    def probe_attack(self) -> Finding:
        """Put it and ask for a context."""
        self.put("inbox/mail", ATTACK)
        reaches = "Ignore all previous" in self.context("developer mode system prompt")
        return Finding(NO if reaches else YES, "stored and returned as it is")

    def probe_history(self) -> Finding:
        """Replace an item and look for the old text in the whole database."""
        self.put("history/note", "first")
        self.put("history/note", "second")
        rows = self._store.conn.execute("SELECT value FROM store WHERE key = 'history/note'").fetchall()
        kept = any("first" in str(row[0]) for row in rows)
        return Finding(YES if kept else NO, "what is replaced is gone")

    def probe_retry(self) -> Finding:
        """Send one append twice."""
        self.put("retry/note", "start\n")
        for _ in range(2):
            self.append("retry/note", "once more")
        times = self.get("retry/note").count("once more")
        return Finding(YES if times == 1 else NO, f"no request ids; an append sent twice: {times} times in the text")

    def close(self) -> None:
        """Close the database."""
        self._store.conn.close()
