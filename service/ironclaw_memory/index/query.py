"""What goes into the index's public face and what comes out: queries, answers, statistics, settings, and the source.

Values only. How an answer comes about is told in `search`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

import snowballstemmer

from ironclaw_memory.contract.document import DocumentStat, Metadata, StoredDocument
from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .analysis import MAX_QUERY_BYTES

MAX_RESULTS: Final = 100
"""What one search ranks at most; the tool's own limit is lower."""


class DocumentSource(Protocol):
    """Where documents come from: the store, seen by the index."""

    def list_documents(self, scope: Scope) -> Iterator[DocumentStat]:
        """Yield a stat of every document of `scope`, in any order."""

    def read_document(self, scope: Scope, path: DocumentPath) -> StoredDocument:
        """Return the document as it is now, or raise DocumentMissing or StorageUnavailable."""

    def effective_metadata(self, scope: Scope, path: DocumentPath) -> Metadata:
        """Return the document's metadata over what its folders give it."""

    def index_folder(self, scope: Scope) -> Path:
        """Return the folder that belongs to the index of `scope` alone; it exists."""


Indexed = Callable[[Scope, tuple[str, ...]], None]
"""Told of the paths whose entries in a scope's index are others now, after the commit; must not raise."""


def tell_nobody(_scope: Scope, _paths: tuple[str, ...]) -> None:
    """Listen to an index that nobody wants to hear of."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is asked.

    Attributes:
        text: any text; at most 4,096 bytes of UTF-8.
        limit: how many documents to return at most; clamped to 1 to 100.
        path_prefix: only documents whose path starts with it, letter case included; empty for all.
        min_score: leave out documents whose score, 1.0 for the best, is below it.
        exclude: paths to leave out, or folders when they end in `/`; letter case doesn't count.
        passage_bytes: how much of a document is shown around a passage at most; a passage itself has up to 448.
    """

    text: str
    limit: int = 5
    path_prefix: str = ""
    min_score: float = 0.0
    exclude: tuple[str, ...] = ()
    passage_bytes: int = 512

    def check(self) -> None:
        """Return when the query can be searched.

        Raises:
            InvalidArguments: the text is blank, over 4,096 bytes or no valid Unicode.
        """
        if len(self.text) > MAX_QUERY_BYTES or len(self.text.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
            raise InvalidArguments(f"The query is longer than {MAX_QUERY_BYTES} bytes.", field="query")
        if not self.text.strip():
            raise InvalidArguments("The query must not be blank.", field="query")
        if any("\ud800" <= character <= "\udfff" for character in self.text):
            raise InvalidArguments("The query isn't valid Unicode.", field="query")


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A passage that matched.

    Attributes:
        text: the passage with what is around it, as the file has it now; at most 512 bytes.
        score: 1.0 for the best passage of the answer; comparable between its documents.
        line: 1-based number of the first line shown, a repeated heading aside.
    """

    text: str
    score: float
    line: int


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document that matched.

    Attributes:
        path: which.
        score: 1.0 for the best document of the answer.
        content: a document of up to 8,192 bytes whole; of a longer one the matching passages in reading order.
        is_hybrid_match: whether two independent ways of searching agree on it.
        passages: best first.
    """

    path: DocumentPath
    score: float
    content: str
    is_hybrid_match: bool
    passages: tuple[PassageHit, ...]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What was found.

    Attributes:
        hits: best first, equal scores by path.
        documents_searched: how many documents could have been found, filters applied.
    """

    hits: tuple[SearchHit, ...]
    documents_searched: int


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What the index of a scope holds.

    Attributes:
        documents: how many documents can be found.
        bytes: their sizes added up.
        passages: how many passages they were cut into.
        age_seconds: since the index was last known to equal the files; infinite before the first time.
        problems: documents that can't be searched, and why.
        index_bytes: what the index takes on the disk.
    """

    documents: int
    bytes: int
    passages: int
    age_seconds: float
    problems: tuple[tuple[DocumentPath, str], ...]
    index_bytes: int


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How the index behaves; every default has its reason.

    Attributes:
        language: Snowball name of the language assumed for Latin text whose language doesn't show.
        fresh_seconds: a search trusts the last comparison with the files for so long. A hand edit has to be found
            within 2 s, and the comparison itself takes time.
        background_seconds: pause between two rounds of the background thread; 0 runs none (tests, tools).
        idle_seconds: a scope not searched for so long is no longer compared in the background.
        compare_ahead_seconds: nor is one whose comparison takes less than this, since a search hardly waits for it;
            going through all scopes that were searched lately, twice a second, would cost more than it saves.
        build_wait_seconds: how long a search waits for a missing index before it reads the files instead.
        scan_seconds: how long such a search reads files before it answers with what it found; also how long one
            indexes what many hand edits changed before it leaves the rest to the background.
        open_scopes: how many scopes keep their database open: each takes some 0.2 MiB and a few descriptors, opening
            it again 0.3 ms.
        semantic: whether a model of meaning takes part: `auto` when its package is installed, `on` or `off`.
    """

    language: str = "english"
    fresh_seconds: float = 1.5
    background_seconds: float = 0.5
    idle_seconds: float = 180.0
    compare_ahead_seconds: float = 0.005
    build_wait_seconds: float = 0.5
    scan_seconds: float = 2.0
    open_scopes: int = 64
    semantic: Literal["auto", "on", "off"] = "auto"

    def __post_init__(self) -> None:
        if self.semantic not in ("auto", "on", "off"):
            raise ValueError(f"semantic is auto, on or off, not {self.semantic!r}.")
        if self.language not in snowballstemmer.algorithms():
            raise ValueError(f"There is no stemmer for the language {self.language!r}.")
