"""One try of one change: what is written in which order, and how it is undone. The reasons are in `commit.py`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Literal

import structlog

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import Committed, Decide, Metadata, RequestKey, VersionReason
from ironclaw_memory.contract.faults import (
    DocumentTooLarge,
    Fault,
    OutcomeUnknown,
    PathConflict,
)
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .files import Temporary, close_all, flush, make_folders, remove_file
from .folders import remove_empty_folders, write_anew_locked
from .health import FolderGone, Interfered, StorageHealth
from .history import PendingVersion, Replaced, VersionLimits
from .layout import document_names, log_name
from .metadata import Sidecar, keep_sidecar
from .requests import JournalLine, RequestEntry, RequestJournal, request_digest
from .scopes import ScopeFolder
from .sight import check_spelling, look
from .tenant_usage import TenantUsage
from .usage import Room
from .walk import count_documents

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """What a change may not exceed.

    Attributes:
        document_bytes: size of the resulting document.
        scope: documents and bytes of the scope.
        versions: how much history a document keeps.
    """

    document_bytes: int
    scope: tuple[int, int]
    versions: VersionLimits


@dataclass(frozen=True, slots=True)
class WriteTools:
    """What every change of a data directory shares.

    Attributes:
        limits: what a change may not exceed.
        tenants: what their scopes may hold together.
        journal: remembers request ids.
        health: remembers why writes fail.
        now: the wall clock.
        ignores_case: whether the file system takes `A` and `a` for the same name.
        doubtful: documents that were renamed in this process and whose folder's flush failed (rule 10).
    """

    limits: WriteLimits
    tenants: TenantUsage
    journal: RequestJournal
    health: StorageHealth
    now: Callable[[], datetime]
    ignores_case: bool
    doubtful: set[tuple[Scope, DocumentPath]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Place:
    """Which document a change is about, in an open scope."""

    scope: Scope
    folder: ScopeFolder
    path: DocumentPath


class Attempt:
    """One try of a change, under the document's lock. What it does before the commit point is undone when it fails."""

    def __init__(self, tools: WriteTools, place: Place, deadline: Deadline, request: RequestKey | None) -> None:
        self._tools = tools
        self._place = place
        self._folder = place.folder
        self._deadline = deadline
        self._request = request
        self._names = document_names(place.path)
        self._at = tools.now()
        self._line: JournalLine | None = None

    def run_locked(self, decide: Decide) -> Committed:
        """Look, decide, commit.

        Raises:
            Interfered: someone edited the document by hand meanwhile; nothing was changed.
            FolderGone: a folder was removed meanwhile; nothing was changed.
            OSError: the file system refused; nothing was changed.
            Fault: as `DocumentStore.change_document`, and whatever `decide` raises.
        """
        if self._tools.ignores_case:
            check_spelling(self._folder.documents, self._names)
        self._sight = look(self._folder, self._place.path)
        try:
            self._before = self._sight.before
            self._change = decide(self._before)
            committed = self._commit_locked()
        finally:
            self._sight.close()
        self._tools.health.note_success()
        return committed

    def _commit_locked(self) -> Committed:
        content = self._change.content
        if content != self._before.content:
            return self._delete() if content is None else self._replace(content)
        if content is None:
            return self._purge_nothing()
        return self._leave_content(content)

    # Replacing or creating a document

    def _replace(self, content: bytes) -> Committed:
        if len(content) > self._tools.limits.document_bytes:
            raise DocumentTooLarge(len(content), self._tools.limits.document_bytes)
        with ExitStack() as held, ExitStack() as undo:
            self._check_name(self._sight.parent)
            more = (int(self._before.content is None), len(content) - len(self._before.content or b""))
            self._take_room(more, held, undo)
            chain = self._open_folders(held, undo)
            sha256 = self._sight.hash_of(content)
            version = self._keep_version("replaced", undo)
            line = self._begin(self._committed(sha256, len(content), version), held, undo)
            self._announce_metadata(sha256)
            temporary = Temporary(chain[-1], content)
            undo.callback(temporary.discard)
            self._flush(version, line)
            self._look_again(chain[-1])
            temporary.place(self._names[-1])
            undo.pop_all()  # the commit point: from here on nothing is undone
            temporary.close()
            with self._in_doubt():
                for folder in reversed(chain):
                    flush(folder)
            self._finish(self._settle_metadata, self._close_request, self._trim_versions)
        return self._committed(sha256, len(content), version)

    def _check_name(self, parent: int | None) -> None:
        """Refuse a name that a folder, a link or a device has."""
        if parent is None or self._sight.found is not None:
            return
        with suppress(FileNotFoundError):
            found = os.stat(self._names[-1], dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                raise PathConflict("Something that is not a document has this name.")

    def _take_room(self, more: tuple[int, int], held: ExitStack, undo: ExitStack) -> None:
        if more == (0, 0):  # the tally stays as it is, and so does what a count finds
            return
        documents = self._folder.documents
        limits = self._tools.limits.scope
        room = Room(self._folder.root, self._folder.locks, limits, lambda: count_documents(documents))
        held.callback(room.close)
        less = (-more[0], -more[1])
        takers = (room.take, partial(self._tools.tenants.take, self._place.scope))
        for take in takers if max(more) > 0 else reversed(takers):  # the tenant's is never the lower: `tenant_usage`
            take(more)
            undo.callback(self._quietly, partial(take, less))

    def _open_folders(self, held: ExitStack, undo: ExitStack) -> list[int]:
        """Return the folders to flush, the document's own last (rule 4)."""
        if self._sight.found is not None and self._sight.parent is not None:
            return [self._sight.parent]
        undo.callback(remove_empty_folders, self._folder.documents, self._names[:-1])
        chain = make_folders(self._folder.documents, self._names[:-1])
        held.callback(close_all, chain)
        return chain

    def _keep_version(self, reason: VersionReason, undo: ExitStack) -> PendingVersion | None:
        content, found = self._before.content, self._sight.found
        if not content or found is None or not self._change.keep_version or self._change.purge_versions:
            return None
        replaced = Replaced(
            self._place.path.text,
            content,
            self._sight.hashed.digest(),
            found.st_mtime_ns,
            reason,
            self._at,
            self._change.source_class,
        )
        version = self._sight.history.append_locked(replaced)
        undo.callback(version.take_back)
        return version

    def _committed(self, sha256: str, size: int, version: PendingVersion | None) -> Committed:
        number = version.version if version else self._before.version
        return Committed(sha256, size, number, self._change.result)

    def _begin(self, committed: Committed, held: ExitStack, undo: ExitStack) -> JournalLine | None:
        """Note that a change under a request id is about to be committed."""
        if self._request is None:
            return None
        entry = self._new_entry(self._request, "open", committed)
        self._line = line = self._tools.journal.begin(self._place.scope, self._folder, entry)
        held.callback(line.close)
        undo.callback(self._quietly, lambda: line.add_verdict("void"))
        return line

    def _new_entry(self, request: RequestKey, state: Literal["open", "made"], committed: Committed) -> RequestEntry:
        return RequestEntry(
            digest=request_digest(request),
            state=state,
            fingerprint=request.fingerprint,
            path=self._place.path,
            before=self._before.sha256,
            after=committed.sha256,
            version=committed.version,
            committed=committed,
            at=self._at,
        )

    def _announce_metadata(self, sha256: str) -> None:
        """Make sure that the metadata that shall hold does so from the commit point on (rule 9)."""
        wanted = self._wanted_metadata()
        if dict(self._sight.sidecar.resolve(lambda: sha256)) != dict(wanted):
            pending = Sidecar(self._before.own_metadata, sha256, wanted)
            keep_sidecar(self._folder.metadata, self._place.path, pending)
            self._sight.sidecar = pending

    def _wanted_metadata(self) -> Metadata:
        return self._before.own_metadata if self._change.metadata is None else self._change.metadata

    @staticmethod
    def _flush(version: PendingVersion | None, line: JournalLine | None) -> None:
        if version is not None:
            version.flush()
        if line is not None:
            line.flush()

    def _look_again(self, parent: int) -> None:
        """Return when there is still time and the document is still what was read (rules 6 and 12)."""
        try:
            now = os.stat(self._names[-1], dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            now = None
        if _trace(now) != _trace(self._sight.found):
            self._check_name(parent)
            raise Interfered
        self._deadline.check()

    @contextmanager
    def _in_doubt(self) -> Iterator[None]:
        """After the commit point: a failure can't be undone, and says so (rule 10)."""
        key = (self._place.scope, self._place.path)
        try:
            yield
        except OSError as error:
            self._tools.health.note_failure(error)
            self._tools.doubtful.add(key)
            raise OutcomeUnknown from error
        self._tools.doubtful.discard(key)

    # After the commit point

    def _finish(self, *steps: Callable[[], None]) -> None:
        for step in steps:
            self._quietly(step)

    def _quietly(self, step: Callable[[], None]) -> None:
        """Do what a failure of must not fail the call: it is derived, or settled by a later change."""
        try:
            step()
        except OSError as error:
            self._tools.health.note_failure(error)
            _log.warning("store_upkeep_failed", step=step.__name__, errno=error.errno)
        except (Fault, FolderGone) as fault:
            _log.warning("store_upkeep_failed", step=step.__name__, fault=type(fault).__name__)

    def _settle_metadata(self) -> None:
        if self._sight.sidecar.pending_sha256:
            keep_sidecar(self._folder.metadata, self._place.path, Sidecar(self._wanted_metadata()))

    def _close_request(self) -> None:
        if self._line is not None:
            self._line.add_verdict("done")

    def _trim_versions(self) -> None:
        self._sight.history.trim_locked(self._place.path.text, self._tools.limits.versions, self._at)

    # Deleting a document

    def _delete(self) -> Committed:
        parent = self._sight.parent
        assert parent is not None  # noqa: S101 - there is a document, so there is its folder
        with ExitStack() as held, ExitStack() as undo:
            version = self._keep_version("deleted", undo)
            line = self._begin(self._committed("", 0, version), held, undo)
            self._flush(version, line)
            self._look_again(parent)
            os.unlink(self._names[-1], dir_fd=parent)
            undo.pop_all()  # the commit point
            with self._in_doubt():
                flush(parent)
                self._drop_sidecar_and_versions()
            self._finish(self._give_room_back, self._close_request, self._tidy)
        return self._committed("", 0, version)

    def _drop_sidecar_and_versions(self) -> None:
        keep_sidecar(self._folder.metadata, self._place.path, Sidecar())
        if self._change.purge_versions:
            name = log_name(self._place.path)
            remove_file(name, self._folder.history)
            remove_file(name + b".damaged", self._folder.history)

    def _give_room_back(self) -> None:
        with ExitStack() as held, ExitStack() as undo:
            self._take_room((-1, -len(self._before.content or b"")), held, undo)
            undo.pop_all()

    def _tidy(self) -> None:
        remove_empty_folders(self._folder.documents, self._names[:-1])

    def _purge_nothing(self) -> Committed:
        """There was no document and there shall be none; what is kept of an earlier one may have to go."""
        with self._in_doubt():
            self._drop_sidecar_and_versions()
        return self._made(Committed("", 0, 0 if self._change.purge_versions else self._before.version, {}))

    # Leaving the bytes as they are

    def _leave_content(self, content: bytes) -> Committed:
        wanted = self._wanted_metadata()
        key = (self._place.scope, self._place.path)
        if key in self._tools.doubtful:
            with self._in_doubt():
                write_anew_locked(self._folder.documents, self._names, content)
        else:
            self._reassure()
        self._deadline.check()
        if dict(wanted) != dict(self._before.own_metadata) or self._sight.sidecar.pending_sha256:
            keep_sidecar(self._folder.metadata, self._place.path, Sidecar(wanted))
        return self._made(Committed(self._before.sha256, len(content), self._before.version, {}))

    def _reassure(self) -> None:
        """Flush what is there: whoever put it there may have died before the flush (rule 11)."""
        parent = self._sight.parent
        assert parent is not None  # noqa: S101 - as in _delete
        try:
            fd = os.open(self._names[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        except FileNotFoundError:
            raise Interfered from None
        try:
            flush(fd)
        finally:
            os.close(fd)
        flush(parent)

    def _made(self, committed: Committed) -> Committed:
        """Remember that a request was done without writing a document: later its change would no longer be none."""
        committed = replace(committed, result=self._change.result, changed=False)
        if self._request is not None:
            entry = self._new_entry(self._request, "made", committed)
            line = self._tools.journal.begin(self._place.scope, self._folder, entry)
            try:
                line.flush()
            finally:
                line.close()
        return committed


def _trace(found: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
