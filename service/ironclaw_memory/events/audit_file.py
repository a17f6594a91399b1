"""One file of the trail, open for appending by this process alone.

It knows bytes, not events. Rules 2 to 4 of `audit_log` are kept here. Its lock says that the writer lives: who mends
what dead processes left asks for it, and the kernel frees it with its holder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import structlog

from .chain import BEGINNING, Head, forge_line
from .record import encode_body

NAME: Final = re.compile(r"events-(?P<opened>\d{8}T\d{6}\.\d{6}Z)-\d+-[0-9a-f]{8}\.jsonl")
_TIME: Final = "%Y%m%dT%H%M%S.%fZ"

_log = structlog.get_logger(__name__)


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def make_name(folder: Path, now: datetime) -> str:
    """Return a name that nobody else makes and that sorts after those in the folder, even if the clock was set back."""
    opened = now.astimezone(UTC)
    if names := list_files(folder):
        opened = max(opened, _opened_at(names[-1]) + timedelta(microseconds=1))
    return f"events-{opened.strftime(_TIME)}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"


def opened_before(name: str, seconds: float) -> str:
    """Return the beginning of a name that was made so many seconds before the file `name`."""
    return f"events-{(_opened_at(name) - timedelta(seconds=seconds)).strftime(_TIME)}"


def _opened_at(name: str) -> datetime:
    match = NAME.fullmatch(name)
    if match is None:
        raise ValueError("no name of a file of the trail")
    return datetime.strptime(match["opened"], _TIME).replace(tzinfo=UTC)


def list_files(folder: Path) -> list[str]:
    """Return the names of the trail's files, the one opened first first; nothing when there is no folder."""
    try:
        return sorted(name for name in os.listdir(folder) if NAME.fullmatch(name))
    except FileNotFoundError:
        return []


class AuditFile:
    """A file and the head of its chain.

    Attributes:
        name: its name.
        opened: when it was made.
        size: its bytes so far.
        head: where its chain ends.
    """

    def __init__(self, descriptor: int, name: str, opened: datetime) -> None:
        self.name = name
        self.opened = opened
        self.size = 0
        self.head = Head(name, 0, BEGINNING)
        self._descriptor = descriptor
        self._owner = os.getpid()
        self._on_disk = 0

    @classmethod
    def create(cls, folder: Path, now: datetime) -> AuditFile:
        """Make a file, and its folder if need be; their names are on the disk when this returns."""
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(folder.parent)
        name = make_name(folder, now)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        file = cls(os.open(folder / name, flags, 0o600), name, now)
        try:
            fcntl.flock(file._descriptor, fcntl.LOCK_EX)
            sync_folder(folder)
        except OSError:
            file.abandon()
            raise
        return file

    @property
    def is_ours(self) -> bool:
        """Whether this process made the file, and didn't inherit it over a fork."""
        return self._owner == os.getpid()

    def is_usable(self) -> bool:
        """Tell whether the file is this process's own and still has a name."""
        return self.is_ours and os.fstat(self._descriptor).st_nlink > 0

    def append(self, members: bytes, now: datetime, key: bytes, *, durable: bool) -> None:
        """Add a record, whole, and put it on the disk if `durable`; an error takes back what was written.

        Args:
            members: what the record says, as JSON without braces.
            now: its time.
            key: the chains'.
            durable: whether to wait for the disk.
        """
        previous = self.head.hash
        line, digest = forge_line(encode_body(self.head.sequence + 1, now, members), previous, key)
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, "short write of an audit event")
            if durable:
                os.fdatasync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, self.size)
            raise
        self.size += written
        self.head = Head(self.name, self.head.sequence + 1, digest)
        if durable:
            self._on_disk = self.size

    def needs_sync(self) -> bool:
        """Tell whether something was written that isn't known to be on the disk."""
        return self._on_disk < self.size

    def borrow(self) -> int:
        """Return a descriptor of its own for a sync that needs no lock; the borrower closes it."""
        return os.dup(self._descriptor)

    def note_synced(self, size: int) -> None:
        """Take note that the first `size` bytes are on the disk."""
        self._on_disk = max(self._on_disk, size)

    def close(self) -> None:
        """Put what was written on the disk and close."""
        try:
            os.fdatasync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def abandon(self) -> None:
        """Close without a word; nothing that was promised depends on it."""
        try:
            os.close(self._descriptor)
        except OSError:
            _log.warning("audit_file_close_failed")


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
