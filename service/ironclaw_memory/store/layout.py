"""Where things lie in a data directory: names of folders and files, and the encoding of scope ids. Names only, no I/O.

    <data-dir>/
        format.json  key  setup.lock
        tenants/<t>/usage   tally of a tenant's documents and bytes, where it has a quota; derived
        tenants/<t>/users/<u>/agents/<a or _none>/projects/<p or _none>/
            documents/    the truth: one plain file a document, named exactly as its path
            history/      one log a document: the contents that changes replaced
            metadata/     one JSON file a document that has metadata of its own
            requests/     one journal a day: which request ids were done, and with what result
            curation/     which turns count towards the next curation, and its lease
            locks/        permanent, empty lock files; never removed while the scope lives
            index/        the search index's folder; derived
            scope.json    the four ids, word for word
            usage         tally of documents and bytes; derived

Every name here is `bytes`: the kernel takes bytes, and a process under `LC_ALL=C` must see the same files.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final

from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import ABSENT, Scope

DOCUMENTS: Final = b"documents"
HISTORY: Final = b"history"
METADATA: Final = b"metadata"
REQUESTS: Final = b"requests"
LOCKS: Final = b"locks"
CURATION: Final = b"curation"
INDEX: Final = b"index"
SCOPE_FILE: Final = b"scope.json"
USAGE_FILE: Final = b"usage"
CONFIG_NAME: Final = ".config"
"""A folder's `.config` document: its metadata applies to what lies below the folder."""

LEVELS: Final = (b"tenants", b"users", b"agents", b"projects")

MAX_ID_NAME_BYTES: Final = 200
"""An encoded id longer than this is hashed; file systems allow 255, and backup tools like to add a suffix."""

_SAFE: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._@+-")
_FIRST: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_WINDOWS_RESERVED: Final = re.compile(rb"(con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(\.|\Z)")


@lru_cache(maxsize=4096)
def encode_id(value: str) -> bytes:
    """Return the folder name of a scope id: the id itself when it is an ordinary one, else an escaped form.

    Two ids never share a name, also where the file system ignores case or normal form or refuses device names:
    a byte outside `a-z 0-9 . _ @ + -` becomes `%` and two upper-case hex digits, and so does the first byte of a name
    that doesn't start with a letter or digit or that Windows reserves, and a final dot. What is longer than 200 bytes
    then becomes `~` and its SHA-256; no escaped name starts with `~`.
    """
    raw = value.encode("utf-8")
    last = len(raw) - 1
    reserved = _WINDOWS_RESERVED.match(raw) is not None
    name = b"".join(
        b"%%%02X" % byte if _must_escape(byte, index, last, reserved) else bytes((byte,))
        for index, byte in enumerate(raw)
    )
    return name if len(name) <= MAX_ID_NAME_BYTES else b"~" + hashlib.sha256(raw).hexdigest().encode("ascii")


def _must_escape(byte: int, index: int, last: int, reserved: bool) -> bool:
    if index == 0 and (reserved or byte not in _FIRST):
        return True
    return byte not in _SAFE or (index == last and byte == ord("."))


@lru_cache(maxsize=4096)
def scope_names(scope: Scope) -> tuple[bytes, ...]:
    """Return the folder names from the data directory down to the scope's folder."""
    ids = (scope.tenant, scope.user, scope.agent, scope.project)
    # `_none` can't be an id's name: a leading `_` is escaped.
    names = (ABSENT.encode("ascii") if value is None else encode_id(value) for value in ids)
    return tuple(part for level, name in zip(LEVELS, names, strict=True) for part in (level, name))


def document_names(path: DocumentPath) -> list[bytes]:
    """Return the names from `documents/` to the document; the last is the document's own."""
    return path.text.encode("utf-8").split(b"/")


@lru_cache(maxsize=4096)
def path_digest(path: DocumentPath) -> str:
    """Return 32 hex digits that stand for a path in the names of what is kept beside the documents."""
    return hashlib.sha256(path.text.encode("utf-8")).hexdigest()[:32]


def log_name(path: DocumentPath) -> bytes:
    """Return the name of a document's version log in `history/`."""
    return b"%s.log" % path_digest(path).encode("ascii")


def sidecar_name(path: DocumentPath) -> bytes:
    """Return the name of a document's metadata file in `metadata/`."""
    return b"%s.json" % path_digest(path).encode("ascii")
