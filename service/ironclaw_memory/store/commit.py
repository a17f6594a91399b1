"""The write path: how a change becomes durable, whole, and done once. The hard part of the store; read it slowly.

A document is a plain file, and every change of one goes through `WritePath.change`. These are its rules, each with the
failure that it prevents:

 1. *Never write into a document's file.* The new bytes go to a temporary in the same folder, which then takes the
    document's name. A reader, a person's `grep` or a crash sees the old bytes or the new ones, never a part.
 2. *Flush the file before the rename.* Else a power cut can leave the new name with none of the bytes.
 3. *Flush the folder after the rename, and acknowledge only then.* Else a power cut takes the rename back: of 40 cuts
    on ext4 without this, 15 lost a write that had been acknowledged; with it, none.
 4. *Flush every folder up to `documents/` when the document is new.* A flushed file in a folder whose own name is lost
    is lost too. All of them, not only those made by this call: another writer may have made one and died before its
    flush. Flushing a clean folder costs some 30 microseconds.
 5. *Decide under the lock, on bytes read under the lock.* Else two appends, in two threads or two processes, start
    from the same bytes and one of them vanishes although both were acknowledged.
 6. *Look once more before the rename.* People edit these files without our lock. When the file's inode, size or time
    isn't what was read, everything is undone and decided again, at most 8 times. What remains is an edit saved in the
    microseconds between that look and the rename.
 7. *Keep the old content first.* The version is flushed before the rename, so that no crash replaces a content that
    the history lacks. A crash in between leaves a version that equals the document; the next writer recognises it by
    hash and time and uses it.
 8. *Note the request id first.* The journal's `open` line names the hashes before and after and is flushed before the
    rename; the `done` line after it isn't flushed. A retry after a crash finds one, the other, or a line without a
    verdict, and then compares hashes. The verdict is reached by the next writer of the document, whoever it is, so
    that the evidence can't be overwritten.
 9. *Metadata follows the document's commit point.* See `metadata.py`: `pending` counts with the new hash only.
10. *Three outcomes.* Failed before the rename: undone, and the fault says that nothing was changed. Renamed and
    flushed: acknowledged, whatever fails afterwards, because the rest is derived or settled later. Renamed, but the
    folder's flush failed: `OutcomeUnknown`; not undone and not flushed again, since the kernel reports a second flush
    as successful even though the data is gone. The next write of the document writes its bytes anew.
11. *No stale success.* "The document has these bytes already" is acknowledged only after a flush, because the writer
    that put them there may have died before its own.
12. *The deadline is looked at last.* After the flushes, before the rename: a caller that has given up must not find
    its write done, and one whose write is done must not be told that it was too late.

All writes come first and the flushes after them: the first flush then carries most of the others along (one journal
transaction on ext4), which saves about an eighth of a write. A write of 2 KB takes some 0.7 ms on the disk where the
bare loop (temporary, flush, rename, flush) takes 0.33; the version's flush is 0.1 of it and a request id's another 0.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Literal

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import Committed, Decide, RequestKey
from ironclaw_memory.contract.faults import (
    CasExhausted,
    OutcomeUnknown,
    StorageUnavailable,
)
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .attempt import Attempt, Place, WriteTools
from .folders import write_anew_locked
from .health import FolderGone, Interfered, fault_of
from .layout import document_names, log_name, path_digest
from .locks import ScopeLocks
from .requests import RequestEntry, request_digest
from .scopes import ScopeFolders
from .sight import look
from .versions import (
    list_versions,
)

MAX_TRIES: Final = 8
"""How often a change is decided anew when someone edits the document by hand meanwhile (contract 2.1)."""


class WritePath:
    """Changes documents. One for a data directory and process; safe for threads, and for other processes beside it.

    Args:
        scopes: opens scope folders.
        tools: what every change shares.
    """

    def __init__(self, scopes: ScopeFolders, tools: WriteTools) -> None:
        self._scopes = scopes
        self._tools = tools
        self.locks = ScopeLocks()

    def change(
        self, scope: Scope, path: DocumentPath, decide: Decide, deadline: Deadline, request: RequestKey | None
    ) -> Committed:
        """Change a document; see `DocumentStore.change_document`."""
        with self.watched():
            for _ in range(MAX_TRIES):
                try:
                    folder = self._scopes.open_or_create(scope)
                    return self._change_in(Place(scope, folder, path), decide, deadline, request)
                except FolderGone:
                    self._scopes.forget(scope)
            raise StorageUnavailable

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Turn what the file system refuses into faults, and remember what concerns every write."""
        try:
            yield
        except OSError as error:
            self._tools.health.note_failure(error)
            raise fault_of(error) from error

    def _change_in(self, place: Place, decide: Decide, deadline: Deadline, request: RequestKey | None) -> Committed:
        if request is None:
            return self._decide_and_commit(place, decide, deadline, None)
        folder = place.folder
        with self.locks.hold_request(folder.locks, folder.key, request_digest(request), deadline):
            done = self._replay(place, deadline, request)
            return done or self._decide_and_commit(place, decide, deadline, request)

    def _replay(self, place: Place, deadline: Deadline, request: RequestKey) -> Committed | None:
        """Return what the first try of a request did; None when it did nothing. Holds the request's lock."""
        entry = self._tools.journal.find(place.scope, place.folder, request)
        if entry is not None and entry.state == "open":
            # The path of then: a daily log that is written again after midnight goes to another document.
            with self._hold(replace(place, path=entry.path), deadline):
                self._settle_locked(replace(place, path=entry.path))
            entry = self._tools.journal.find(place.scope, place.folder, request)
        if entry is None:
            return None
        if entry.state == "lost":
            raise OutcomeUnknown
        return entry.committed

    @contextmanager
    def _hold(self, place: Place, deadline: Deadline) -> Iterator[None]:
        folder = place.folder
        with self.locks.hold_document(folder.locks, folder.key, path_digest(place.path), deadline):
            yield

    def _decide_and_commit(
        self, place: Place, decide: Decide, deadline: Deadline, request: RequestKey | None
    ) -> Committed:
        with self._hold(place, deadline):
            self._settle_locked(place)
            for _ in range(MAX_TRIES):
                try:
                    return Attempt(self._tools, place, deadline, request).run_locked(decide)
                except Interfered:
                    continue
        raise CasExhausted(MAX_TRIES)

    def _settle_locked(self, place: Place) -> None:
        """Reach a verdict on every change of this document that a dead writer left open (rule 8)."""
        waiting = self._tools.journal.open_on(place.scope, place.folder, place.path)
        for index, entry in enumerate(waiting):
            verdict = self._verdict_locked(place, entry, waiting[index + 1 :])
            self._tools.journal.close(place.scope, place.folder, entry, verdict)

    def _verdict_locked(
        self, place: Place, entry: RequestEntry, later: list[RequestEntry]
    ) -> Literal["done", "void", "lost"]:
        sight = look(place.folder, place.path)
        sight.close()
        if sight.before.sha256 == entry.after:
            write_anew_locked(place.folder.documents, document_names(place.path), sight.before.content)
            return "done"
        if any(each.before == entry.after for each in later):
            return "done"
        kept = list_versions(place.folder.history, log_name(place.path), None)
        if any(each.version > entry.version and each.sha256 == entry.after for each in kept):
            return "done"
        return "void" if sight.before.sha256 == entry.before else "lost"
