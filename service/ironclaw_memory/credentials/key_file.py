"""The file of API keys, `credentials/keys.json` in the data folder: its records, and changing it under a lock.

It holds hashes, never keys. Whoever changes it replaces it whole and durably, so a server that reads it meanwhile sees
the old or the new list, and a revocation that was confirmed survives a power cut.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import filelock

from ironclaw_memory.contract.grant import Grant, GrantInvalid, grant_record, parse_grant
from ironclaw_memory.store.files import close_all, make_folders, replace_file
from ironclaw_memory.store.health import FolderGone

from .problem import CredentialsError

FOLDER: Final = "credentials"
KEY_FILE: Final = "keys.json"
_LOCK_FILE: Final = "lock"
_LOCK_SECONDS: Final = 10.0
_FORMAT: Final = 1
_ID: Final = re.compile(r"[a-z0-9]{10}", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class KeyState(StrEnum):
    """Whether a key works now, and why not."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What is kept of one API key. Times are seconds since the epoch.

    Attributes:
        key_id: the public part.
        digest: SHA-256 of the whole key, in hex.
        name: what its maker calls it.
        grant: what it allows.
        created_at: when it was made.
        expires_at: from when on it doesn't work; None for never.
        revoked_at: when it was revoked; None as long as it wasn't.
    """

    key_id: str
    digest: str
    name: str
    grant: Grant
    created_at: int
    expires_at: int | None
    revoked_at: int | None = None

    def state(self, now: float) -> KeyState:
        """Return what the key is at a time."""
        if self.revoked_at is not None:
            return KeyState.REVOKED
        if self.expires_at is not None and now >= self.expires_at:
            return KeyState.EXPIRED
        return KeyState.ACTIVE


Keys = Mapping[str, KeyRecord]
"""Records by key id, oldest first."""


def key_file(data_dir: Path) -> Path:
    """Return where a data folder keeps its API keys."""
    return data_dir / FOLDER / KEY_FILE


def parse_keys(content: bytes) -> Keys:
    """Return the records in a file's bytes.

    Raises:
        CredentialsError: it isn't a list of keys that this version understands.
    """
    try:
        document = json.loads(content)
        if document["format"] != _FORMAT:
            raise CredentialsError(f"format {document['format']!r} isn't known to this version")
        records = [_parse_record(entry) for entry in document["keys"]]
    except GrantInvalid as error:
        raise CredentialsError(str(error)) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CredentialsError("damaged; restore it from a backup") from None
    keys = {record.key_id: record for record in records}
    if len(keys) != len(records):
        raise CredentialsError("damaged: an id stands there twice")
    return keys


def _parse_record(entry: Any) -> KeyRecord:
    record = KeyRecord(**{**entry, "grant": parse_grant(entry["grant"])})
    times = (record.created_at, *(time for time in (record.expires_at, record.revoked_at) if time is not None))
    if not (_ID.fullmatch(record.key_id) and _DIGEST.fullmatch(record.digest)):
        raise ValueError(record.key_id)
    if not all(type(time) is int for time in times) or not isinstance(record.name, str):
        raise TypeError(record.key_id)
    return record


def format_keys(keys: Keys) -> bytes:
    """Return the bytes that `parse_keys` reads back."""
    entries = [
        {name: getattr(record, name) for name in KeyRecord.__slots__} | {"grant": grant_record(record.grant)}
        for record in keys.values()
    ]
    return json.dumps({"format": _FORMAT, "keys": entries}, indent=1, ensure_ascii=False).encode("utf-8") + b"\n"


def change_keys(data_dir: Path, change: Callable[[Keys], Keys]) -> None:
    """Replace the keys by what `change` makes of them.

    Durability: the new list is on the disk when this returns.

    Raises:
        CredentialsError: the file can't be read or written, or another process holds it.
    """
    with open_credentials(data_dir) as folder:
        keys = change(read_keys(data_dir))
        replace_file(os.fsencode(KEY_FILE), format_keys(keys), folder)


def read_keys(data_dir: Path) -> Keys:
    """Return the keys of a data folder; none where there is no file.

    Raises:
        CredentialsError: the file can't be read or understood.
    """
    path = key_file(data_dir)
    try:
        return parse_keys(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CredentialsError(f"{path} can't be read: {error.strerror}") from None
    except CredentialsError as error:
        raise CredentialsError(f"{path}: {error}") from None


@contextmanager
def open_credentials(data_dir: Path) -> Iterator[int]:
    """Hold the folder of credentials alone among processes, and yield its descriptor; it is made where it is missing.

    Raises:
        CredentialsError: it can't be used, or another process holds it for too long.
    """
    try:
        root = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            chain = make_folders(root, [os.fsencode(FOLDER)])
        finally:
            os.close(root)
        try:
            with filelock.UnixFileLock(data_dir / FOLDER / _LOCK_FILE, timeout=_LOCK_SECONDS, mode=0o600):
                yield chain[-1]
        finally:
            close_all(chain)
    except OSError as error:
        raise CredentialsError(f"{data_dir / FOLDER} can't be used: {error.strerror}") from None
    except FolderGone:
        raise CredentialsError(f"{data_dir / FOLDER} was removed meanwhile") from None
    except filelock.Timeout:
        raise CredentialsError(f"another process holds {data_dir / FOLDER / _LOCK_FILE}") from None
