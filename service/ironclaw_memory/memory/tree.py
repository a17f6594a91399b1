"""`tree`: what is in a folder, a few levels deep."""

from __future__ import annotations

from typing import Final, Protocol

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.document import TreeEntry
from ironclaw_memory.contract.path import FolderPath, parse_folder_path
from ironclaw_memory.contract.scope import Scope

MAX_TREE_ENTRIES: Final = 20_000
"""With names of ordinary length this stays below the 4 MiB that gRPC clients take by default."""


class ListingStore(Protocol):
    """What listing needs of the store."""

    def tree(
        self, scope: Scope, folder: FolderPath, depth: int, max_entries: int
    ) -> tuple[tuple[TreeEntry, ...], bool]:
        """See `store.documents.DocumentStore.tree`."""


class Lister:
    """Lists the folders of one scope at a time."""

    def __init__(self, store: ListingStore) -> None:
        self._store = store

    def tree(self, call: Call, path: str, depth: int) -> tuple[tuple[TreeEntry, ...], bool]:
        """Return the entries of a folder, and whether some had to be left out.

        Args:
            call: who asks.
            path: the folder; empty is the root.
            depth: levels to open, 1 to 10.

        Raises:
            InvalidPath: the path breaks the grammar. An unknown folder is no error but empty.
        """
        return self._store.tree(call.scope, parse_folder_path(path), depth, MAX_TREE_ENTRIES)
