"""The chain that ties the records of a file together, so that a change, a gap or another order shows.

A record is a line of JSON. Its last two members are `previous`, the hash of the record before it, and `hash`, the
HMAC-SHA-256 of the line's own bytes up to `,"hash":`. The bytes are hashed as they are, so nobody has to agree on a
canonical form of JSON. The key is derived from the data folder's: whoever lacks it can't forge a record.

What a chain can't show is that records are missing at its end. For that, heads are anchored outside of the files.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any, Final

BEGINNING: Final = "0" * 64
"""What stands for the hash of the record before the first."""

_LINE: Final = re.compile(
    rb'(?P<body>\{"format":\d+,"sequence":(?P<sequence>\d+),.*,"previous":"(?P<previous>[0-9a-f]{64})")'
    rb',"hash":"(?P<hash>[0-9a-f]{64})"\}\n?'
)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a file's chain ends.

    Attributes:
        file: the file's name.
        sequence: number of its last record, from 1.
        hash: hash of its last record.
    """

    file: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Link:
    """A line taken apart: what the chain says of it, and the rest still as bytes."""

    body: bytes
    sequence: int
    previous: str
    hash: str

    def is_genuine(self, key: bytes) -> bool:
        """Tell whether the line's hash is the one that `key`, a chain's, gives its bytes."""
        return hmac.compare_digest(hmac.digest(key, self.body, "sha256").hex(), self.hash)

    def record(self) -> dict[str, Any]:
        """Return the record without its hash.

        Raises:
            ValueError: it isn't JSON.
        """
        record: dict[str, Any] = json.loads(self.body + b"}")
        return record


def derive_key(key: bytes) -> bytes:
    """Return the key of the chains from the data folder's, which keys other hashes too."""
    return hmac.digest(key, b"ironclaw-memory audit chain", hashlib.sha256)


def forge_line(body: bytes, previous: str, key: bytes) -> tuple[bytes, str]:
    """Return the line of a record and its hash.

    Args:
        body: the record as JSON, without its closing brace.
        previous: hash of the record before it.
        key: the chains'.
    """
    linked = b'%b,"previous":"%b"' % (body, previous.encode("ascii"))
    digest = hmac.digest(key, linked, "sha256").hex()
    return b'%b,"hash":"%b"}\n' % (linked, digest.encode("ascii")), digest


def parse_line(line: bytes) -> Link | None:
    """Take a line apart; None when it isn't a whole record."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    return Link(match["body"], int(match["sequence"]), match["previous"].decode(), match["hash"].decode())
