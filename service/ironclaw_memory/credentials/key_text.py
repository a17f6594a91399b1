"""What an API key looks like: `icm_<id>_<secret>_<check>`, made here and taken apart here. Pure.

The prefix lets secret scanners find a leaked key, ours included (`safety.secrets`). The id is no secret: it stands in
lists and logs. The check tells a mistyped or made-up key without a look at any file. Only a hash of the whole is kept;
a slow hash would add nothing to 256 random bits.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib
from typing import Final

PREFIX: Final = "icm_"
_ID_CHARACTERS: Final = string.ascii_lowercase + string.digits
_SECRET_CHARACTERS: Final = string.ascii_letters + string.digits
_ID_LENGTH, _SECRET_LENGTH, _CHECK_LENGTH = 10, 43, 6
"""43 of 62 characters are 256 bits; 6 hold a CRC-32."""

_SHAPE: Final = re.compile(r"icm_([a-z0-9]{10})_[A-Za-z0-9]{43}_[A-Za-z0-9]{6}", re.ASCII)


def make_key() -> str:
    """Return a new key, fit to be used at once."""
    key_id = "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LENGTH))
    secret = "".join(secrets.choice(_SECRET_CHARACTERS) for _ in range(_SECRET_LENGTH))
    start = f"{PREFIX}{key_id}_{secret}"
    return f"{start}_{_check(start)}"


def id_of(key: str) -> str | None:
    """Return the id in a key; None when this is no key of ours, or one with a mistake in it."""
    shape = _SHAPE.fullmatch(key)
    start, _, check = key.rpartition("_")
    return shape.group(1) if shape and check == _check(start) else None


def digest_of(key: str) -> str:
    """Return what is kept of a key: the SHA-256 of all of it, in hex."""
    return hashlib.sha256(key.encode("ascii")).hexdigest()


def _check(start: str) -> str:
    number, characters = zlib.crc32(start.encode("ascii")), ""
    for _ in range(_CHECK_LENGTH):
        number, place = divmod(number, len(_SECRET_CHARACTERS))
        characters = _SECRET_CHARACTERS[place] + characters
    return characters
