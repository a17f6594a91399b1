"""Making, rotating and revoking API keys: what `ironclaw-memory keys` does, on the keys of one data folder.

A key is shown once, when it is made; nobody can look it up afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ironclaw_memory.contract.grant import Grant

from .key_file import KeyRecord, Keys, KeyState, change_keys
from .key_text import digest_of, id_of, make_key
from .problem import CredentialsError


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made.

    Attributes:
        key: the whole key, to be shown once and kept nowhere.
        record: what is kept of it.
    """

    key: str
    record: KeyRecord


class KeyCabinet:
    """The API keys of a data folder.

    Args:
        data_dir: the folder.
        now: the time, in seconds since the epoch.

    Each change is durable when it returns, is in force with the next call to any server on the folder, and raises
    `CredentialsError` when the file can't be used or there is no such key.
    """

    def __init__(self, data_dir: Path, now: Callable[[], float] = time.time) -> None:
        self._data_dir = data_dir
        self._now = now

    def create(self, name: str, grant: Grant, seconds: int | None) -> NewKey:
        """Make a key that works for `seconds`; None for ever."""
        made = self._make(name, grant, seconds)
        change_keys(self._data_dir, lambda keys: {**keys, made.record.key_id: made.record})
        return made

    def rotate(self, key_id: str, overlap_seconds: int) -> NewKey:
        """Make a successor with the same name, grant and lifetime; the old key works on for `overlap_seconds` at most.

        Raises:
            CredentialsError: the key doesn't work any more, so it has nothing to hand on.
        """
        successors: list[NewKey] = []

        def change(keys: Keys) -> Keys:
            old, now = _find(keys, key_id), int(self._now())
            if old.state(now) is not KeyState.ACTIVE:
                raise CredentialsError(f"the key {key_id} is {old.state(now)}; make a new one")
            lifetime = None if old.expires_at is None else old.expires_at - old.created_at
            successors.append(self._make(old.name, old.grant, lifetime))
            end = now + overlap_seconds
            retired = replace(old, expires_at=end if old.expires_at is None else min(old.expires_at, end))
            return {**keys, key_id: retired, successors[0].record.key_id: successors[0].record}

        change_keys(self._data_dir, change)
        return successors[0]

    def revoke(self, key_id: str) -> None:
        """End a key now, for good. Its record stays, for those who read the log; revoking again changes nothing."""

        def change(keys: Keys) -> Keys:
            record = _find(keys, key_id)
            return {**keys, key_id: replace(record, revoked_at=record.revoked_at or int(self._now()))}

        change_keys(self._data_dir, change)

    def _make(self, name: str, grant: Grant, seconds: int | None) -> NewKey:
        key, now = make_key(), int(self._now())
        key_id = id_of(key)
        assert key_id is not None  # noqa: S101  # our own key; tells the type checker
        expires_at = None if seconds is None else now + seconds
        return NewKey(key, KeyRecord(key_id, digest_of(key), name, grant, created_at=now, expires_at=expires_at))


def _find(keys: Keys, key_id: str) -> KeyRecord:
    try:
        return keys[key_id]
    except KeyError:
        raise CredentialsError(f"there is no key {key_id}") from None
