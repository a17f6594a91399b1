"""The folders of scopes: made durably at the first write, checked against planted links, kept open for the next call.

Keeping descriptors open saves a read eight `open` calls; one `stat` a call proves that the folder is still the one
that has the name, and that none of its parts was moved or replaced since they were looked at. So a restored backup or
an erased scope is seen at once.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from ironclaw_memory.contract.faults import StorageUnavailable
from ironclaw_memory.contract.scope import Scope

from .files import close_all, flush, make_folders, open_folder, open_folders, read_file, replace_file
from .health import FolderGone
from .layout import DOCUMENTS, HISTORY, INDEX, LOCKS, METADATA, REQUESTS, SCOPE_FILE, scope_names
from .stamps import KnownNames, Stamp, is_settled, stamp_of

MAX_OPEN_SCOPES: Final = 64
"""Six descriptors each: well below the usual limit of 1,024, which the connections share."""

_PARTS: Final = (DOCUMENTS, HISTORY, METADATA, REQUESTS, LOCKS)
_log = structlog.get_logger(__name__)


class ScopeFolder:
    """An open scope. The descriptors close when the last user lets go of the object.

    Attributes:
        root, documents, history, metadata, requests, locks: descriptors of the scope's folder and its parts.
        metadata_names, request_names: what is in two of them.
        requests_id: device and inode of `requests`.
        key: a number that stands for the scope in this process.
    """

    __slots__ = (
        "_ids", "_path", "_root_id", "_unmoved", "documents", "history", "key", "locks", "metadata",
        "metadata_names", "request_names", "requests", "requests_id", "root",
    )  # fmt: skip

    def __init__(self, root: int, path: bytes) -> None:
        self.root = root
        self._path = path
        parts: list[int] = []
        try:
            for name in _PARTS:
                parts.append(open_folder(name, root))  # noqa: PERF401 - what was opened before a failure is closed
            self._root_id = _identity(root)
            self._ids = [_identity(fd) for fd in parts]
        except BaseException:
            close_all([root, *parts])
            raise
        self.documents, self.history, self.metadata, self.requests, self.locks = parts
        self.requests_id = self._ids[_PARTS.index(REQUESTS)]
        self.metadata_names = KnownNames(self.metadata)
        self.request_names = KnownNames(self.requests)
        self.key = hash(path)
        self._unmoved: Stamp | None = None  # the root's when all parts last had their names

    def __del__(self) -> None:
        with suppress(AttributeError):  # the constructor failed, and closed what it had opened
            close_all((self.root, self.documents, self.history, self.metadata, self.requests, self.locks))

    def is_current(self, parts: int) -> bool:
        """Whether the first `parts` of the five folders still have their names: 1 for a read, all for a change."""
        seen_ns = time.time_ns()
        try:
            root = stamp_of(os.stat(self._path, follow_symlinks=False))
        except OSError:
            return False
        if root == self._unmoved:  # moving a part, or putting something in its place, would have changed the root
            return True
        if root[:2] != self._root_id:
            return False
        if is_settled(root, seen_ns) and self._have_names(len(_PARTS)):
            self._unmoved = root
            return True
        return self._have_names(parts)

    def _have_names(self, parts: int) -> bool:
        try:
            for name, known in zip(_PARTS[:parts], self._ids, strict=False):
                found = os.stat(b"%s/%s" % (self._path, name), follow_symlinks=False)
                if (found.st_dev, found.st_ino) != known:
                    return False
        except OSError:
            return False
        return True


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


class ScopeFolders:
    """Opens scopes and keeps the most recently used ones open.

    Args:
        data_dir: the checked data directory.
    """

    def __init__(self, data_dir: Path) -> None:
        self._base = os.fsencode(data_dir)
        self._guard = threading.Lock()
        self._open: OrderedDict[Scope, ScopeFolder] = OrderedDict()  # guarded by _guard

    def find(self, scope: Scope) -> ScopeFolder | None:
        """Return the scope's folder; None when nothing was ever written there.

        Raises:
            OSError: it is there and can't be opened.
            StorageUnavailable: the folder belongs to other ids.
        """
        known = self._known(scope)
        if known is not None and known.is_current(1):
            return known
        self.forget(scope)
        try:
            root = self._open_root(scope)
        except (FileNotFoundError, NotADirectoryError):  # nothing there, or a link in its place
            return None
        folder = self._open_parts(scope, root)
        return None if folder is None else self._remember(scope, folder)

    def _open_parts(self, scope: Scope, root: int) -> ScopeFolder | None:
        """Open a scope that may lack parts: a backup of the documents alone was restored, say."""
        try:
            return self._open_folder(scope, root)
        except NotADirectoryError:
            raise StorageUnavailable from None  # a link or file in place of a part
        except FileNotFoundError:
            pass
        root = self._open_root(scope)
        try:
            os.stat(DOCUMENTS, dir_fd=root, follow_symlinks=False)
            _complete([root], scope)
        except (FileNotFoundError, FolderGone):
            os.close(root)
            return None
        except BaseException:
            os.close(root)
            raise
        return self._open_folder(scope, root)

    def open_or_create(self, scope: Scope) -> ScopeFolder:
        """Return the scope's folder, making it when it is missing.

        Durability: the folders are on the disk when this returns.

        Raises:
            OSError: it can't be made or opened, or something else has its name.
            StorageUnavailable: the folder belongs to other ids.
        """
        known = self._known(scope)
        if known is not None and known.is_current(len(_PARTS)):
            return known
        self.forget(scope)
        self._create(scope)
        return self._remember(scope, self._open_folder(scope, self._open_root(scope)))

    def forget(self, scope: Scope) -> None:
        """Open the scope afresh the next time."""
        with self._guard:
            self._open.pop(scope, None)

    def path_of(self, scope: Scope) -> Path:
        """Return the scope's folder as a path; for the index, which hands paths to SQLite."""
        return Path(os.fsdecode(b"/".join((self._base, *scope_names(scope)))))

    def _known(self, scope: Scope) -> ScopeFolder | None:
        with self._guard:
            known = self._open.get(scope)
            if known is not None:
                self._open.move_to_end(scope)
            return known

    def _remember(self, scope: Scope, folder: ScopeFolder) -> ScopeFolder:
        evicted = None
        with self._guard:
            self._open[scope] = folder
            if len(self._open) > MAX_OPEN_SCOPES:
                _, evicted = self._open.popitem(last=False)
        del evicted  # closes outside the guard, unless a call still uses it
        return folder

    def _open_base(self) -> int:
        return os.open(self._base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _open_root(self, scope: Scope) -> int:
        base = self._open_base()
        try:
            return open_folders(base, scope_names(scope))
        finally:
            os.close(base)

    def _open_folder(self, scope: Scope, root: int) -> ScopeFolder:
        """Open the parts; the root's descriptor belongs to the result, and is closed on failure."""
        folder = ScopeFolder(root, b"/".join((self._base, *scope_names(scope))))
        _check_ids(scope, root)
        return folder

    def _create(self, scope: Scope) -> None:
        base = self._open_base()
        try:
            chain = make_folders(base, scope_names(scope))
        finally:
            os.close(base)
        try:
            _complete(chain, scope)
        finally:
            close_all(chain)


def _complete(chain: list[int], scope: Scope) -> None:
    """Make the parts and flush every folder above them, then mark the scope whole.

    `scope.json` comes last: who sees it knows that all folders are durable, and needn't flush them again.
    """
    root = chain[-1]
    whole = read_file(SCOPE_FILE, root) is not None
    for name in (*_PARTS, INDEX):
        close_all(make_folders(root, (name,)))
    if whole:
        return
    for fd in reversed(chain):
        flush(fd)
    replace_file(SCOPE_FILE, _describe(scope), root)


def _describe(scope: Scope) -> bytes:
    ids = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "project": scope.project}
    return json.dumps(ids, indent=2).encode("ascii") + b"\n"


def _check_ids(scope: Scope, root: int) -> None:
    """Refuse a folder that belongs to other ids: a backup that was restored in the wrong place, say."""
    found = read_file(SCOPE_FILE, root)
    if found is None:
        return  # not marked yet, or lost; the next write marks it
    try:
        same = json.loads(found[0]) == json.loads(_describe(scope))
    except ValueError:
        same = False
    if not same:
        _log.error("scope_folder_mixed_up")
        raise StorageUnavailable
