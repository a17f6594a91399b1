"""The tables of an index, and how a connection to them is made: to a new file, to one in use, to one at rest.

Knows SQL's plumbing and nothing about documents. What is stored are numbers: term hashes, offsets, digests; the only
text is the documents' paths. Journal in WAL mode with `synchronous=NORMAL`; `secure_delete` zeroes what is deleted.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Final

FORMAT: Final = 3
"""Version of the tables and of the analysis whose terms they hold. Raise it with either: old files are then rebuilt."""

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
    strengths BLOB NOT NULL,   -- how strongly each term is there, a byte each, in the order of the numbers
    vector BLOB                -- what a model of meaning made of it, if there was one
);
CREATE INDEX passages_document ON passages (document, ordinal);
CREATE TABLE postings (
    term INTEGER NOT NULL,
    block INTEGER NOT NULL,
    passages BLOB NOT NULL,    -- their numbers, ascending, 4 bytes each
    strengths BLOB NOT NULL,   -- a byte each
    PRIMARY KEY (term, block)
) WITHOUT ROWID;
CREATE TABLE gone (            -- passages that postings still name
    id INTEGER PRIMARY KEY,
    terms BLOB NOT NULL        -- term numbers, 4 bytes each
);
CREATE TABLE totals (
    next_passage INTEGER NOT NULL,
    merged INTEGER NOT NULL,       -- postings have the passages up to this number
    gone INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    languages TEXT NOT NULL,       -- in which there are stems, separated by spaces
    model TEXT NOT NULL,           -- by which every passage has a vector; empty when some have none
    pending_inode INTEGER NOT NULL,
    pending_offset INTEGER NOT NULL
);
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0, '', '', 0, 0);
"""
_BULK: Final = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384;"


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


def connect_at_rest(file: str, model: str = "") -> sqlite3.Connection:
    """Open the index `file` to be read as if nobody could change it.

    Raises:
        sqlite3.Error: there is none, or it is no database, or it lacks the vectors of `model`.
    """
    connection = sqlite3.connect(
        f"file:{_quoted(file)}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA cache_size = -1024")
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


def _quoted(file: str) -> str:
    return file.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
