"""The index of one scope as searches see it: fresh before it answers, and right even while it is being built.

An answer comes about so: work off the pending changes; compare with the files if that was long ago; rank; read the
documents found, and where one isn't what was indexed, index it again and rank once more. So every text shown is in its
file at that moment, and a document that is gone takes no one's place. When there is no database, or it turns out to be
damaged, a new one is built in the background and the files themselves are searched meanwhile.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait

import structlog

from ironclaw_memory.contract.document import DocumentStat, StoredDocument
from ironclaw_memory.contract.faults import DocumentMissing, Fault
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .catalogue import INDEXED, SKIPPED
from .database import Database, DatabaseUnusable
from .excerpts import cut_excerpts, join_excerpts
from .filter import Filter, count_documents
from .folder import PENDING_BYTES, IndexFolder
from .meaning import MeaningModel
from .query import (
    MAX_RESULTS,
    DocumentSource,
    Indexed,
    IndexSettings,
    IndexStats,
    PassageHit,
    SearchAnswer,
    SearchHit,
    SearchQuery,
    tell_nobody,
)
from .ranking import RankedDocument, rank_documents
from .scan import scan_documents
from .upkeep import Upkeep

SHOWN_PASSAGES = 8
"""Passages shown of one document at most: they fill half of what its `content` may take."""

_COMPARE_REST = 2
"""Between two comparisons pass so many times what one takes: they shall not keep the interpreter from the calls."""

_log = structlog.get_logger(__name__)

Found = list[tuple[RankedDocument, StoredDocument]]


class ScopeIndex:
    """One scope's index. Threads may share it; a forked child must not."""

    def __init__(
        self,
        source: DocumentSource,
        scope: Scope,
        settings: IndexSettings,
        monotonic: Callable[[], float],
        start_build: Callable[[ScopeIndex], Future[None] | None],
        indexed: Indexed = tell_nobody,
        model: MeaningModel | None = None,
    ) -> None:
        self.used_at = float("-inf")
        self._source = source
        self._scope = scope
        self._settings = settings
        self._monotonic = monotonic
        self._start_build = start_build
        self._model = model
        self._folder = IndexFolder(str(source.index_folder(scope)), model.name if model else "")
        self._upkeep = Upkeep(source, scope, self._folder, settings.language, indexed, model)
        self._build: Future[None] | None = None
        self._compared_at = float("-inf")
        self._comparing = threading.Lock()

    def note_changed(self, path: DocumentPath) -> None:
        """Remember that the document at `path` changed; every later search in any process will know.

        Should the list of changes not take it, the next search of this process compares everything.
        """
        try:
            self._folder.append_pending(path.text)
        except FileNotFoundError:
            self._source.index_folder(self._scope)
            self._folder.append_pending(path.text)

    def distrust(self) -> None:
        """Make the next search compare everything with the files."""
        self._compared_at = float("-inf")

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Answer `query` from the index, or from the files while there is none.

        Raises:
            StorageUnavailable: the documents can't be read.
        """
        self.used_at = self._monotonic()
        chosen = Filter(query.path_prefix, query.exclude)
        limit = max(1, min(query.limit, MAX_RESULTS))
        for _ in range(2):  # the second time when the database was replaced or rebuilt meanwhile
            try:
                if (database := self._database()) is None:
                    break
                return self._search_database(database, query, chosen, limit)
            except DatabaseUnusable as error:
                self._give_up(error)
            except OSError as error:
                _log.warning("index_unavailable", error=type(error).__name__)
        return self._search_files(query, chosen, limit)

    def _database(self) -> Database | None:
        """Return the database, waiting a little for one that is being built."""
        database = self._folder.current()
        if database is None:
            self._source.index_folder(self._scope)
            self._order_build()
            if self._build is not None:
                wait([self._build], self._settings.build_wait_seconds)
            database = self._folder.current()
        return database

    def _order_build(self) -> None:
        if self._build is None or self._build.done():
            self._build = self._start_build(self)

    def build(self, stop: threading.Event) -> None:
        """Build the database if it is missing; run by the background."""
        try:
            self._upkeep.build(stop)
        except (OSError, sqlite3.Error, Fault) as error:
            _log.warning("index_build_failed", error=type(error).__name__)

    def freshen(self, database: Database, *, older_than: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Work off pending changes, then compare with the files unless that was done within `older_than` seconds."""
        self._upkeep.drain(database)
        if self._is_compared(older_than):
            return
        with self._comparing:
            if self._is_compared(older_than):
                return
            started = self._monotonic()
            if self._upkeep.reconcile(database, stop):
                self._compared_at = started
                self._folder.note_compared(started)

    def _trusted_seconds(self) -> float:
        """Return for how long a comparison is trusted: longer in a scope so large that one takes half a second."""
        return max(self._settings.fresh_seconds, (1 + _COMPARE_REST) * self._upkeep.compare_seconds)

    def _is_compared(self, within: float) -> bool:
        """Tell whether this process, or after its own first time another one, compared within so many seconds."""
        now = self._monotonic()
        if now - self._compared_at < within:
            return True
        if self._compared_at == float("-inf"):
            return False
        others = self._folder.compared_at()
        if 0 <= now - others < within:
            self._compared_at = others
            return True
        return False

    def keep_up(self, searched_since: float, stop: Callable[[], bool]) -> None:
        """Do ahead what a search would have to do first; run by the background.

        The files are compared only where someone searched lately and would wait for it; changes, of other processes
        too, are worked off where so many are noted that a search would have to wait for them.
        """
        is_long = self._upkeep.compare_seconds >= self._settings.compare_ahead_seconds
        compares = is_long and self.used_at > searched_since
        if not compares and self._folder.pending_position()[1] < PENDING_BYTES:
            return
        if (database := self._folder.current()) is None:
            return
        try:
            if compares:
                ahead = max(self._settings.fresh_seconds / 2, _COMPARE_REST * self._upkeep.compare_seconds)
                self.freshen(database, older_than=ahead, stop=stop)
            else:
                self._upkeep.drain(database)
        except DatabaseUnusable as error:
            self._give_up(error)

    def work_off(self) -> None:
        """Index what changed, where there is an index; run by the background."""
        if (database := self._folder.current()) is None:
            return
        try:
            self._upkeep.drain(database)
        except DatabaseUnusable as error:
            self._give_up(error)

    def tidy(self, is_quiet: bool) -> None:
        """Keep the journal small and, when it is quiet, let it go and bring the lists of terms up to date.

        Run by the background.
        """
        database = self._folder.current()
        if database is None or not database.is_active():
            return
        try:
            if is_quiet:
                self._upkeep.merge(database)
                database.come_to_rest()
            database.checkpoint()
        except DatabaseUnusable as error:
            self._give_up(error)

    def _search_database(self, database: Database, query: SearchQuery, chosen: Filter, limit: int) -> SearchAnswer:
        deadline = time.monotonic() + self._settings.scan_seconds
        self.freshen(database, older_than=self._trusted_seconds(), stop=lambda: time.monotonic() > deadline)

        def look(connection: sqlite3.Connection) -> tuple[list[RankedDocument], int]:
            ranked = rank_documents(connection, query.text, chosen, limit, self._model)
            return ranked, count_documents(connection, chosen)

        for is_last in (False, True):
            ranked, searched = database.read(look)
            found, stale = self._read(ranked)
            if not stale or is_last:
                break
            self._upkeep.refresh(database, stale)
        return _answer(found, searched, query)

    def _search_files(self, query: SearchQuery, chosen: Filter, limit: int) -> SearchAnswer:
        settings = self._settings
        ranked, read = scan_documents(
            self._source, self._scope, query.text, chosen, limit, settings.language, settings.scan_seconds
        )
        return _answer(self._read(ranked)[0], read, query)

    def _read(self, ranked: list[RankedDocument]) -> tuple[Found, dict[str, DocumentStat | None]]:
        """Return the documents that are what was ranked, and the paths of those that aren't."""
        found: Found = []
        stale: dict[str, DocumentStat | None] = {}
        for document in ranked:
            try:
                stored = self._source.read_document(self._scope, DocumentPath(document.path))
            except DocumentMissing:
                stale[document.path] = None
                continue
            if stored.sha256 == document.sha256:
                found.append((document, stored))
            else:
                stale[document.path] = None
        return found, stale

    def _give_up(self, error: DatabaseUnusable) -> None:
        _log.warning("index_damaged", error=str(error))
        self._folder.discard(error.file)
        self.distrust()
        self._order_build()

    def stats(self) -> IndexStats:
        """Return what the index holds, after bringing it up to date."""
        for _ in range(2):  # the second time with an index that was built anew
            try:
                if (database := self._database()) is not None:
                    self.freshen(database, older_than=self._settings.fresh_seconds)
                    return self._count(database)
            except DatabaseUnusable as error:
                self._give_up(error)
            except OSError as error:
                _log.warning("index_unavailable", error=type(error).__name__)
        sizes = [stat.size_bytes for stat in self._source.list_documents(self._scope)]
        return IndexStats(len(sizes), sum(sizes), 0, float("inf"), (), self._folder.size_bytes())

    def _count(self, database: Database) -> IndexStats:
        documents, size, passages, bad = database.read(_read_counts)
        problems = tuple((DocumentPath(path), state) for path, state in bad)
        age = self._monotonic() - self._compared_at
        return IndexStats(documents, size, passages, age, problems, self._folder.size_bytes())

    def erase(self) -> None:
        """Delete the index's files."""
        self._folder.erase()
        self.distrust()

    def close(self) -> None:
        """Close the database's connections."""
        self._folder.close()


def _read_counts(connection: sqlite3.Connection) -> tuple[int, int, int, list[tuple[str, str]]]:
    """Return documents, their bytes, passages, and the documents that can't be searched with their states."""
    counts = connection.execute("SELECT documents, bytes, passages FROM totals").fetchone()
    bad = connection.execute(
        "SELECT path, state FROM documents WHERE state NOT IN (?, ?) ORDER BY path", (INDEXED, SKIPPED)
    )
    return *counts, bad.fetchall()


def _answer(found: Found, searched: int, query: SearchQuery) -> SearchAnswer:
    """Return the answer with scores in relation to the best, without what is below `min_score`."""
    if not found:
        return SearchAnswer((), searched)
    best_document = found[0][0].score
    best_passage = max(document.passages[0].score for document, _ in found)
    kept = ((document, stored) for document, stored in found if document.score / best_document >= query.min_score)
    return SearchAnswer(tuple(_hit(*each, best_document, best_passage, query.passage_bytes) for each in kept), searched)


def _hit(
    document: RankedDocument, stored: StoredDocument, best_document: float, best_passage: float, size: int
) -> SearchHit:
    excerpts = cut_excerpts(stored.content, document.passages, SHOWN_PASSAGES, size)
    return SearchHit(
        path=DocumentPath(document.path),
        score=document.score / best_document,
        content=join_excerpts(stored.content, (excerpt for excerpt, _ in excerpts)),
        is_hybrid_match=document.is_agreed,
        passages=tuple(
            PassageHit(excerpt.standing_alone(size), score / best_passage, excerpt.line) for excerpt, score in excerpts
        ),
    )
