"""Reading documents, and recognising those that nobody touched since they were last read.

The bytes are read from the disk at every call, by the whole path below the data folder, so that a scope's folder which
was moved or replaced shows. What is spared is hashing them, and opening the history for its last number: both belong to
the state of the file that its stat names. For a change of content always makes a new file (rule 1 of `commit.py`), and
its version is in the history before that file has the document's name (rule 7); trimming a history and changing
metadata leave the number as it is; and an edit by hand, or another process's change, shows in the stat. Four things are
not remembered, and looked up each time:

- a stat that is too young to prove anything (`stamps.py`);
- a number that is being given: the last version is this very content, which is not replaced yet, and it may be taken
  back;
- a file that is not as long as its stat said, because someone is writing to it;
- what another path has, though it be the same file: the number is the path's.

A history that is removed or mended by hand, under a document that stays as it is, shows at the document's next change.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import weakref
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ironclaw_memory.contract.document import StoredDocument
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .files import open_file, open_path, read_open_file
from .history import is_left_over
from .layout import DOCUMENTS, document_names, log_name, scope_names
from .scopes import ScopeFolder
from .sight import MAX_READ_BYTES, check_size
from .stamps import Stamp, is_settled, stamp_of
from .versions import last_frame

MAX_KNOWN: Final = 4_096
"""Documents that are recognised, over all scopes; about 1 KB each. Beyond that the first one learnt is forgotten."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What a file in the state `stamp` holds, apart from its bytes, and its path below the data folder."""

    place: bytes
    stamp: Stamp
    sha256: str
    version: int
    updated_at: datetime


class DocumentReader:
    """Reads the documents of one data directory. Takes no lock on them; safe for threads.

    Args:
        data_dir: its path.
    """

    def __init__(self, data_dir: Path) -> None:
        self._base = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._base)
        self._guard = threading.Lock()
        self._known: dict[tuple[Scope, DocumentPath], _Known] = {}  # read freely, changed under _guard

    def read_known(self, scope: Scope, path: DocumentPath) -> StoredDocument | None:
        """Return a document that is as it was when it was last read; None when only `read` can tell.

        It asks nothing of the scope's folder. Where a path can't be opened at once, `read` is as quick.

        Raises:
            OSError: it is there and can't be read.
        """
        known = self._known.get((scope, path))
        fd = None if known is None else open_path(self._base, known.place)
        if fd is None or known is None:
            return None
        try:
            return _read_unchanged(fd, known)
        finally:
            os.close(fd)

    def read(self, scope: Scope, folder: ScopeFolder, path: DocumentPath) -> StoredDocument | None:
        """Return a document as it is on the disk now; None when there is none.

        Raises:
            OSError: it is there and can't be read.
            DocumentTooLarge: someone put a file there that is too large to read.
        """
        seen_ns = time.time_ns()
        fd = open_file(folder.documents, document_names(path))
        if fd is None:
            return None
        try:
            known = self._known.get((scope, path))
            unchanged = None if known is None else _read_unchanged(fd, known)
            if unchanged is not None:
                return unchanged
            read = read_open_file(fd, MAX_READ_BYTES)
        finally:
            os.close(fd)
        return None if read is None else self._learn(scope, folder, path, read, seen_ns)

    def _learn(
        self, scope: Scope, folder: ScopeFolder, path: DocumentPath, read: tuple[bytes, os.stat_result], seen_ns: int
    ) -> StoredDocument:
        content, found = read
        check_size(found.st_size)
        hashed = hashlib.sha256(content)
        last = last_frame(folder.history, log_name(path))
        known = _Known(
            b"/".join((*scope_names(scope), DOCUMENTS, *document_names(path))),
            stamp_of(found),
            hashed.hexdigest(),
            last.version if last else 0,
            datetime.fromtimestamp(found.st_mtime_ns / 1e9, UTC),
        )
        given = last is None or not is_left_over(last, hashed.digest(), found.st_mtime_ns)
        if given and len(content) == found.st_size and is_settled(known.stamp, seen_ns):
            self._remember((scope, path), known)
        return _document(content, known)

    def _remember(self, key: tuple[Scope, DocumentPath], known: _Known) -> None:
        with self._guard:
            self._known.pop(key, None)
            if len(self._known) >= MAX_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = known

    def forget(self, scope: Scope) -> None:
        """Forget what is known of a scope that was erased: nothing about its documents shall stay."""
        with self._guard:
            for key in [key for key in self._known if key[0] == scope]:
                del self._known[key]


def _read_unchanged(fd: int, known: _Known) -> StoredDocument | None:
    """Return the document when the open file is in the known state, else None.

    The stat comes after the bytes: were it taken first, an edit in between would pair new bytes with the old hash.
    """
    content = os.pread(fd, known.stamp[2], 0)
    if stamp_of(os.fstat(fd)) != known.stamp or len(content) != known.stamp[2]:
        return None
    return _document(content, known)


def _document(content: bytes, known: _Known) -> StoredDocument:
    return StoredDocument(content, known.sha256, known.version, known.updated_at)
