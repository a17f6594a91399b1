"""What a scope keeps about curation: which turns were recorded since the last one, and who holds the lease.

Two files in the scope's `curation/`, both under one lock that holds across threads and processes:

    turns.log     lines of text, appended with a single `write` each and flushed before the turn's record is committed:
                      base <n> <lease>    how many turns count that stand below no more, and which lease began the file
                      old <turn>          a turn that counts no more, remembered so that it never counts again
                      run <turn>          a turn that counts
                      not <turn>          it doesn't: its record was refused
    lease.json    the last claim: its lease, until when, and once it has ended, how.

A turn is noted before its record is committed, so that no recorded turn is lost in a crash, and taken back when the
record is refused. A turn stands in the log as a hash, and any number of lines about it count once. The log is written
anew, with what is still worth knowing, when a curation restarts the count and when it has grown long: so its size is
bounded and so is the work of reading it. Whether a curation is due, and what a claim is worth, isn't decided here.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.faults import StorageUnavailable
from ironclaw_memory.contract.scope import Scope

from .files import close_all, flush, flush_data, make_folders, open_folder, read_file, replace_file
from .health import FolderGone, fault_of
from .layout import CURATION
from .locks import ScopeLocks
from .scopes import ScopeFolder, ScopeFolders

TURNS_FILE: Final = b"turns.log"
LEASE_FILE: Final = b"lease.json"
REMEMBERED: Final = 1_000
"""Turns that are still known after they were counted. A host repeats a record within minutes, not a thousand turns
on, and an older one is recognised by its record."""
MAX_LINES: Final = 4_000
"""A longer log is written anew: some 150 KB, which is read in about a millisecond."""
MAX_LEASE: Final = timedelta(hours=1)
"""A lease that ends later than this was written under a clock that was wrong, and counts as over."""

_LINE: Final = re.compile(rb"^(?:(run|not|old) ([0-9a-f]{32})|base (\d{1,9}) ([0-9a-f]{32}|-))$", re.MULTILINE)
_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Lease:
    """The last claim of a scope.

    Attributes:
        lease_id: 32 hex digits.
        claimed_by: stands for the request that claimed it; empty when it had no id.
        document_sha256: hash of the text that was handed out, in hex.
        expires_at: with zone UTC.
        ended_by: stands for the arguments of the call that ended it; empty while it holds.
        outcome: how it ended; empty while it holds.
        content_sha256: hash of the document after it had ended, in hex.
    """

    lease_id: str
    claimed_by: str
    document_sha256: str
    expires_at: datetime
    ended_by: str = ""
    outcome: str = ""
    content_sha256: str = ""

    def is_held(self, now: datetime) -> bool:
        """Tell whether its holder may still end it."""
        return not self.outcome and now < self.expires_at <= now + MAX_LEASE


@dataclass(slots=True)
class _Turns:
    """What the log says.

    Attributes:
        base: turns counted before, whose hashes may be gone.
        lease_id: the lease that began the log; `-` for none.
        known: every turn that is remembered, oldest first, and whether it counts on top of `base`.
        lines: how long the log is.
    """

    base: int = 0
    lease_id: str = "-"
    known: dict[bytes, bool] = field(default_factory=dict)
    lines: int = 0

    @property
    def count(self) -> int:
        return self.base + sum(self.known.values())


def turn_digest(thread_id: str, turn_run_id: str) -> bytes:
    """Return 32 hex digits that stand for a run of a thread."""
    return hashlib.sha256(f"{thread_id}/{turn_run_id}".encode()).hexdigest()[:32].encode("ascii")


class CurationStore:
    """The curation files of all scopes of one data directory. Safe for threads, and for other processes beside it.

    Args:
        scopes: opens scope folders.
        locks: the data directory's locks.
        now: the wall clock, with zone: a lease has to outlive the process that gave it.
    """

    def __init__(self, scopes: ScopeFolders, locks: ScopeLocks, now: Callable[[], datetime]) -> None:
        self._scopes = scopes
        self._locks = locks
        self._now = now

    def note_turn(self, scope: Scope, turn: bytes, *, was_recorded: bool, deadline: Deadline) -> bool:
        """Count a turn, unless it was counted before; return whether it is counted since this call.

        Durability: the turn is on the disk when this returns.

        Args:
            scope: whose turn.
            turn: as `turn_digest` returned it.
            was_recorded: whether its record is there already. It is then a turn of old, known or forgotten.
            deadline: until when to wait for the lock.

        Raises:
            StorageFull, StorageUnavailable: it may be counted or not.
            DeadlineExceeded, CallCancelled: it isn't counted.
        """
        with self._held(scope, deadline) as files:
            turns = files.read_turns()
            if was_recorded or turn in turns.known:
                return False
            files.append_turn(turns, b"run", turn)
            return True

    def withdraw_turn(self, scope: Scope, turn: bytes, *, deadline: Deadline) -> None:
        """Take back a turn whose record was refused; durable when this returns. Errors as `note_turn`."""
        with self._held(scope, deadline) as files:
            turns = files.read_turns()
            if turns.known.get(turn):
                files.append_turn(turns, b"not", turn)

    def count_turns(self, scope: Scope, *, recorded: bytes | None = None, deadline: Deadline) -> int:
        """Return how many turns count since the last curation.

        Args:
            scope: whose.
            recorded: a turn that must be among those that were ever counted, because its record is there now. Another
                call that was refused may have taken it back.
            deadline: until when to wait for the lock.

        Raises:
            StorageFull, StorageUnavailable: the files can't be read or written.
            DeadlineExceeded, CallCancelled: the lock wasn't free.
        """
        with self._held(scope, deadline) as files:
            turns = files.read_turns()
            if recorded is not None and recorded not in turns.known:
                files.append_turn(turns, b"run", recorded)
                turns.known[recorded] = True
            return turns.count

    def has_files(self, scope: Scope) -> bool:
        """Tell whether a turn was ever counted in a scope, or its curation claimed. Makes nothing and takes no lock.

        Raises:
            StorageUnavailable: the scope can't be opened.
        """
        try:
            folder = self._scopes.find(scope)
            if folder is not None:
                close_all([open_folder(CURATION, folder.root)])
        except FileNotFoundError:
            return False
        except OSError as error:
            raise fault_of(error) from error
        return folder is not None

    @contextmanager
    def hold(self, scope: Scope, deadline: Deadline) -> Iterator[CurationDesk]:
        """Hold a scope's curation for a claim or its end; nobody else claims, ends or counts meanwhile.

        Raises:
            StorageFull, StorageUnavailable: the files can't be made.
            DeadlineExceeded, CallCancelled: the lock wasn't free.
        """
        with self._held(scope, deadline) as files:
            yield CurationDesk(files, self._now)

    @contextmanager
    def _held(self, scope: Scope, deadline: Deadline) -> Iterator[_Files]:
        for _ in range(_TRIES):
            try:
                opened = self._open(scope)
            except FolderGone:
                self._scopes.forget(scope)
                continue
            break
        else:
            raise StorageUnavailable
        folder, curation = opened
        try:
            with self._locks.hold_curation(folder.locks, folder.key, deadline):
                yield _Files(curation)
        except FolderGone:
            self._scopes.forget(scope)
            raise StorageUnavailable from None
        except OSError as error:
            raise fault_of(error) from error
        finally:
            os.close(curation)

    def _open(self, scope: Scope) -> tuple[ScopeFolder, int]:
        try:
            folder = self._scopes.open_or_create(scope)
            try:
                return folder, open_folder(CURATION, folder.root)
            except FileNotFoundError:
                chain = make_folders(folder.root, (CURATION,))
            flush(folder.root)  # a log in a folder without a name would be lost with it
            close_all(chain[:-1])
            return folder, chain[-1]
        except OSError as error:
            raise fault_of(error) from error


class CurationDesk:
    """A scope's curation while it is held: the lease and the count."""

    def __init__(self, files: _Files, now: Callable[[], datetime]) -> None:
        self._files = files
        self._now = now

    def last_lease(self) -> Lease | None:
        """Return the last claim, which may be over; None when there was none or its file is damaged."""
        return self._files.read_lease()

    def held_lease(self) -> Lease | None:
        """Return the lease that someone holds now."""
        lease = self._files.read_lease()
        return lease if lease is not None and lease.is_held(self._now()) else None

    def count_turns(self) -> int:
        """Return how many turns count since the last curation."""
        return self._files.read_turns().count

    def give_lease(self, document_sha256: str, seconds: int, claimed_by: str) -> Lease:
        """Write a lease that begins now; durable when this returns.

        Raises:
            OSError: the last lease stands, or the new one.
        """
        expires_at = self._now() + timedelta(seconds=seconds)
        lease = Lease(secrets.token_hex(16), claimed_by, document_sha256, expires_at)
        self._files.write_lease(lease)
        return lease

    def renew_lease(self, lease: Lease, document_sha256: str) -> Lease:
        """Write down that a lease is for another text; durable when this returns. Errors as `give_lease`."""
        renewed = replace(lease, document_sha256=document_sha256)
        if renewed != lease:
            self._files.write_lease(renewed)
        return renewed

    def restart_count(self, lease: Lease) -> None:
        """Let the count begin anew, once a lease; durable when this returns.

        Raises:
            OSError: the count is the old one, or the new one.
        """
        turns = self._files.read_turns()
        if turns.lease_id != lease.lease_id:
            self._files.write_turns(_Turns(0, lease.lease_id, dict.fromkeys(turns.known, False)))

    def end_lease(self, lease: Lease, ended_by: str, outcome: str, content_sha256: str) -> None:
        """Write down how a lease ended, for whoever ends it again with the same arguments; durable when this returns.

        Raises:
            OSError: the lease holds, or is over.
        """
        ended = replace(lease, ended_by=ended_by, outcome=outcome, content_sha256=content_sha256)
        self._files.write_lease(ended)


class _Files:
    """The two files in an open folder."""

    def __init__(self, folder: int) -> None:
        self._folder = folder

    def read_turns(self) -> _Turns:
        turns = _Turns()
        found = read_file(TURNS_FILE, self._folder)
        for verb, turn, base, lease_id in _LINE.findall(found[0]) if found else ():
            turns.lines += 1
            if base:
                turns.base, turns.lease_id, turns.known = int(base), lease_id.decode("ascii"), {}
            elif verb == b"not":
                turns.known.pop(turn, None)
            elif verb == b"old" or turn not in turns.known:
                turns.known[turn] = verb == b"run"
        return turns

    def append_turn(self, turns: _Turns, verb: bytes, turn: bytes) -> None:
        if turns.lines >= MAX_LINES:
            self.write_turns(turns)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(TURNS_FILE, flags, 0o600, dir_fd=self._folder)
        try:
            # The newline in front ends a line that a crash or a full disk tore; it matches nothing.
            content = b"\n%s %s\n" % (verb, turn)
            if os.write(fd, content) != len(content):
                raise OSError(errno.ENOSPC, "short write")
            flush_data(fd)
        finally:
            os.close(fd)
        if not turns.lines:
            flush(self._folder)

    def write_turns(self, turns: _Turns) -> None:
        kept = list(turns.known.items())[-REMEMBERED:]
        base = turns.count - sum(counts for _, counts in kept)
        lines = [b"base %d %s" % (base, turns.lease_id.encode("ascii"))]
        lines += [b"%s %s" % (b"run" if counts else b"old", turn) for turn, counts in kept]
        replace_file(TURNS_FILE, b"\n".join(lines) + b"\n", self._folder)

    def read_lease(self) -> Lease | None:
        found = read_file(LEASE_FILE, self._folder)
        if found is None:
            return None
        try:
            return _parse_lease(json.loads(found[0]))
        except (ValueError, KeyError, TypeError):
            return None  # edited by hand: whoever held it has to claim again

    def write_lease(self, lease: Lease) -> None:
        record = {name: getattr(lease, name) for name in Lease.__slots__}
        record["expires_at"] = lease.expires_at.astimezone(UTC).isoformat()
        replace_file(LEASE_FILE, json.dumps(record, indent=2).encode("ascii") + b"\n", self._folder)


def _parse_lease(record: Mapping[str, Any]) -> Lease:
    texts = {name: str(record[name]) for name in Lease.__slots__ if name != "expires_at"}
    return Lease(**texts, expires_at=datetime.fromisoformat(record["expires_at"]).astimezone(UTC))
