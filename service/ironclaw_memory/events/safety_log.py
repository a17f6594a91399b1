"""Keeps safety events in append-only files, one JSON object a line. The one sink of the audit trail.

It doesn't decide what is recorded and never reads back. Its rules, and what each prevents:

1. A file belongs to one process; its name says which. Processes that share a data directory need no lock between them.
2. A record is one `write` to a file opened for appending. What was written short is cut off again and the event counts
   as lost, so a reader never finds half a record before a whole one.
3. After a failed write or `fdatasync` the file is never used again. The kernel may have dropped the pages and forgotten
   the error, so a later sync of the same file would promise what isn't true.
4. A file's name is made durable when the file is made; otherwise a power cut could take the file with its synced
   records.
5. A file that someone removed is replaced, not written to: records in it would reach nobody.
6. Sequence numbers count from 1 in each file without a gap, and are given only to records that are there.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from ..contract.safety import SafetyFinding
from ..contract.scope import Scope
from .event import describe, encode_line

MAX_BYTES: Final = 64 << 20
"""A file is closed and the next begun before it would grow past this many bytes; some hundred thousand events."""

_log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SafetyLog:
    """The sink of one process; safe to share between threads.

    Args:
        folder: where the files go; made with mode 0700 when the first event comes.
        key: the data directory's secret, for the hash of paths.
        now: tells the time, with a zone.
        max_bytes: when a file is full, in bytes.
    """

    def __init__(
        self, folder: Path, key: bytes, *, now: Callable[[], datetime] = _utc_now, max_bytes: int = MAX_BYTES
    ) -> None:
        self._folder = folder
        self._key = key
        self._now = now
        self._max_bytes = max_bytes
        self._boot = now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        self._file: _EventFile | None = None
        self._lock = threading.Lock()
        self._losses = 0

    @property
    def losses(self) -> int:
        """How many events could not be recorded since the process began."""
        return self._losses

    def recorder(self, scope: Scope, correlation_id: str) -> CallRecorder:
        """Return a recorder for the events of one call."""
        return CallRecorder(self, scope, correlation_id)

    def record(self, finding: SafetyFinding, scope: Scope, correlation_id: str) -> None:
        """Append one event.

        Durability: when this returns, the event is in the file; if `finding.must_be_durable`, it is on the disk and so
        is the file's name.

        Raises:
            OSError: the event isn't recorded. It was counted and logged.
        """
        try:
            with self._lock:
                self._append_locked(finding, scope, correlation_id)
        except OSError as error:
            self._count_loss(finding, correlation_id, error)
            raise

    def close(self) -> None:
        """Put everything on the disk and close the file; an event that comes later begins a new one.

        Raises:
            OSError: the last events may not be on the disk.
        """
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def _append_locked(self, finding: SafetyFinding, scope: Scope, correlation_id: str) -> None:
        file = self._usable_file_locked()
        line = self._line_for(file, finding, scope, correlation_id)
        if file.size and file.size + len(line) > self._max_bytes:
            self._file = None
            file.close()
            file = self._usable_file_locked()
            line = self._line_for(file, finding, scope, correlation_id)
        try:
            file.append(line, durable=finding.must_be_durable)
        except OSError:
            self._file = None
            file.abandon()
            raise

    def _line_for(self, file: _EventFile, finding: SafetyFinding, scope: Scope, correlation_id: str) -> bytes:
        return encode_line(
            describe(
                finding,
                scope=scope,
                correlation_id=correlation_id,
                key=self._key,
                time=self._now(),
                sequence=file.records + 1,
            )
        )

    def _usable_file_locked(self) -> _EventFile:
        if self._file is not None and not self._file.is_usable():
            self._file.abandon()
            self._file = None
        if self._file is None:
            name = f"safety-{self._boot}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
            self._file = _EventFile.create(self._folder, name)
        return self._file

    def _count_loss(self, finding: SafetyFinding, correlation_id: str, error: OSError) -> None:
        with self._lock:
            self._losses += 1
            losses = self._losses
        _log.error(
            "safety_event_lost",
            kind=finding.kind.value,
            operation=finding.operation.value,
            errno=errno.errorcode.get(error.errno or 0, "unknown"),
            correlation_id=correlation_id,
            losses=losses,
        )


@dataclass(frozen=True, slots=True)
class CallRecorder:
    """Leaves the events of one call in the log, under its scope and correlation id."""

    log: SafetyLog
    scope: Scope
    correlation_id: str

    def record(self, finding: SafetyFinding) -> None:
        """Append the event; see `SafetyLog.record` for what is durable then.

        Raises:
            OSError: the event isn't recorded.
        """
        self.log.record(finding, self.scope, self.correlation_id)


class _EventFile:
    """One file, open for appending by this process alone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = os.getpid()
        self.size = 0
        self.records = 0

    @classmethod
    def create(cls, folder: Path, name: str) -> _EventFile:
        """Make the file and its folder; their names are on the disk when this returns."""
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync_folder(folder.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        file = cls(os.open(folder / name, flags, 0o600))
        try:
            _sync_folder(folder)
        except OSError:
            file.abandon()
            raise
        return file

    def is_usable(self) -> bool:
        """Tell whether the file still has a name and is this process's own, not one inherited over a fork."""
        return self._owner == os.getpid() and os.fstat(self._descriptor).st_nlink > 0

    def append(self, line: bytes, *, durable: bool) -> None:
        """Write the line whole, and put it on the disk if `durable`; an error takes back what was written."""
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, "short write of a safety event")
            if durable:
                os.fdatasync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, self.size)
            raise
        self.size += written
        self.records += 1

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
            _log.warning("safety_event_file_close_failed")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
