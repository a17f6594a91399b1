"""The index's SQLite file of one scope: its tables, its settings, and its connections.

Knows SQL's plumbing and nothing about documents. What is stored are numbers: term hashes, offsets, digests; the only
text is the documents' paths. Journal in WAL mode with `synchronous=NORMAL`: a commit costs no fsync, a power cut loses
the latest commits but never the file's consistency, and what is lost is found missing by the next comparison with the
files. `secure_delete` zeroes what is deleted.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

FORMAT: Final = 2
"""Version of the tables and of the analysis whose terms they hold. Raise it with either: old files are then rebuilt."""

IDLE_CONNECTIONS: Final = 4
"""Connections kept for a scope between searches; more are opened when more threads search, and closed after."""

CHECKPOINT_BYTES: Final = 256 * 1024
"""Size of the journal from which the background moves it into the file; at 4 MB (1,000 pages) a writer has to."""

_SCHEMA: Final = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    folded TEXT NOT NULL,      -- for filters that ignore letter case
    state TEXT NOT NULL,       -- indexed, skipped, or why the document can't be searched
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    day INTEGER NOT NULL       -- what the document is dated, else modified: a proleptic ordinal
);
CREATE INDEX documents_folded ON documents (folded);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    line INTEGER NOT NULL,
    digest BLOB NOT NULL,
    body BLOB NOT NULL,        -- term numbers in reading order, 4 bytes each
    context BLOB NOT NULL,     -- term numbers of the headings and the path
    vector BLOB                -- what a model of meaning made of it, if there was one
);
CREATE INDEX passages_document ON passages (document, ordinal);
CREATE TABLE postings (
    term INTEGER NOT NULL,
    block INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (term, block)
) WITHOUT ROWID;
CREATE TABLE totals (
    next_passage INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    languages TEXT NOT NULL,       -- in which there are stems, separated by spaces
    model TEXT NOT NULL,           -- by which every passage has a vector; empty when some have none
    pending_inode INTEGER NOT NULL,
    pending_offset INTEGER NOT NULL
);
INSERT INTO totals VALUES (0, 0, 0, 0, '', '', 0, 0);
"""
_BULK: Final = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384;"


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

    Args:
        file: its path.
        model: by which every passage must have a vector; empty when that doesn't matter.
    """

    def __init__(self, file: str, model: str = "") -> None:
        self.file = file
        self._model = model
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection whose statements all see one state of the index.

        Raises:
            DatabaseUnusable: the file can't be read as an index.
            DatabaseBusy: not now.
        """
        with self._lent() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

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

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
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


def connect(file: str, model: str = "") -> sqlite3.Connection:
    """Open the existing index `file`.

    Raises:
        sqlite3.Error: there is none, or it is no index of this format, or it lacks the vectors of `model`.
    """
    connection = sqlite3.connect(
        f"file:{_quoted(file)}?mode=rw", uri=True, timeout=5.0, isolation_level=None, check_same_thread=False
    )
    try:
        connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;"
            "PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 1048576;"
        )
        if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
            raise sqlite3.DatabaseError("another format")
        if model and connection.execute("SELECT model FROM totals").fetchone()[0] != model:
            raise sqlite3.DatabaseError("another model")
    except BaseException:
        connection.close()
        raise
    return connection


def create(file: str, model: str = "") -> sqlite3.Connection:
    """Make an empty index at `file`, for one writer that fills it before anyone else knows of it.

    `model` names what gives every passage its vector. Nothing is durable until `finish`.
    """
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.executescript(f"{_BULK}{_SCHEMA}PRAGMA user_version = {FORMAT};")
    connection.execute("UPDATE totals SET model = ?", (model,))
    return connection


def create_in_memory() -> sqlite3.Connection:
    """Make an empty index that lives as long as its connection."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(_SCHEMA)
    return connection


def finish(connection: sqlite3.Connection, file: str) -> None:
    """Close a file made by `create`; it is on the disk when this returns."""
    connection.close()
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explain(file: str, error: sqlite3.Error) -> DatabaseUnusable | DatabaseBusy:
    """Return what an error of SQLite's means for the index `file`."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    primary = code & 0xFF
    passing = primary in _PASSING or (primary == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_SHORT_READ)
    if passing and os.path.exists(file):
        return DatabaseBusy(type(error).__name__)
    return DatabaseUnusable(file, type(error).__name__)


def _quoted(file: str) -> str:
    return file.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
