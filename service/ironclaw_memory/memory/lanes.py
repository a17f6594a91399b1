"""What a turn reads of memory: the long-term lane and the short-term lane, as they stand in their documents.

The long-term lane is MEMORY.md, whatever the query, and then the best passages of the scope's other documents; the
short-term lane is the active thread's recorded turns. They are disjoint, and the search leaves out what doesn't belong
before it ranks. Nothing here is fit for a prompt yet: `context.py` sees to that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.events import ChangeEvent, ChangeKind
from ironclaw_memory.contract.faults import DocumentMissing, DocumentNotText, StorageUnavailable
from ironclaw_memory.contract.interaction import THREADS, thread_folder
from ironclaw_memory.contract.lanes import SNIPPET_BYTES, LaneQuery, LongTerm, Snippet
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.contract.target import RESERVED_PATHS, ReservedTarget
from ironclaw_memory.index.query import SearchAnswer, SearchQuery
from ironclaw_memory.memory.standing import HEAD_BYTES, StandingLines, pack_lines, read_lines

STANDING_PATH: Final = RESERVED_PATHS[ReservedTarget.MEMORY]
MAX_DOCUMENTS: Final = 20
"""Documents of which passages are taken at most: as many as the search tool shows; each is read anew to be shown."""
MIN_DOCUMENTS: Final = 5
"""What a search takes anyway; leaves a choice where the best passage is withheld from a prompt."""
SOURCE: Final = "memory_lifecycle_service.lanes"
_NOT_LONG_TERM: Final = (STANDING_PATH.text, f"{THREADS}/")


class HeadStore(Protocol):
    """What the lanes need of the store."""

    def read_head(self, scope: Scope, path: DocumentPath, max_bytes: int) -> tuple[bytes, int]:
        """See `store.documents.DocumentStore.read_head`."""


class PassageIndex(Protocol):
    """What the lanes need of the index."""

    def search(self, scope: Scope, query: SearchQuery) -> SearchAnswer:
        """See `index.search.SearchIndex.search`."""


class LaneReader:
    """Reads the lanes of one scope at a time.

    Args:
        store: reads the head of MEMORY.md.
        index: finds passages.
    """

    def __init__(self, store: HeadStore, index: PassageIndex) -> None:
        self._store = store
        self._index = index

    def read_long_term(self, call: Call, query: LaneQuery) -> LongTerm:
        """Return the chunks of MEMORY.md, then passages, at most `max_snippets` together.

        A MEMORY.md that is missing, can't be read or isn't text is no error.

        Raises:
            StorageUnavailable: the documents can't be searched.
        """
        if query.is_disabled:
            return LongTerm()
        try:
            lines = self.standing_lines(call)
        except (DocumentNotText, StorageUnavailable):
            lines = StandingLines()
        standing = pack_lines(lines, query.max_snippets)
        chunks = tuple(Snippet(STANDING_PATH.text, chunk) for chunk in standing.chunks)
        room = query.max_snippets - len(chunks)
        passages = self.long_term_passages(call, query, room)
        return LongTerm((*chunks, *passages[:room]), standing.omitted_lines)

    def read_short_term(self, call: Call, query: LaneQuery) -> tuple[Snippet, ...]:
        """Return passages of the active thread's recorded turns.

        Raises:
            StorageUnavailable: the documents can't be searched.
        """
        return () if query.is_disabled else self.short_term_passages(call, query)[: query.max_snippets]

    def standing_lines(self, call: Call) -> StandingLines:
        """Return the lines of MEMORY.md's head; none when there is no MEMORY.md.

        Raises:
            DocumentNotText: it isn't UTF-8.
            StorageUnavailable: it can't be read.
        """
        try:
            head, size_bytes = self._store.read_head(call.scope, STANDING_PATH, HEAD_BYTES)
            return read_lines(head, size_bytes)
        except DocumentMissing:
            return StandingLines()
        except UnicodeDecodeError:
            raise DocumentNotText("MEMORY.md isn't UTF-8 text.") from None

    def long_term_passages(
        self, call: Call, query: LaneQuery, most: int, size: int = SNIPPET_BYTES
    ) -> tuple[Snippet, ...]:
        """Return passages outside MEMORY.md and the recorded turns, best first.

        Args:
            call: whose memory.
            query: what is asked.
            most: how many shall be enough; there may be more.
            size: the most bytes of each.
        """
        return self._passages(call, SearchQuery(query.query, most, exclude=_NOT_LONG_TERM, passage_bytes=size))

    def short_term_passages(self, call: Call, query: LaneQuery, size: int = SNIPPET_BYTES) -> tuple[Snippet, ...]:
        """Return passages of the active thread's recorded turns, best first; none without a thread."""
        if call.thread_id is None:
            return ()
        folder = thread_folder(call.thread_id)
        return self._passages(call, SearchQuery(query.query, query.max_snippets, folder, passage_bytes=size))

    def _passages(self, call: Call, asked: SearchQuery) -> tuple[Snippet, ...]:
        """Return passages over all documents, best first: several of one where they are the best."""
        if asked.limit <= 0 or not asked.text.strip():
            return ()
        asked = replace(asked, limit=max(MIN_DOCUMENTS, min(asked.limit, MAX_DOCUMENTS)))
        hits = self._index.search(call.scope, asked).hits
        call.changes.note(ChangeEvent(ChangeKind.SEARCHED, SOURCE, documents=len(hits)))
        found = [(passage.score, Snippet(hit.path.text, passage.text)) for hit in hits for passage in hit.passages]
        # The sort is stable: of equal passages the better document's comes first.
        found.sort(key=lambda each: -each[0])
        return tuple(snippet for _, snippet in found)
