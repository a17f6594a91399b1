"""What the five tools answer: one value a tool, and the JSON that a model gets of it (`to_tool_json`).

The JSON is the tool's output schema and nothing more. What only gRPC answers (hash, size, advisories) is on the values,
where the handlers find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from .advisories import Advisory
from .document import TreeEntry

SEARCH_SCOPE: Final = "reborn_internal_persistent_memory"
"""Tells the model that only this memory was searched; the name is the wire's, kept for compatibility."""


class WriteStatus(StrEnum):
    """Which kind of change a write was. The wire's enum is `WRITE_STATUS_` and the member's name."""

    WRITTEN = "written"
    PATCHED = "patched"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """A change that is durable.

    Attributes:
        status: which kind of change it was; decides which of the optional values below are there.
        path: the relative path that was written, in NFC.
        content_length: size of the resulting document in bytes.
        content_sha256: 64 hex digits over the resulting document.
        append: whether text was added rather than replaced; only of a written document.
        replacements: how many occurrences were changed; only of a patched one.
        message: a sentence for the model; only of a cleared one.
        advisories: what makes the stored text poor memory.
        replayed: whether an earlier try of the same request had made the change; never part of a record.
    """

    status: WriteStatus
    path: str
    content_length: int
    content_sha256: str
    append: bool | None = None
    replacements: int | None = None
    message: str | None = None
    advisories: tuple[Advisory, ...] = ()
    replayed: bool = False

    def to_tool_json(self) -> dict[str, Any]:
        """Return what the output schema of `ironclaw.memory.write` says; values that don't apply have no key."""
        answer: dict[str, Any] = {"status": self.status.value, "path": self.path}
        optional = {"append": self.append, "replacements": self.replacements, "message": self.message}
        answer |= {key: value for key, value in optional.items() if value is not None}
        return answer | {"content_length": self.content_length}

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object that is remembered with a request id, so that a retry gets this very answer."""
        remarks = [advisory.to_record() for advisory in self.advisories]
        return self.to_tool_json() | {"content_sha256": self.content_sha256, "advisories": remarks}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], *, replayed: bool = False) -> WriteResult:
        """Return the result that `to_record` had written; keys it doesn't know are left alone.

        Raises:
            KeyError: a value that every result has is missing.
            ValueError: the status or an advisory's code is unknown.
        """
        return cls(
            status=WriteStatus(record["status"]),
            path=record["path"],
            content_length=record["content_length"],
            content_sha256=record["content_sha256"],
            append=record.get("append"),
            replacements=record.get("replacements"),
            message=record.get("message"),
            advisories=tuple(Advisory.from_record(remark) for remark in record.get("advisories", ())),
            replayed=replayed,
        )


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A document.

    Attributes:
        path: the path that was read, in NFC.
        content: the text, whole.
        word_count: how many words white space separates.
        content_sha256: 64 hex digits over the content.
        size_bytes: its size.
        updated_at: when the document was last changed, with zone UTC.
        version: how many kept versions precede it.
    """

    path: str
    content: str
    word_count: int
    content_sha256: str
    size_bytes: int
    updated_at: datetime
    version: int

    def to_tool_json(self) -> dict[str, Any]:
        """Return what the output schema of `ironclaw.memory.read` says."""
        return {"path": self.path, "content": self.content, "word_count": self.word_count}


@dataclass(frozen=True, slots=True)
class SearchHitResult:
    """One document that matched.

    Attributes:
        content: the passages that matched, at most 8,192 bytes.
        score: relative to the best result, which has 1.0.
        path: the document's relative path.
        is_hybrid_match: whether words and meaning both found it.
    """

    content: str
    score: float
    path: str
    is_hybrid_match: bool = False

    def to_tool_json(self) -> dict[str, Any]:
        """Return one element of `results`."""
        return {
            "content": self.content,
            "score": self.score,
            "path": self.path,
            "is_hybrid_match": self.is_hybrid_match,
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        query: the query as it was used.
        results: best first, ties by path, one a document.
        documents_searched: how many documents were open to this search.
    """

    query: str
    results: tuple[SearchHitResult, ...]
    documents_searched: int

    def to_tool_json(self) -> dict[str, Any]:
        """Return what the output schema of `ironclaw.memory.search` says."""
        return {
            "query": self.query,
            "results": [hit.to_tool_json() for hit in self.results],
            "result_count": len(self.results),
            "search_scope": SEARCH_SCOPE,
            "external_services_searched": False,
        }


@dataclass(frozen=True, slots=True)
class ProfileSetResult:
    """The profile holds the given facts, durably. `replayed` tells that an earlier try of the request did it."""

    replayed: bool = False

    def to_tool_json(self) -> dict[str, Any]:
        """Return what the output schema of `ironclaw.memory.profile_set` says."""
        return {"status": "ok"}


TreeJson = str | dict[str, "list[TreeJson]"]
"""A document `"name"`, a folder that was not opened `"name/"`, or one that was `{"name/": [...]}`."""


def tree_to_json(entries: Iterable[TreeEntry]) -> list[TreeJson]:
    """Return what the output schema of `ironclaw.memory.tree` says, in the order of `entries`."""
    return [_entry_to_json(entry) for entry in entries]


def _entry_to_json(entry: TreeEntry) -> TreeJson:
    if not entry.is_folder:
        return entry.name
    name = f"{entry.name}/"
    return name if entry.children is None else {name: tree_to_json(entry.children)}
