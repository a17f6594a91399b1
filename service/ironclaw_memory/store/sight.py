"""What a document is at this moment: its bytes, its place in the folders, its metadata. Reads only.

A link is never followed: not at the document's own name, not on the way to it. Reading through one finds no document.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ironclaw_memory.contract.document import NOTHING, Before, Metadata
from ironclaw_memory.contract.faults import DocumentTooLarge, PathConflict
from ironclaw_memory.contract.path import DocumentPath

from .files import NOT_THERE, open_file, open_folders, read_file, read_open_file, read_start
from .history import History
from .layout import CONFIG_NAME, document_names, log_name, sidecar_name
from .metadata import ABSENT, Sidecar, load_sidecar
from .scopes import ScopeFolder

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_READ_BYTES: Final = 16 << 20
"""No call writes a document of this size. A person can, and one read of it must not exhaust the memory."""


@dataclass(slots=True)
class Sight:
    """A document as a change under its lock sees it.

    Attributes:
        parent: descriptor of its folder; None when the folder is missing.
        found: the file's stat; None when there is no document.
        hashed: the hash of its bytes, which an append continues.
        sidecar: its kept metadata, pending part included.
        history: its log, open.
        before: what the change starts from.
    """

    parent: int | None
    found: os.stat_result | None
    hashed: _Hash
    sidecar: Sidecar
    history: History
    before: Before

    def close(self) -> None:
        """Let go of the folder and the log."""
        self.history.close()
        if self.parent is not None:
            with suppress(OSError):
                os.close(self.parent)

    def hash_of(self, content: bytes) -> str:
        """Return the hex hash of `content`, at the price of its new end when it only adds to what is there."""
        known = self.before.content or b""
        if not content.startswith(known):
            return hashlib.sha256(content).hexdigest()
        hashed = self.hashed.copy()
        hashed.update(memoryview(content)[len(known) :])
        return hashed.hexdigest()


def look(folder: ScopeFolder, path: DocumentPath) -> Sight:
    """Return what is at `path`; the caller holds the document's lock and closes the result.

    Raises:
        OSError: the document, its metadata or its history can't be read; ENOTDIR when a file or link is in the way.
        DocumentTooLarge: someone put a file there that is too large to read.
    """
    names = document_names(path)
    with ExitStack() as undo:
        parent = _open_parent(folder.documents, names)
        if parent is not None:
            undo.callback(os.close, parent)
        read = None if parent is None else read_file(names[-1], parent, MAX_READ_BYTES)
        if read is not None:
            check_size(read[1].st_size)
        content, found = read or (None, None)
        history = History(folder.history, log_name(path))
        undo.callback(history.close)
        hashed = hashlib.sha256(content or b"")
        sidecar, inherited = _kept_metadata(folder, path)
        before = Before(
            content=content,
            sha256="" if content is None else hashed.hexdigest(),
            version=history.version,
            own_metadata=NOTHING if content is None else sidecar.resolve(hashed.hexdigest),
            inherited_metadata=inherited,
        )
        undo.pop_all()
        return Sight(parent, found, hashed, sidecar, history, before)


def _kept_metadata(folder: ScopeFolder, path: DocumentPath) -> tuple[Sidecar, Metadata]:
    names = folder.metadata_names.get()
    if names is not None and not names:
        return ABSENT, NOTHING
    known_absent = names is not None and sidecar_name(path) not in names
    sidecar = ABSENT if known_absent else load_sidecar(folder.metadata, path)
    return sidecar, _inherited(folder, path, names)


def _open_parent(documents: int, names: list[bytes]) -> int | None:
    try:
        return open_folders(documents, names[:-1])
    except FileNotFoundError:
        return None


def check_size(size: int) -> None:
    """Raise DocumentTooLarge for a file that is too large to read."""
    if size > MAX_READ_BYTES:
        raise DocumentTooLarge(size, MAX_READ_BYTES)


def read_bytes(folder: ScopeFolder, path: DocumentPath) -> tuple[bytes, os.stat_result] | None:
    """Return a document's bytes and stat; None when there is none. Takes no lock: a file is replaced whole.

    Raises:
        OSError: it is there and can't be read.
        DocumentTooLarge: someone put a file there that is too large to read.
    """
    fd = open_file(folder.documents, document_names(path))
    if fd is None:
        return None
    try:
        read = read_open_file(fd, MAX_READ_BYTES)
    finally:
        os.close(fd)
    if read is not None:
        check_size(read[1].st_size)
    return read


def read_head(folder: ScopeFolder, path: DocumentPath, max_bytes: int) -> tuple[bytes, int] | None:
    """Return a document's first bytes and its size; None when there is none. The work doesn't grow with the document.

    Raises:
        OSError: it is there and can't be read.
    """
    fd = open_file(folder.documents, document_names(path))
    if fd is None:
        return None
    try:
        return read_start(fd, max_bytes)
    finally:
        os.close(fd)


def own_metadata(folder: ScopeFolder, path: DocumentPath) -> Metadata:
    """Return what was set on the document itself; nothing when there is no document.

    Raises:
        OSError: it can't be read.
    """
    sidecar = load_sidecar(folder.metadata, path)
    if not sidecar.metadata and not sidecar.pending_sha256:
        return NOTHING
    read = read_bytes(folder, path)
    return NOTHING if read is None else sidecar.resolve(lambda: hashlib.sha256(read[0]).hexdigest())


def inherited_metadata(folder: ScopeFolder, path: DocumentPath) -> Metadata:
    """Return the metadata of the nearest `.config` document above `path`; nothing without one.

    Raises:
        OSError: it can't be read.
    """
    return _inherited(folder, path, folder.metadata_names.get())


def _inherited(folder: ScopeFolder, path: DocumentPath, names: frozenset[bytes] | None) -> Metadata:
    """See `inherited_metadata`; `names` are those of the kept sidecars, None when they aren't known."""
    above = _configs_above(path)
    if names is not None and not any(sidecar_name(config) in names for config in above):
        return NOTHING  # whichever of them is there and nearest says nothing
    nearest = next((config for config in above if _is_there(folder.documents, config)), None)
    return NOTHING if nearest is None else own_metadata(folder, nearest)


def _configs_above(path: DocumentPath) -> list[DocumentPath]:
    """Return the `.config` documents that could govern `path`, the nearest first."""
    folders = path.text.split("/")[:-1]
    above = [DocumentPath("/".join((*folders[:depth], CONFIG_NAME))) for depth in range(len(folders), -1, -1)]
    # A folder's own `.config` inherits from the folders above, not from itself.
    return above[1:] if above[0] == path else above


def _is_there(documents: int, path: DocumentPath) -> bool:
    """Whether the path leads to a plain file, without links."""
    names = document_names(path)
    try:
        parent = open_folders(documents, names[:-1])
    except OSError as error:
        if error.errno in NOT_THERE:
            return False
        raise
    try:
        return _is_file(names[-1], parent)
    finally:
        os.close(parent)


def _is_file(name: bytes, folder: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def check_spelling(documents: int, names: list[bytes]) -> None:
    """Refuse a path that differs from existing names only by case or normal form. For file systems that ignore them.

    Raises:
        PathConflict: a folder or document of such a name is there.
        OSError: a folder can't be listed.
    """
    for depth, name in enumerate(names):
        try:
            folder = open_folders(documents, names[:depth])
        except FileNotFoundError:
            return
        try:
            present = [os.fsencode(each).decode("utf-8", "replace") for each in os.listdir(folder)]
        finally:
            os.close(folder)
        wanted = name.decode("utf-8")
        if wanted not in present and _fold(wanted) in map(_fold, present):
            raise PathConflict("A name that differs only by upper and lower case is there already.")


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())
