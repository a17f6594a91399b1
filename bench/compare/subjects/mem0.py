"""mem0 as a library: local Qdrant on the disk, SQLite for history, an embedding model on the machine, no inference.

mem0 keeps short memories, so a document goes in as its lines, the way its `add` takes the messages of a conversation.
Ids are mem0's own; the key travels as metadata, and a host has to remember which id belongs to it.
"""

from __future__ import annotations

import threading
from typing import Any

from mem0 import Memory as Mem0

from bench.compare.subjects import (
    ATTACK,
    NO,
    PARTLY,
    PASSAGES,
    YES,
    Finding,
    Place,
    Subject,
    document_lines,
    first_of_each,
    join_block,
)

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSIONS = 384
USER = "bench"
ALL = 1_000_000


def _configuration(place: Place) -> dict[str, Any]:
    store = {"path": str(place.folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "embedder": {"provider": "fastembed", "config": {"model": MODEL, "embedding_dims": DIMENSIONS}},
        "llm": {"provider": "lmstudio", "config": {}},  # has to be named, is never called
        "history_db_path": str(place.folder / "history.db"),
    }


class Memory(Subject):
    """The memories of one `user_id`."""

    languages = "Python; TypeScript, as a separate implementation"

    def __init__(self, place: Place, engine: Any = None, user: str = USER) -> None:
        self._place, self._user = place, user
        self._engine = engine or Mem0.from_config(_configuration(place))
        self._ids: dict[str, str] = {}
        self._knows_ids = threading.Lock()

    @property
    def _filters(self) -> dict[str, str]:
        return {"user_id": self._user}

    def _add(self, key: str, messages: Any) -> str:
        added = self._engine.add(messages, user_id=self._user, metadata={"key": key}, infer=False)
        return str(added["results"][0]["id"])

    def put(self, key: str, text: str) -> None:
        """Add the memory, or update it where the key has one."""
        if known := self._ids.get(key):
            self._engine.update(known, text)
        else:
            self._ids[key] = self._add(key, text)

    def _id(self, key: str) -> str:
        if key not in self._ids:
            with self._knows_ids:
                for each in self._engine.get_all(filters=self._filters, top_k=ALL)["results"]:
                    self._ids.setdefault((each.get("metadata") or {}).get("key", ""), each["id"])
        return self._ids[key]

    def get(self, key: str) -> str:
        """Get the memory by its id."""
        found = self._engine.get(self._id(key))
        if found is None:
            raise KeyError(key)
        return str(found["memory"])

    def append(self, key: str, line: str) -> None:
        """Update the memory to the longer text: there is no append."""
        self._engine.update(self._id(key), f"{self.get(key)}{line}\n")

    def _found(self, question: str) -> list[Any]:
        found: list[Any] = self._engine.search(question, filters=self._filters, top_k=PASSAGES)["results"]
        return found

    def search(self, question: str) -> list[str]:
        """Search memories and tell their keys."""
        return first_of_each((each.get("metadata") or {}).get("key", "") for each in self._found(question))

    def context(self, question: str) -> str:
        """Join what a search finds, as its documentation does for a prompt."""
        return join_block(each["memory"] for each in self._found(question))

    def add_document(self, path: str, text: str) -> None:
        """Add the document's lines as messages, each a memory."""
        self._add(path, [{"role": "user", "content": line} for line in document_lines(text)])

    def ask(self, question: str) -> tuple[list[str], str]:
        """Search once, for both."""
        found = self._found(question)
        keys = first_of_each((each.get("metadata") or {}).get("key", "") for each in found)
        return keys, join_block(each["memory"] for each in found)

    def as_user(self, user: str) -> Memory:
        """Take another `user_id`."""
        return Memory(self._place, self._engine, user)

    def probe_tenants(self) -> Finding:
        """Search as another user, without one, and get by id."""
        self.put("private/plan", "The vault code is heliotrope.")
        other = self.as_user("somebody-else")
        if other.search("vault code heliotrope"):
            return Finding(NO, "another user's search finds the text")
        leaked = self._engine.get(self._ids["private/plan"]) is not None
        try:
            self._engine.search("vault code")
        except ValueError:
            said = (
                "search keeps users apart and refuses a call without one; get, update and delete by id ask for no user"
            )
            return Finding(PARTLY if leaked else YES, said)
        return Finding(NO, "a search without a user is answered")

    def probe_attack(self) -> Finding:
        """Add it and ask for a context."""
        self.put("inbox/mail", ATTACK)
        reaches = "Ignore all previous" in self.context("developer mode system prompt")
        return Finding(NO if reaches else YES, "stored and returned as it is")

    def probe_history(self) -> Finding:
        """Update a memory and list its history."""
        self.put("history/note", "first")
        self.put("history/note", "second")
        kept = any(each["old_memory"] == "first" for each in self._engine.history(self._ids["history/note"]))
        return Finding(PARTLY if kept else NO, "old texts can be listed by id; putting one back is the host's update")

    def probe_retry(self) -> Finding:
        """Add the same memory twice."""
        for _ in range(2):
            self._add("retry/note", "Said once.")
        every = self._engine.get_all(filters=self._filters, top_k=ALL)["results"]
        times = sum(each["memory"] == "Said once." for each in every)
        return Finding(YES if times == 1 else NO, f"no request ids; the same add sent twice is kept {times} times")
