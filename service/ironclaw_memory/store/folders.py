"""The folders that lead to documents: tidied up when empty, and flushed with a document whose state is in doubt."""

from __future__ import annotations

import os
from contextlib import suppress

from .files import Temporary, close_all, flush, make_folders, open_folders


def write_anew_locked(documents: int, names: list[bytes], content: bytes | None) -> None:
    """Make durable what a writer left in doubt (rule 10 of `commit.py`): the same bytes in a new file, or no file.

    Args:
        documents: descriptor of `documents/`.
        names: the names from there to the document.

    Raises:
        OSError: it is still in doubt.
    """
    if content is None:
        _flush_deepest(documents, names[:-1])
        return
    chain = make_folders(documents, names[:-1])
    try:
        temporary = Temporary(chain[-1], content)
        try:
            temporary.place(names[-1])
        except BaseException:
            temporary.discard()
            raise
        temporary.close()
        for folder in reversed(chain):
            flush(folder)
    finally:
        close_all(chain)


def _flush_deepest(documents: int, names: list[bytes]) -> None:
    for depth in range(len(names), -1, -1):
        with suppress(FileNotFoundError):
            folder = open_folders(documents, names[:depth])
            try:
                flush(folder)
            finally:
                os.close(folder)
            return


def remove_empty_folders(documents: int, names: list[bytes]) -> None:
    """Remove the folders at `names` from the bottom up, as far as they are empty. Never fails."""
    for depth in range(len(names), 0, -1):
        try:
            parent = open_folders(documents, names[: depth - 1])
        except OSError:
            return
        try:
            os.rmdir(names[depth - 1], dir_fd=parent)
        except OSError:
            return
        finally:
            os.close(parent)
