"""Keeps events in append-only files, one JSON object a line, each chained to the one before it.

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
7. A file's first record names the head of the file that this process wrote before; its last says that it is complete.
   So a file that is missing, or one whose end is, can be told from one that never was.
8. A head is anchored in the log only once it is on the disk: a power cut must not look like somebody's scissors.

Safety findings that must be durable are synced before `record` returns. Everything else is synced within a second by
`keep`; a kill loses nothing of it, a power cut that second.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import structlog

from ..contract.events import ChangeEvent, ChangeKind
from ..contract.safety import SafetyFinding
from ..contract.scope import Scope
from .audit_file import AuditFile, utc_now
from .chain import Head, derive_key
from .record import CLOSED, OPENED, Origin, describe_change, describe_finding, encode_members

MAX_BYTES: Final = 64 << 20
"""A file is closed and the next begun before it would grow past this many bytes; some hundred thousand events."""

MAX_AGE: Final = timedelta(hours=24)
"""A file is closed when it is this old, so that yesterday's can be moved away."""

CLOSING_BYTES: Final = 512
"""Kept free in a file for the record that ends it."""

Observer = Callable[[Mapping[str, Any], datetime], None]
"""Told of each record's members, file, sequence and hash once it is in the file; must not raise nor block."""

_log = structlog.get_logger(__name__)


class AuditLog:
    """The trail of one process; safe to share between threads.

    Args:
        folder: where the files go; made with mode 0700 when the first event comes.
        key: the data directory's secret, for hashes and chains.
        now: tells the time, with a zone.
        max_bytes: when a file is full, in bytes.
        max_age: when a file is old.
        muted: kinds of change events that are let go by without a trace.
        observer: hears of each record.
    """

    def __init__(
        self,
        folder: Path,
        key: bytes,
        *,
        now: Callable[[], datetime] = utc_now,
        max_bytes: int = MAX_BYTES,
        max_age: timedelta = MAX_AGE,
        muted: frozenset[ChangeKind] = frozenset(),
        observer: Observer | None = None,
    ) -> None:
        self._folder = folder
        self._key = key
        self._chain_key = derive_key(key)
        self._now = now
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._muted = muted
        self._observer = observer
        self._lock = threading.Lock()
        # The rest is guarded by _lock.
        self._file: AuditFile | None = None
        self._last: Head | None = None
        self._anchored: Head | None = None
        self._losses = 0

    @property
    def losses(self) -> int:
        """How many events could not be recorded since the process began."""
        return self._losses

    def recorder(
        self, scope: Scope | None, correlation_id: str = "", *, principal: str = "", source_class: str = ""
    ) -> CallRecorder:
        """Return a recorder for the events of one call."""
        return CallRecorder(self, Origin(scope, correlation_id, principal, source_class))

    def record(self, finding: SafetyFinding, origin: Origin) -> None:
        """Append a safety finding.

        Durability: when this returns, the event is in the file; if `finding.must_be_durable`, it is on the disk and so
        is the file's name.

        Raises:
            OSError: the event isn't recorded. It was counted and logged.
        """
        try:
            self._append(describe_finding(finding, origin, self._key), durable=finding.must_be_durable)
        except OSError as error:
            losses = self._count_loss()
            _log_loss(finding.kind.value, finding.operation.value, error, origin, losses)
            raise

    def note(self, event: ChangeEvent, origin: Origin) -> None:
        """Append a change event; never raises. It is in the file when this returns, unless it was counted as lost."""
        if event.kind in self._muted:
            return
        try:
            self._append(describe_change(event, origin, self._key), durable=False)
        except Exception as error:  # whatever it is, the change that is told of has been made
            losses = self._count_loss()
            if losses & (losses - 1) == 0:  # 1, 2, 4, ...: a full disk must not fill the log too
                _log_loss(event.kind.value, event.operation, error, origin, losses)

    def note_indexed(self, scope: Scope, paths: tuple[str, ...]) -> None:
        """Append an event for documents that the index took up or let go; never raises."""
        path = paths[0] if len(paths) == 1 else None
        self.note(ChangeEvent(ChangeKind.INDEXED, "index", path=path, documents=len(paths)), Origin(scope))

    def keep(self, *, anchor: bool) -> None:
        """Put on the disk what isn't yet, close a file that is old, and anchor the head if asked to; never raises.

        To be called every second or so, by a thread of its own.
        """
        try:
            self._sync()
            with self._lock:
                if self._file is not None and self._is_old(self._file, self._now()):
                    self._end_file_locked("old")
                if anchor:
                    self._anchor_locked()
        except OSError as error:
            _log.error("audit_sync_failed", errno=_errno(error))

    def close(self) -> None:
        """Put everything on the disk and close the file; an event that comes later begins a new one. Never raises."""
        try:
            with self._lock:
                self._end_file_locked("stopped")
        except OSError as error:
            _log.error("audit_close_failed", errno=_errno(error))

    def _append(self, members: dict[str, Any], *, durable: bool) -> None:
        if losses := self._losses:
            members["losses"] = losses
        encoded = encode_members(members)
        with self._lock:
            now = self._now()
            head = self._append_locked(encoded, now, durable=durable)
        if self._observer is not None:
            self._observer(members | asdict(head), now)

    def _append_locked(self, members: bytes, now: datetime, *, durable: bool) -> Head:
        file = self._usable_file_locked(now)
        if file.head.sequence > 1 and (self._is_full(file, members) or self._is_old(file, now)):
            self._end_file_locked("full" if self._is_full(file, members) else "old")
            file = self._usable_file_locked(now)
        self._put_locked(file, members, now, durable=durable)
        return file.head

    def _put_locked(self, file: AuditFile, members: bytes, now: datetime, *, durable: bool) -> None:
        try:
            file.append(members, now, self._chain_key, durable=durable)
        except OSError:
            self._abandon_locked(file)
            raise

    def _is_full(self, file: AuditFile, members: bytes) -> bool:
        chain_bytes = 240  # format, sequence, time, previous and hash
        return file.size + len(members) + chain_bytes + CLOSING_BYTES > self._max_bytes

    def _is_old(self, file: AuditFile, now: datetime) -> bool:
        return now - file.opened >= self._max_age

    def _usable_file_locked(self, now: datetime) -> AuditFile:
        if self._file is not None and not self._file.is_usable():
            self._abandon_locked(self._file)
        if self._file is None:
            file = AuditFile.create(self._folder, now)
            self._file = file
            follows = None if self._last is None else asdict(self._last)
            members = {"kind": OPENED, "file": file.name, "follows": follows}
            self._put_locked(file, encode_members(members), now, durable=False)
        return self._file

    def _abandon_locked(self, file: AuditFile) -> None:
        # A child after a fork goes on with a chain of its own: the parent's isn't its to continue.
        self._last = file.head if file.is_ours else None
        self._file = None
        file.abandon()

    def _end_file_locked(self, why: str) -> None:
        file = self._file
        if file is None:
            return
        if not file.is_usable():
            self._abandon_locked(file)
            return
        self._put_locked(file, encode_members({"kind": CLOSED, "why": why}), self._now(), durable=True)
        self._anchor_locked()
        self._file, self._last = None, file.head
        file.close()

    def _sync(self) -> None:
        with self._lock:
            file = self._file
            if file is None or not file.is_ours or not file.needs_sync():
                return
            size, descriptor = file.size, file.borrow()
        try:
            os.fdatasync(descriptor)
        except OSError:
            with self._lock:
                if self._file is file:
                    self._abandon_locked(file)
            raise
        finally:
            os.close(descriptor)
        with self._lock:
            file.note_synced(size)

    def _anchor_locked(self) -> None:
        file = self._file
        if file is None or file.needs_sync() or file.head == self._anchored:
            return
        self._anchored = file.head
        _log.info("audit_anchor", **asdict(file.head))

    def _count_loss(self) -> int:
        with self._lock:
            self._losses += 1
            return self._losses


def _log_loss(kind: str, operation: str, error: Exception, origin: Origin, losses: int) -> None:
    _log.error(
        "audit_event_lost",
        kind=kind,
        operation=operation,
        errno=_errno(error),
        correlation_id=origin.correlation_id,
        losses=losses,
    )


def _errno(error: Exception) -> str:
    return errno.errorcode.get(getattr(error, "errno", None) or 0, type(error).__name__)


@dataclass(frozen=True, slots=True)
class CallRecorder:
    """Leaves the events of one call in the trail, with its origin on them."""

    log: AuditLog
    origin: Origin

    def record(self, finding: SafetyFinding) -> None:
        """Append the finding; see `AuditLog.record` for what is durable then.

        Raises:
            OSError: the event isn't recorded.
        """
        self.log.record(finding, self.origin)

    def note(self, event: ChangeEvent) -> None:
        """Append the event; never raises."""
        self.log.note(event, self.origin)
