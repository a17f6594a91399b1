"""Keeps the index of one scope equal to its documents: works off pending changes, compares with the files, builds anew.

What happens to a document is decided here and done by `catalogue`; when it happens is decided by `search`. The rules:

1. A document is read after its stat was taken. What changes in between makes the next comparison read it again.
2. A file modified within the last two seconds is indexed but not trusted (`UNSETTLED`): file times tick in
   milliseconds, so a second edit of equal length could leave the same stat. A later edit that forges size, time and
   inode can't be seen by comparing; a search notices it when it reads the file to show it.
3. A document missing from a listing is looked for once more before it is forgotten: it may have been made after the
   listing passed its folder.
4. One bad document never stops the others: its state says what is wrong with it, and `stats` tells.
5. Work is cut into transactions of about `BATCH_SECONDS`, so that nobody waits long for the lock.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from ironclaw_memory.contract.document import DocumentStat
from ironclaw_memory.contract.faults import DocumentMissing, Fault, InvalidPath
from ironclaw_memory.contract.path import DocumentPath, parse_document_path
from ironclaw_memory.contract.scope import Scope

from .catalogue import INDEXED, SKIPPED, UNSETTLED, Catalogue, Entry, known_stats
from .database import Database, DatabaseBusy
from .dates import day_number
from .folder import IndexFolder
from .inverted import BULK_PASSAGES, read_totals
from .meaning import MeaningModel
from .query import DocumentSource, Indexed, tell_nobody
from .tables import create, finish

BATCH_SECONDS: Final = 0.05
LOCK_SECONDS: Final = 2.0
SETTLING_NS: Final = 2_000_000_000
FOLDER_SETTINGS: Final = ".config"
NOT_TEXT: Final = "not UTF-8 text"

_log = structlog.get_logger(__name__)


class Upkeep:
    """Upkeep of one scope's index.

    Attributes:
        compare_seconds: CPU that the last comparison with the files took, without the indexing that followed.
    """

    def __init__(
        self,
        source: DocumentSource,
        scope: Scope,
        folder: IndexFolder,
        language: str,
        indexed: Indexed = tell_nobody,
        model: MeaningModel | None = None,
    ) -> None:
        self._source = source
        self._scope = scope
        self._folder = folder
        self._language = language
        self._indexed = indexed
        self._model = model
        self.compare_seconds = 0.0
        self._worked_off: tuple[str, tuple[int, int]] | None = None

    def drain(self, database: Database) -> None:
        """Index every change noted so far.

        Raises:
            DatabaseBusy: the lock couldn't be had in time, or `database` is no longer the current one.
        """
        position = self._folder.pending_position()
        if self._worked_off == (database.file, position):
            return
        if database.read(_worked_off) == position:
            self._worked_off = (database.file, position)
            return
        with self._folder.locked("write.lock", LOCK_SECONDS) as held:
            if not held or self._folder.current() is not database:
                raise DatabaseBusy
            self._drain_locked(database)

    def _drain_locked(self, database: Database) -> None:
        paths, reached = self._folder.read_pending(database.read(_worked_off))
        if paths:
            self._refresh_locked(database, self._with_folders(database, dict.fromkeys(paths)), reached)
        if late := self._folder.restart_pending(reached):
            self._refresh_locked(database, self._with_folders(database, dict.fromkeys(late)), None)
        self._worked_off = (database.file, reached)

    def merge(self, database: Database) -> None:
        """Bring the lists of terms up to date, which spares every search some work; nobody waits for this."""
        if not database.read(_unmerged):
            return
        with self._folder.locked("write.lock", 0.0) as held:
            if held and self._folder.current() is database:
                with database.writing() as connection:
                    catalogue = Catalogue(connection, self._language, self._model)
                    catalogue.merge()
                    catalogue.save_totals()

    def reconcile(self, database: Database, stop: Callable[[], bool] = lambda: False) -> bool:
        """Compare the index with the files and index what differs; return False when it was cut short."""
        changed = self._differences(database)
        return not changed or self.refresh(database, changed, stop)

    def refresh(
        self, database: Database, paths: dict[str, DocumentStat | None], stop: Callable[[], bool] = lambda: False
    ) -> bool:
        """Index the documents at `paths` again; return False when it was cut short."""
        left = list(self._with_folders(database, paths).items())
        while left and not stop():
            with self._folder.locked("write.lock", LOCK_SECONDS) as held:
                if not held or self._folder.current() is not database:
                    return False
                left = left[self._refresh_locked(database, dict(left), None, BATCH_SECONDS) :]
        return not left

    def _refresh_locked(
        self,
        database: Database,
        paths: dict[str, DocumentStat | None],
        reached: tuple[int, int] | None,
        seconds: float = float("inf"),
    ) -> int:
        """Index documents in one transaction until `seconds` have passed; return how many."""
        deadline = time.monotonic() + seconds
        count, changed = 0, []
        with database.writing() as connection:
            catalogue = Catalogue(connection, self._language, self._model)
            for text, stat in paths.items():
                if self._refresh_document(catalogue, text, stat):
                    changed.append(text)
                count += 1
                if time.monotonic() > deadline:
                    break
            catalogue.save_totals(reached)
        if changed:
            self._indexed(self._scope, tuple(changed))
        return count

    def _with_folders(
        self, database: Database, paths: dict[str, DocumentStat | None]
    ) -> dict[str, DocumentStat | None]:
        """Return `paths` and, for each changed `.config`, what it may have let in or shut out."""
        settings = [p for p, stat in paths.items() if stat is None and p.rpartition("/")[2] == FOLDER_SETTINGS]
        if not settings:
            return paths
        affected = dict(paths)
        names = list(database.read(known_stats))
        names += [stat.path.text for stat in self._source.list_documents(self._scope)]
        for path in settings:
            folder = path.rpartition("/")[0]
            below = f"{folder}/" if folder else ""
            affected |= {name: None for name in names if name.startswith(below) and name not in affected}
        return affected

    def _refresh_document(self, catalogue: Catalogue, text: str, stat: DocumentStat | None) -> bool:
        """Bring one entry up to date; return whether it is another now."""
        try:
            path = parse_document_path(text)
        except InvalidPath:  # a line of the pending list that was torn by a full disk
            return False
        known = catalogue.entry(text)
        try:
            return self._index_document(catalogue, path, stat, known)
        except DocumentMissing:
            catalogue.remove(text)
            return known is not None
        except Fault as fault:
            catalogue.put_aside(text, f"unreadable: {fault.reason}", "", (0, UNSETTLED, 0))
        except sqlite3.Error:
            raise
        except Exception as error:  # rule 4: a mistake of ours in one text must not take search away from the others
            _log.exception("index_document_failed")
            catalogue.put_aside(text, f"analysis failed: {type(error).__name__}", "", _trusted(stat, 0))
        return True

    def _index_document(
        self, catalogue: Catalogue, path: DocumentPath, stat: DocumentStat | None, known: Entry | None
    ) -> bool:
        document = self._source.read_document(self._scope, path)
        seen = _trusted(stat, len(document.content))
        skip = bool(self._source.effective_metadata(self._scope, path).get("skip_indexing"))
        state = SKIPPED if skip else INDEXED if _is_text(document.content) else NOT_TEXT
        if known is not None and (known.sha256, known.state) == (document.sha256, state):
            catalogue.touch(known, seen)
            return False
        if state == INDEXED:
            day = day_number(path.text) or document.updated_at.date().toordinal()
            catalogue.put(path.text, document.content, document.sha256, seen, day, known)
        else:
            catalogue.put_aside(path.text, state, document.sha256, seen)
        return True

    def _differences(self, database: Database) -> dict[str, DocumentStat | None]:
        began = time.thread_time()
        known = database.read(known_stats)
        changed: dict[str, DocumentStat | None] = {}
        for stat in self._source.list_documents(self._scope):
            if known.pop(stat.path.text, None) != (stat.size_bytes, stat.modified_ns, stat.inode):
                changed[stat.path.text] = stat
        self.compare_seconds = time.thread_time() - began
        return changed | dict.fromkeys(known)

    def build(self, stop: threading.Event) -> None:
        """Build the index from the files into a new database and put it in use, unless another process is at it."""
        with self._folder.locked("build.lock", 0.0) as held:
            if not held or self._folder.current() is not None:
                return
            self._folder.sweep()
            start = time.monotonic()
            position = self._folder.pending_position()
            file = self._folder.new_name()
            documents = self._fill(file, position, stop)
            if stop.is_set():
                return
            with self._folder.locked("write.lock", LOCK_SECONDS):
                self._folder.publish(file)
            self._indexed(self._scope, documents)
            _log.info("index_built", documents=len(documents), seconds=round(time.monotonic() - start, 3))

    def _fill(self, file: str, position: tuple[int, int], stop: threading.Event) -> tuple[str, ...]:
        connection = create(file, self._model.name if self._model else "")
        documents = []
        try:
            connection.execute("BEGIN")
            catalogue = Catalogue(connection, self._language, self._model)
            for stat in _until(stop, self._source.list_documents(self._scope)):
                self._refresh_document(catalogue, stat.path.text, stat)
                catalogue.merge(BULK_PASSAGES)
                documents.append(stat.path.text)
            catalogue.merge()
            catalogue.save_totals(position)
            connection.execute("COMMIT")
        finally:
            finish(connection, file)
        return tuple(documents)


def _worked_off(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the position up to which the list of pending changes is in the index."""
    inode, offset = connection.execute("SELECT pending_inode, pending_offset FROM totals").fetchone()
    return inode, offset


def _unmerged(connection: sqlite3.Connection) -> bool:
    totals = read_totals(connection)
    return totals.merged < totals.next_passage or totals.gone > 0


def _trusted(stat: DocumentStat | None, size: int) -> tuple[int, int, int]:
    """Return size, modification time and inode to remember, without the time where it proves nothing yet."""
    if stat is None:
        return size, UNSETTLED, 0
    settled = time.time_ns() - stat.modified_ns > SETTLING_NS
    return stat.size_bytes, stat.modified_ns if settled else UNSETTLED, stat.inode


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _until(stop: threading.Event, stats: Iterable[DocumentStat]) -> Iterable[DocumentStat]:
    for stat in stats:
        if stop.is_set():
            return
        yield stat
