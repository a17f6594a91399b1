"""The index's SQLite file of one scope as its readers and its writer use it: transactions, and connections kept open.

Knows nothing of what is in the tables; those and how a connection is made are `tables`. A commit costs no fsync, a
power cut loses the latest commits but never the file's consistency, and what is lost is found missing by the next
comparison with the files.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from .tables import connect, connect_at_rest

IDLE_CONNECTIONS: Final = 2
"""Connections kept for a scope between searches; more are opened when more threads search, and closed after."""

CHECKPOINT_BYTES: Final = 256 * 1024
"""Size of the journal from which the background moves it into the file; at 4 MB (1,000 pages) a writer has to."""

REST_NS: Final = 2_000_000_000
"""Age from which the time of a file tells two states of it apart, on any file system."""

Found = TypeVar("Found")


class DatabaseUnusable(Exception):
    """The file is missing, damaged or of another format: it has to be built again.

    Args:
        file: the path of the database.
        problem: the kind of error that showed it.
    """

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(problem)
        self.file = file


class DatabaseBusy(OSError):
    """The file can't be used at the moment, for a reason that building it again wouldn't mend."""


_PASSING: Final = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,  # out of descriptors; where the file is gone `_explain` sees it
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    )
)
"""Primary result codes that say nothing about the file's soundness."""


class Database:
    """One index file and its connections. Threads may share it; a forked child must not.

    An index that nobody changes is read at rest: while it has no journal its file is whole, and SQLite need neither
    look for a journal nor make one, nor lock anything; that opens in a third of the time and takes one descriptor
    instead of three. Whether the file stayed as it was is seen by its stat afterwards; where it didn't, what was read
    is thrown away and read again by the journal's rules.

    Args:
        file: its path.
        model: by which every passage must have a vector; empty when that doesn't matter.
    """

    def __init__(self, file: str, model: str = "") -> None:
        self.file = file
        self._model = model
        self._idle: list[sqlite3.Connection] = []
        self._at_rest: list[sqlite3.Connection] = []
        self._rest: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def read(self, look: Callable[[sqlite3.Connection], Found]) -> Found:
        """Return what `look` finds by statements that all see one state of the index; it may be called twice.

        Raises:
            DatabaseUnusable: the file can't be read as an index.
            DatabaseBusy: not now.
        """
        rest = self._rest_now()
        if rest is not None:
            with suppress(sqlite3.Error):  # what is wrong with the file, if anything, shows below
                found = self._read_at_rest(rest, look)
                if self._rest_now() == rest:
                    return found
        self._leave_rest()
        with self._lent() as connection:
            connection.execute("BEGIN")
            try:
                return look(connection)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def _rest_now(self) -> tuple[int, int] | None:
        """Return time and size of the file while it is at rest: without a journal, and not just changed."""
        if self._idle or os.path.exists(f"{self.file}-wal"):
            return None
        try:
            stat = os.stat(self.file)
        except FileNotFoundError:
            return None
        return (stat.st_mtime_ns, stat.st_size) if time.time_ns() - stat.st_mtime_ns > REST_NS else None

    def _read_at_rest(self, rest: tuple[int, int], look: Callable[[sqlite3.Connection], Found]) -> Found:
        with self._lock:
            stale = self._at_rest if rest != self._rest else []
            if stale or rest != self._rest:
                self._at_rest, self._rest = [], rest
            connection = self._at_rest.pop() if self._at_rest else None
        for each in stale:
            each.close()
        connection = connection or connect_at_rest(self.file, self._model)
        try:
            return look(connection)
        finally:
            with self._lock:
                keep = not self._closed and rest == self._rest and len(self._at_rest) < IDLE_CONNECTIONS
                if keep:
                    self._at_rest.append(connection)
            if not keep:
                connection.close()

    def _leave_rest(self) -> None:
        """Close the connections that read the file at rest: what they know of it is about to be old."""
        if self._at_rest:
            with self._lock:
                idle, self._at_rest = self._at_rest, []
            for each in idle:
                each.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for one transaction: committed when the block ends, undone when it raises.

        The caller holds the scope's write lock; SQLite's own is only waited for when a reader recovers the journal.

        Raises:
            DatabaseUnusable: the file can't be written as an index.
            DatabaseBusy: not now, or the disk is full.
        """
        with self._lent() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def checkpoint(self) -> None:
        """Move a journal that has grown into the file, as far as no one reads it; nobody waits for this."""
        with suppress(FileNotFoundError):
            if os.stat(f"{self.file}-wal").st_size > CHECKPOINT_BYTES:
                with self._lent() as connection:
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def is_active(self) -> bool:
        """Tell whether this process has connections that keep a journal."""
        return bool(self._idle)

    def come_to_rest(self) -> None:
        """Close the connections that keep a journal, unless the file was changed a moment ago; nobody waits for this.

        The last one to close moves the journal into the file and deletes it, after which the index is read at rest.
        """
        try:
            if time.time_ns() - os.stat(f"{self.file}-wal").st_mtime_ns < REST_NS:
                return
        except FileNotFoundError:
            return
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            idle = self._idle + self._at_rest
            self._idle, self._at_rest, self._closed = [], [], True
        for connection in idle:
            connection.close()

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._take()
            yield connection
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
                connection = None
            raise _explain(self.file, error) from error
        finally:
            if connection is not None:
                self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return connect(self.file, self._model)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()


def _explain(file: str, error: sqlite3.Error) -> DatabaseUnusable | DatabaseBusy:
    """Return what an error of SQLite's means for the index `file`."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    primary = code & 0xFF
    passing = primary in _PASSING or (primary == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_SHORT_READ)
    if passing and os.path.exists(file):
        return DatabaseBusy(type(error).__name__)
    return DatabaseUnusable(file, type(error).__name__)
