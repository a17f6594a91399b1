"""Looking through a scope's documents without opening them: the tree, the listing, and the count.

No link is followed and none is shown, nor is anything that isn't a plain file or folder, a half-written temporary, or a
name that no document may have (a person can put such a file there, but no call could name it). A folder that may not
be opened is logged and counts as empty.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import structlog

from ironclaw_memory.contract.document import DocumentStat, TreeEntry
from ironclaw_memory.contract.faults import InvalidPath
from ironclaw_memory.contract.path import MAX_PATH_BYTES, DocumentPath, FolderPath, parse_document_path

from .files import NOT_THERE, open_folders

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Listing:
    """What one folder holds, each in the order of the names' code points."""

    folders: list[str] = field(default_factory=list)
    documents: list[tuple[str, os.DirEntry[str]]] = field(default_factory=list)


@lru_cache(maxsize=1 << 16)
def _is_legal(name: str) -> bool:
    # Cached, because walks see the same names again and again and the grammar costs microseconds a name.
    try:
        return parse_document_path(name).text == name
    except InvalidPath:
        return False


def _decode(name: str) -> str | None:
    """Return the name that the bytes on the disk spell in UTF-8, whatever the locale; None when they spell none."""
    if name.isascii():
        return name
    try:
        return os.fsencode(name).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _list_folder(fd: int) -> Listing:
    found = Listing()
    with os.scandir(fd) as entries:
        for entry in entries:
            name = _decode(entry.name)
            if name is None:
                continue
            if entry.is_dir(follow_symlinks=False):
                if _is_legal(name + "/x"):
                    found.folders.append(name)
            elif entry.is_file(follow_symlinks=False) and _is_legal(name):
                found.documents.append((name, entry))
    found.folders.sort()
    found.documents.sort(key=lambda pair: pair[0])
    return found


def _open(root: int, names: tuple[str, ...]) -> int | None:
    try:
        return open_folders(root, [name.encode("utf-8") for name in names])
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        if error.errno == errno.EACCES:  # one folder that a person closed doesn't take the others along
            _log.warning("folder_unreadable")
            return None
        raise


class _Tree:
    """One walk for `read_tree`: counts entries, and stops at the limit."""

    def __init__(self, root: int, max_entries: int) -> None:
        self._root = root
        self._left = max_entries
        self.truncated = False

    def entries(self, names: tuple[str, ...], depth: int) -> tuple[TreeEntry, ...]:
        fd = _open(self._root, names)
        if fd is None:
            return ()
        try:
            listing = _list_folder(fd)
        finally:
            os.close(fd)
        folders = [self._folder((*names, name), depth) for name in self._cut(listing.folders)]
        documents = self._cut([name for name, _ in listing.documents])
        return (*folders, *(TreeEntry(name, is_folder=False) for name in documents))

    def _cut(self, names: list[str]) -> list[str]:
        shown = names[: self._left]
        self._left -= len(shown)
        self.truncated = self.truncated or len(shown) < len(names)
        return shown

    def _folder(self, names: tuple[str, ...], depth: int) -> TreeEntry:
        children = self.entries(names, depth - 1) if depth > 1 else None
        return TreeEntry(names[-1], is_folder=True, children=children)


def read_tree(root: int, folder: FolderPath, depth: int, max_entries: int) -> tuple[tuple[TreeEntry, ...], bool]:
    """Return what lies under `folder`, folders first, each sorted, and whether entries were left out.

    Args:
        root: descriptor of `documents/`.
        depth: 1 for the folder's own entries.
        max_entries: how many entries at most, on all levels together; a folder's own come before what is in them.

    Raises:
        OSError: a folder can't be read.
    """
    walk = _Tree(root, max_entries)
    return walk.entries(folder.segments, depth), walk.truncated


def list_documents(root: int) -> Iterator[DocumentStat]:
    """Yield every document, a folder at a time; no descriptor stays open between two of them.

    A folder or file that disappears meanwhile is left out.

    Raises:
        OSError: a folder can't be read.
    """
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        names = waiting.pop()
        fd = _open(root, names)
        if fd is None:
            continue
        try:
            listing = _list_folder(fd)
            stats = list(_stats(names, listing))
        finally:
            os.close(fd)
        waiting.extend((*names, name) for name in reversed(listing.folders))
        yield from stats


def _stats(names: tuple[str, ...], listing: Listing) -> Iterator[DocumentStat]:
    prefix = "".join(name + "/" for name in names)
    room = MAX_PATH_BYTES - len(prefix.encode("utf-8"))
    for name, entry in listing.documents:
        if len(name.encode("utf-8")) > room:
            continue
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield DocumentStat(DocumentPath(prefix + name), found.st_size, found.st_mtime_ns, found.st_ino)


def count_documents(root: int) -> tuple[int, int]:
    """Return how many documents there are, and their bytes.

    Raises:
        OSError: a folder can't be read.
    """
    sizes = [found.size_bytes for found in list_documents(root)]
    return len(sizes), sum(sizes)
