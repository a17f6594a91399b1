"""The sweeper: removes what dead writers left over all scopes of a data directory. Derived from nothing, safe any time.

Left over are temporaries whose lock is free, and the parts of an erased scope that a crash kept from being removed.
Live writers are never disturbed: they hold their temporary's lock.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from .files import open_folder, remove_if_abandoned
from .layout import CURATION, DOCUMENTS, HISTORY, LEVELS, METADATA

ERASED_PREFIX: Final = b"erased-"
"""Start of the names under which the parts of an erased scope wait for their removal."""

ABANDONED_AFTER_SECONDS: Final = 60.0
"""A temporary this old is past the instant between its writer's create and its lock."""


def sweep(data_dir: bytes, now: float, stop: threading.Event) -> int:
    """Remove what is left over; return how many files and folders were removed.

    Args:
        now: seconds since the epoch.
        stop: set to end the sweep early.
    """
    base = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        removed = _sweep_folder(base, now - ABANDONED_AFTER_SECONDS)
        for scope in scope_folders(base):
            removed += _sweep_scope(scope, now - ABANDONED_AFTER_SECONDS, stop)
            if stop.is_set():
                break
    finally:
        os.close(base)
    return removed


def scope_folders(parent: int, levels: tuple[bytes, ...] = LEVELS) -> Iterator[int]:
    """Yield a descriptor of every scope's folder; it is closed when the next one is asked for.

    Args:
        parent: descriptor of the data directory.
        levels: folder names between it and the scopes, each above a folder for every id.
    """
    if not levels:
        yield parent
        return
    with _opened(levels[0], parent) as level:
        if level is None:
            return
        for name in _names(level):
            with _opened(name, level) as folder:
                if folder is not None:
                    yield from scope_folders(folder, levels[1:])


class _opened:  # noqa: N801 - reads as a verb where it is used
    """A folder for a `with` block; None when it can't be opened, also because it is a link."""

    def __init__(self, name: bytes, parent: int) -> None:
        self._fd: int | None = None
        with suppress(OSError):
            self._fd = open_folder(name, parent)

    def __enter__(self) -> int | None:
        return self._fd

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)


def _names(folder: int) -> list[bytes]:
    with suppress(OSError):
        return [os.fsencode(name) for name in os.listdir(folder)]
    return []


def _sweep_scope(scope: int, older_than: float, stop: threading.Event) -> int:
    removed = 0
    for name in _names(scope):
        if name.startswith(ERASED_PREFIX):
            shutil.rmtree(name, ignore_errors=True, dir_fd=scope)
            removed += 1
    removed += _sweep_folder(scope, older_than)
    for part in (HISTORY, METADATA, CURATION, DOCUMENTS):
        removed += _sweep_below(scope, (part,), older_than, stop)
    return removed


def _sweep_below(scope: int, names: tuple[bytes, ...], older_than: float, stop: threading.Event) -> int:
    removed = 0
    waiting = [names]
    while waiting and not stop.is_set():
        current = waiting.pop()
        fd = _open_all(scope, current)
        if fd is None:
            continue
        try:
            removed += _sweep_folder(fd, older_than)
            waiting.extend((*current, name) for name in _subfolders(fd))
        finally:
            os.close(fd)
    return removed


def _open_all(scope: int, names: tuple[bytes, ...]) -> int | None:
    fd = os.dup(scope)
    for name in names:
        try:
            below = open_folder(name, fd)
        except OSError:
            return None
        finally:
            os.close(fd)
        fd = below
    return fd


def _subfolders(fd: int) -> list[bytes]:
    with suppress(OSError), os.scandir(fd) as entries:
        return [os.fsencode(entry.name) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def _sweep_folder(fd: int, older_than: float) -> int:
    return sum(remove_if_abandoned(name, fd, older_than) for name in _names(fd))
