"""Proves API keys against their file, which is read again when it changes: a revocation holds at the next call."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from ironclaw_memory.contract.grant import Grant, Principal

from .key_file import Keys, KeyState, key_file, parse_keys
from .key_text import digest_of, id_of
from .last_use import LastUse
from .problem import Refused
from .watched_file import WatchedFile

_NOBODY_S_DIGEST: Final = "0" * 64


class KeyRing:
    """The API keys that a server accepts.

    Args:
        data_dir: the data folder.
        now: the time, in seconds since the epoch.

    Raises:
        CredentialsError: the file of keys is there and can't be used.
    """

    def __init__(self, data_dir: Path, now: Callable[[], float] = time.time) -> None:
        self._file: WatchedFile[Keys] = WatchedFile(key_file(data_dir), parse_keys, absent={})
        self._last_use = LastUse(data_dir, now)
        self._now = now

    def holds_any(self) -> bool:
        """Tell whether there are keys, be they expired or revoked."""
        return bool(self._file.current())

    def prove(self, key: str) -> Principal:
        """Return whose key this is.

        Raises:
            Refused: it isn't well-formed, isn't known, or doesn't work any more.
        """
        key_id = id_of(key)
        if key_id is None:
            raise Refused("malformed API key")
        record = self._file.current().get(key_id)
        # Compared whether the id is known or not, so that the time doesn't tell.
        matches = hmac.compare_digest(digest_of(key), record.digest if record else _NOBODY_S_DIGEST)
        if record is None:
            raise Refused("unknown API key")  # its id is the caller's invention, so it isn't logged
        if not matches:
            raise Refused("forged API key", key_id)
        now = self._now()
        if (state := record.state(now)) is not KeyState.ACTIVE:
            raise Refused(f"{state} API key", key_id)
        self._last_use.note(key_id, int(now))
        return _principal(key_id, record.grant)

    def close(self) -> None:
        """Keep the last uses that aren't kept yet."""
        self._last_use.close()


@lru_cache(maxsize=1024)
def _principal(key_id: str, grant: Grant) -> Principal:
    return Principal(f"api_key:{key_id}", grant)
