"""A reader's place in the trail of a data directory, small however long the trail is, and its form for the wire.

Files that are still written, or were opened lately, are named with an offset each; all others that were opened before
`floor` count as read. `SLACK_SECONDS` is how long a file may stay unseen after its name was made.

The text is opaque and carries a tag under the data directory's key: only a cursor that a server of this data directory
gave out is taken, so nobody can point a reader at another file or into the middle of a record.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SLACK_SECONDS: Final = 60.0
READ: Final = -1
"""Stands for an offset where a file was read to its end and nothing will follow."""

_TAG_BYTES: Final = 16
_PURPOSE: Final = b"ironclaw-memory cursor"


class CursorInvalid(Exception):
    """The text isn't a cursor of this data directory."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the trail.

    Attributes:
        floor: beginning of a file's name; files that sort before it and aren't in `offsets` were read.
        offsets: how much of each file was read.
    """

    floor: str = ""
    offsets: Mapping[str, int] = field(default_factory=dict)

    def encode(self, key: bytes) -> str:
        """Return the position as text."""
        body = json.dumps([self.floor, dict(self.offsets)], separators=(",", ":")).encode("ascii")
        return base64.urlsafe_b64encode(_tag(body, key) + body).decode("ascii").rstrip("=")


def decode_position(text: str, key: bytes) -> Position:
    """Return the position that `encode` made the text of.

    Raises:
        CursorInvalid: it didn't.
    """
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise CursorInvalid from None
    tag, body = data[:_TAG_BYTES], data[_TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(body, key)):
        raise CursorInvalid
    floor, offsets = json.loads(body)
    return Position(floor, offsets)


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.digest(hmac.digest(key, _PURPOSE, "sha256"), body, "sha256")[:_TAG_BYTES]
