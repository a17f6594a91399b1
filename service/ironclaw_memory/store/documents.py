"""The document store: everything that the rest of the service can ask of documents on disk.

A face: reading and listing are here, changing is in `commit.py`, where the essay on durability is. The store checks no
permission, no safety rule and no text encoding; it accepts only scopes and paths that were checked when they were made.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import (
    NOTHING,
    Committed,
    Decide,
    DocumentStat,
    Metadata,
    RequestKey,
    StoredDocument,
    TreeEntry,
    VersionInfo,
)
from ironclaw_memory.contract.faults import DocumentMissing, StorageUnavailable
from ironclaw_memory.contract.path import DocumentPath, FolderPath
from ironclaw_memory.contract.scope import Scope

from .attempt import WriteLimits, WriteTools
from .commit import WritePath
from .curation import CurationStore
from .datadir import DataDir, prove_writable
from .files import flush
from .health import FolderGone, StorageHealth, fault_of
from .history import VersionLimits
from .layout import CURATION, DOCUMENTS, HISTORY, INDEX, METADATA, REQUESTS, USAGE_FILE, document_names, log_name
from .owners import list_scopes
from .reader import DocumentReader
from .requests import RequestJournal
from .scopes import ScopeFolder, ScopeFolders
from .sight import check_spelling, inherited_metadata, own_metadata, read_head
from .sweep import ERASED_PREFIX, sweep
from .tenant_usage import TenantUsage
from .usage import Room
from .versions import list_versions, read_version
from .walk import count_documents, list_documents, read_tree


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How much is kept.

    Attributes:
        document_bytes: size of a document. 1 MiB: far above what a model reads at once.
        scope_documents: documents in a scope.
        scope_bytes: their bytes together, versions not counted.
        tenant_documents, tenant_bytes: the same for all scopes of a tenant together; 0 for no limit.
        version_count: versions of a document.
        version_bytes: size of a document's history on disk, compressed.
        version_age_days: how long a version is kept; 0 for ever.
        request_hours: how long a request id is remembered; the contract promises 24.
    """

    document_bytes: int = 1 << 20
    scope_documents: int = 10_000
    scope_bytes: int = 256 << 20
    tenant_documents: int = 0
    tenant_bytes: int = 0
    version_count: int = 1_000
    version_bytes: int = 8 << 20
    version_age_days: int = 0
    request_hours: int = 24


def _utc_now() -> datetime:
    return datetime.now(UTC)


class DocumentStore:
    """The documents of one data directory. Safe for threads, and for other processes on the same directory.

    Args:
        data_dir: the checked data directory.
        limits: how much is kept.
        now: the wall clock, with zone; for version times and the life of request ids and leases.

    Attributes:
        curation: which turns were recorded, and who curates.
    """

    def __init__(self, data_dir: DataDir, limits: StoreLimits, *, now: Callable[[], datetime] = _utc_now) -> None:
        age = timedelta(days=limits.version_age_days) if limits.version_age_days else None
        self._data_dir = data_dir
        self._now = now
        self._version_age = age
        self._health = StorageHealth()
        self._scopes = ScopeFolders(data_dir.path)
        self._reader = DocumentReader(data_dir.path)
        self._journal = RequestJournal(limits.request_hours, now)
        write_limits = WriteLimits(
            limits.document_bytes,
            (limits.scope_documents, limits.scope_bytes),
            VersionLimits(limits.version_count, limits.version_bytes, age),
        )
        tenants = TenantUsage(os.fsencode(data_dir.path), (limits.tenant_documents, limits.tenant_bytes))
        tools = WriteTools(write_limits, tenants, self._journal, self._health, now, data_dir.ignores_case)
        self._writes = WritePath(self._scopes, tools)
        self.curation = CurationStore(self._scopes, self._writes.locks, now)

    # One document

    def read_document(self, scope: Scope, path: DocumentPath) -> StoredDocument:
        """Return a document as it is on the disk now, hand edits included. Takes no lock.

        Raises:
            DocumentMissing: there is no regular file of that name; a link is none.
            StorageUnavailable: it is there and can't be read.
            DocumentTooLarge: someone put a file of more than 16 MiB there.
        """
        try:
            if not self._data_dir.ignores_case and (known := self._reader.read_known(scope, path)) is not None:
                return known
            folder = self._scopes.find(scope)
            if folder is not None and self._data_dir.ignores_case:
                _check_exact_name(folder, path)
            document = None if folder is None else self._reader.read(scope, folder, path)
        except OSError as error:
            raise fault_of(error) from error
        if document is None:
            raise DocumentMissing
        return document

    def read_head(self, scope: Scope, path: DocumentPath, max_bytes: int) -> tuple[bytes, int]:
        """Return the first bytes of a document, however large it is, and its size. Takes no lock.

        Raises:
            DocumentMissing: there is no regular file of that name; a link is none.
            StorageUnavailable: it is there and can't be read.
        """
        try:
            folder = self._scopes.find(scope)
            if folder is not None and self._data_dir.ignores_case:
                _check_exact_name(folder, path)
            read = None if folder is None else read_head(folder, path, max_bytes)
        except OSError as error:
            raise fault_of(error) from error
        if read is None:
            raise DocumentMissing
        return read

    def change_document(
        self,
        scope: Scope,
        path: DocumentPath,
        decide: Decide,
        *,
        deadline: Deadline,
        request: RequestKey | None = None,
    ) -> Committed:
        """Change, create or delete a document: the one way in which documents change.

        Args:
            decide: turns what is there into what shall be; run under the document's lock, maybe more than once. What
                it raises ends the change; nothing is written then.
            deadline: until when; looked at while waiting for the lock and last before the commit point.
            request: makes the change happen once, however often it is tried.

        Durability: when this returns, the change, the version that it replaced, its metadata and its request id are on
        the disk. When it raises anything but OutcomeUnknown, nothing was changed, and a crash doesn't change that.

        Raises:
            PathConflict: a folder, a link, or a name that differs only by case is in the way.
            DocumentTooLarge, ScopeQuota: the result is over a limit.
            RequestIdReused: the request id belongs to other arguments.
            CasExhausted: someone edited the file by hand during each of 8 tries.
            DeadlineExceeded, CallCancelled: before the commit point.
            StorageFull, StorageUnavailable: the file system refused.
            OutcomeUnknown: the change is visible, but a power cut may take it back.
        """
        return self._writes.change(scope, path, decide, deadline, request)

    def find_request(self, scope: Scope, request: RequestKey) -> Committed | None:
        """Return what an earlier try of a request did, before doing any work for it; None when it isn't known.

        None doesn't say that the request is new: an earlier try may be running, or may have died. `change_document`
        finds that out.

        Raises:
            RequestIdReused: the request id belongs to other arguments.
            StorageUnavailable: the journal can't be read.
        """
        try:
            folder = self._scopes.find(scope)
            entry = None if folder is None else self._journal.find(scope, folder, request)
        except OSError as error:
            raise fault_of(error) from error
        return entry.committed if entry is not None and entry.state in ("done", "made") else None

    # Many documents

    def tree(
        self, scope: Scope, folder: FolderPath, depth: int, max_entries: int
    ) -> tuple[tuple[TreeEntry, ...], bool]:
        """Return what lies under `folder`, folders first, each sorted, and whether entries were left out.

        Args:
            depth: 1 for the folder's own entries.
            max_entries: on all levels together.

        Raises:
            StorageUnavailable: a folder can't be read.
        """
        try:
            opened = self._scopes.find(scope)
            return ((), False) if opened is None else read_tree(opened.documents, folder, depth, max_entries)
        except OSError as error:
            raise fault_of(error) from error

    def list_documents(self, scope: Scope) -> Iterator[DocumentStat]:
        """Yield every document of a scope without opening it.

        Raises:
            StorageUnavailable: a folder can't be read.
        """
        try:
            opened = self._scopes.find(scope)
            if opened is not None:
                yield from list_documents(opened.documents)
        except OSError as error:
            raise fault_of(error) from error

    def usage(self, scope: Scope) -> tuple[int, int]:
        """Count the documents and their bytes, and keep the result as the scope's tally. Walks the scope.

        Raises:
            StorageUnavailable: a folder can't be read.
        """
        try:
            opened = self._scopes.find(scope)
            if opened is None:
                return 0, 0
            room = Room(opened.root, opened.locks, (0, 0), lambda: count_documents(opened.documents))
            try:
                return room.recount()
            finally:
                room.close()
        except FolderGone:
            return 0, 0
        except OSError as error:
            raise fault_of(error) from error

    # Versions

    def list_versions(self, scope: Scope, path: DocumentPath) -> tuple[VersionInfo, ...]:
        """Return the kept versions that can still be read, newest first, also those of a deleted document.

        Raises:
            StorageUnavailable: the history can't be read.
        """
        try:
            folder = self._scopes.find(scope)
            return () if folder is None else list_versions(folder.history, log_name(path), self._kept_since())
        except OSError as error:
            raise fault_of(error) from error

    def read_version(self, scope: Scope, path: DocumentPath, version: int) -> bytes:
        """Return the content of a kept version.

        Raises:
            DocumentMissing: there is no such version, or not any more.
            DocumentCorrupt: it fails its checksum.
            StorageUnavailable: the history can't be read.
        """
        try:
            folder = self._scopes.find(scope)
            if folder is None:
                raise DocumentMissing("There is no such version.")
            return read_version(folder.history, log_name(path), version, self._kept_since())
        except OSError as error:
            raise fault_of(error) from error

    def _kept_since(self) -> datetime | None:
        return None if self._version_age is None else self._now() - self._version_age

    # Metadata

    def metadata(self, scope: Scope, path: DocumentPath) -> tuple[Metadata, Metadata]:
        """Return a document's own metadata and what it inherits from the nearest `.config` document above it.

        Raises:
            StorageUnavailable: it can't be read.
        """
        try:
            folder = self._scopes.find(scope)
            if folder is None:
                return NOTHING, NOTHING
            return own_metadata(folder, path), inherited_metadata(folder, path)
        except OSError as error:
            raise fault_of(error) from error

    def effective_metadata(self, scope: Scope, path: DocumentPath) -> Metadata:
        """Return a document's own metadata laid shallowly over what it inherits; errors as `metadata`."""
        own, inherited = self.metadata(scope, path)
        return {**inherited, **own} if own and inherited else own or inherited

    # The scope and the directory

    def index_folder(self, scope: Scope) -> Path:
        """Return the scope's folder for the search index, made with mode 0700.

        Raises:
            StorageUnavailable, StorageFull: it can't be made.
        """
        folder = self._scopes.path_of(scope) / os.fsdecode(INDEX)
        with self._writes.watched():
            if self._scopes.find(scope) is None or not folder.exists():
                self._scopes.open_or_create(scope)
                folder.mkdir(mode=0o700, exist_ok=True)
            if not stat.S_ISDIR(folder.lstat().st_mode):  # a link would lead the index out of the scope
                raise StorageUnavailable
        return folder

    def erase_scope(self, scope: Scope, *, deadline: Deadline) -> tuple[int, int]:
        """Remove every document of a scope with its versions, metadata and request ids; the index is not touched.

        Durability: gone when this returns. After a crash in between, call again; the sweeper removes what is left.

        Returns:
            How many documents and bytes were removed.

        Raises:
            DeadlineExceeded, CallCancelled: before anything was removed.
            StorageUnavailable: the file system refused.
        """
        with self._writes.watched():
            folder = self._scopes.find(scope)
            if folder is None:
                return 0, 0
            with self._writes.locks.hold_all_documents(folder.locks, folder.key, deadline):
                removed = count_documents(folder.documents)
                deadline.check()
                _erase(folder)
        self._scopes.forget(scope)
        self._journal.forget(scope)
        self._reader.forget(scope)
        return removed

    def list_scopes(self) -> Iterator[Scope]:
        """Yield every scope that something was written to, in no particular order. Takes no lock.

        Raises:
            StorageUnavailable: the data directory can't be read.
        """
        try:
            yield from list_scopes(os.fsencode(self._data_dir.path))
        except OSError as error:
            raise fault_of(error) from error

    def problem(self) -> str | None:
        """Return why writes can't be served now, as one sentence for the operator; None while they can."""
        return self._health.problem()

    def probe(self) -> None:
        """Prove that durable writes work, by one.

        Raises:
            StorageFull, StorageUnavailable: they don't; `problem` says why.
        """
        with self._writes.watched():
            prove_writable(self._data_dir.path)
        self._health.note_success()

    def sweep(self, stop: threading.Event) -> int:
        """Remove what dead writers left over all scopes; return how many files.

        Args:
            stop: set to end the sweep early.

        Raises:
            StorageUnavailable: the data directory can't be read.
        """
        with self._writes.watched():
            return sweep(os.fsencode(self._data_dir.path), self._now().timestamp(), stop)


def _check_exact_name(folder: ScopeFolder, path: DocumentPath) -> None:
    try:
        check_spelling(folder.documents, document_names(path))
    except NotADirectoryError:
        raise DocumentMissing from None


def _erase(folder: ScopeFolder) -> None:
    aside = []
    # The documents go last: a call that a crash cut short finds them and can be made again.
    for part in (HISTORY, METADATA, REQUESTS, CURATION, DOCUMENTS):
        name = b"%s%s" % (ERASED_PREFIX, secrets.token_hex(16).encode("ascii"))
        with suppress(FileNotFoundError):
            os.rename(part, name, src_dir_fd=folder.root, dst_dir_fd=folder.root)
            aside.append(name)
    with suppress(FileNotFoundError):
        os.unlink(USAGE_FILE, dir_fd=folder.root)
    flush(folder.root)
    for name in aside:
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder.root)  # a sweeper may be at it too
        with suppress(FileNotFoundError):
            shutil.rmtree(name, dir_fd=folder.root)  # says what is in the way, if something is
    flush(folder.root)
