"""How much a scope holds, and how well it can be searched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index.search import IndexStats


class MeasuredStore(Protocol):
    """What the statistics need of the store."""

    def usage(self, scope: Scope) -> tuple[int, int]:
        """See `store.documents.DocumentStore.usage`."""


class MeasuredIndex(Protocol):
    """What the statistics need of the index."""

    def stats(self, scope: Scope) -> IndexStats:
        """See `index.search.SearchIndex.stats`."""


@dataclass(frozen=True, slots=True)
class ScopeStats:
    """A scope in numbers.

    Attributes:
        documents: how many documents there are.
        size_bytes: their sizes added up.
        indexed_documents: how many of them a search can find.
        passages: how many passages they were cut into.
        index_size_bytes: what the index takes on the disk.
        index_age_seconds: since the index was last known to equal the files; None before the first time.
        problems: documents that can't be searched, and why.
    """

    documents: int
    size_bytes: int
    indexed_documents: int
    passages: int
    index_size_bytes: int
    index_age_seconds: float | None
    problems: tuple[tuple[DocumentPath, str], ...]


class Statistician:
    """Describes one scope at a time."""

    def __init__(self, store: MeasuredStore, index: MeasuredIndex) -> None:
        self._store = store
        self._index = index

    def describe(self, call: Call) -> ScopeStats:
        """Return the scope's numbers.

        Raises:
            StorageUnavailable: the scope can't be read.
        """
        documents, size_bytes = self._store.usage(call.scope)
        index = self._index.stats(call.scope)
        return ScopeStats(
            documents=documents,
            size_bytes=size_bytes,
            indexed_documents=index.documents,
            passages=index.passages,
            index_size_bytes=index.index_bytes,
            index_age_seconds=index.age_seconds if math.isfinite(index.age_seconds) else None,
            problems=index.problems,
        )
