"""The journal of request ids: which changes were begun and done under an id, so that a retry has no second effect.

One file a day and scope, `requests/YYYY-MM-DD.jsonl` (UTC), JSON lines, appended with a single `write` each:

    open   a change is about to be committed: fingerprint, path, hashes before and after, version, result. Flushed
           before the document's rename.
    done   it was committed. Not flushed by itself; the next `open` flushes it along.
    made   both at once, for a change that wrote no document. Flushed.
    void   it failed before its commit point and had no effect.
    lost   a power cut took the evidence: nobody can tell whether it had an effect.

An `open` line without a verdict was left by a writer that died, or whose last flush failed. Whoever changes the same
document next reaches a verdict first, under the document's lock (`commit.py`), while the evidence is still fresh.

The id itself is not kept, only a hash of it. This module knows no documents: it keeps lines and finds them again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal

from ironclaw_memory.contract.document import Committed, RequestKey
from ironclaw_memory.contract.faults import RequestIdReused
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .files import flush, flush_data
from .health import FolderGone
from .layout import path_digest
from .scopes import ScopeFolder

State = Literal["open", "done", "made", "void", "lost"]
_STATES: Final = frozenset(("open", "done", "made", "void", "lost"))
_SUFFIX: Final = b".jsonl"
_APPEND_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_INDEXED: Final = 200_000
"""Ids kept in memory over all scopes, about 200 bytes each; the least recently used scope is dropped beyond that."""

# Every line starts alike, so that the index is built without parsing JSON:
# {"id":"<32 hex>","is":"open","on":"<32 hex>", ...
_ID, _IS, _ON = slice(7, 39), slice(47, 51), slice(59, 91)


@dataclass(frozen=True, slots=True)
class RequestEntry:
    """What the journal knows about a request id.

    Attributes:
        digest: stands for the id.
        state: the last verdict.
        fingerprint: of the operation and its arguments.
        path: the document that it changes.
        before, after: hex hash of the document before and after; empty for no document.
        version: the highest version number after the change.
        committed: what a replay answers.
        at: when it began.
    """

    digest: str
    state: State
    fingerprint: str
    path: DocumentPath
    before: str
    after: str
    version: int
    committed: Committed
    at: datetime


@dataclass(slots=True)
class _Place:
    day: bytes
    offset: int
    length: int
    state: State
    on: str


@dataclass(slots=True)
class _ScopeIndex:
    """What one process has read of a scope's journal so far."""

    folder: tuple[int, int]
    guard: threading.Lock = field(default_factory=threading.Lock)
    read_up_to: dict[bytes, int] = field(default_factory=dict)
    places: dict[str, _Place] = field(default_factory=dict)
    open_on: dict[str, list[str]] = field(default_factory=dict)  # path digest -> ids without a verdict
    durable_days: set[bytes] = field(default_factory=set)
    swept_on: str = ""


def request_digest(request: RequestKey) -> str:
    """Return 32 hex digits that stand for a request id in the journal and choose its lock."""
    return hashlib.sha256(request.request_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class RequestJournal:
    """The journals of all scopes of one data directory, as this process sees them.

    Args:
        hours: how long an id is remembered.
        now: the wall clock.
    """

    def __init__(self, hours: float, now: Callable[[], datetime]) -> None:
        self._kept_for = timedelta(hours=hours)
        self._now = now
        self._guard = threading.Lock()
        self._indexes: OrderedDict[Scope, _ScopeIndex] = OrderedDict()  # guarded by _guard

    def find(self, scope: Scope, folder: ScopeFolder, request: RequestKey) -> RequestEntry | None:
        """Return what is known about a request id; None when it is new, void or expired.

        Args:
            folder: the open scope.

        Raises:
            RequestIdReused: it belongs to other arguments.
            OSError: the journal can't be read.
        """
        index = self._index(scope, folder)
        with index.guard:
            self._catch_up(index, folder)
            place = index.places.get(request_digest(request))
        if place is None or place.state == "void":
            return None
        entry = _load(folder.requests, place)
        if entry is None or entry.at < self._now() - self._kept_for:
            return None
        if entry.fingerprint != request.fingerprint:
            raise RequestIdReused("The request id was used before with other arguments.", field="request_id")
        return entry

    def open_on(self, scope: Scope, folder: ScopeFolder, path: DocumentPath) -> list[RequestEntry]:
        """Return the entries on `path` that have no verdict yet, oldest first.

        Raises:
            OSError: the journal can't be read.
        """
        index = self._index(scope, folder)
        with index.guard:
            self._catch_up(index, folder)
            waiting = [index.places[digest] for digest in index.open_on.get(path_digest(path), ())]
        entries = (_load(folder.requests, place) for place in waiting)
        return [entry for entry in entries if entry is not None]

    def begin(self, scope: Scope, folder: ScopeFolder, entry: RequestEntry) -> JournalLine:
        """Append an `open` or `made` line. Not yet durable: see `JournalLine.flush`.

        Raises:
            OSError: the line is not there, or not whole and therefore ignored.
            FolderGone: the folder was removed.
        """
        index = self._index(scope, folder)
        self._remove_expired(index, folder.requests)
        line = JournalLine(folder.requests, _day(entry.at), index.durable_days, entry)
        line.append(_line(entry))
        return line

    def close(
        self, scope: Scope, folder: ScopeFolder, entry: RequestEntry, verdict: Literal["done", "void", "lost"]
    ) -> None:
        """Append a verdict on an `open` line.

        Raises:
            OSError: the entry is still open.
            FolderGone: the folder was removed.
        """
        line = JournalLine(folder.requests, _day(entry.at), self._index(scope, folder).durable_days, entry)
        try:
            line.add_verdict(verdict)
        finally:
            line.close()

    def forget(self, scope: Scope) -> None:
        """Read the scope's journal afresh the next time."""
        with self._guard:
            self._indexes.pop(scope, None)

    def _index(self, scope: Scope, folder: ScopeFolder) -> _ScopeIndex:
        identity = folder.requests_id
        with self._guard:
            index = self._indexes.get(scope)
            if index is None or index.folder != identity:  # the first time, or the scope was erased or restored
                index = self._indexes[scope] = _ScopeIndex(identity)
                self._make_room()
            self._indexes.move_to_end(scope)
            return index

    def _make_room(self) -> None:
        while len(self._indexes) > 1 and sum(len(each.places) for each in self._indexes.values()) > MAX_INDEXED:
            self._indexes.popitem(last=False)

    def _days(self) -> tuple[bytes, ...]:
        """Return the names of the files that may hold an id that is still remembered, oldest first."""
        now = self._now()
        return _days_between((now - self._kept_for).astimezone(UTC).date(), now.astimezone(UTC).date())

    def _catch_up(self, index: _ScopeIndex, folder: ScopeFolder) -> None:
        names = folder.request_names.get()
        for day in self._days():
            if names is None or day in names:
                self._read_on(index, folder.requests, day)

    def _read_on(self, index: _ScopeIndex, folder: int, day: bytes) -> None:
        start = index.read_up_to.get(day, 0)
        try:
            found = os.stat(day, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if found.st_size > start:
            index.read_up_to[day] = start + _read_lines(index, folder, day, start, found.st_size - start)

    def _remove_expired(self, index: _ScopeIndex, folder: int) -> None:
        days = self._days()
        today = days[-2].decode("ascii")
        with index.guard:
            if index.swept_on == today:
                return
            index.swept_on = today
            for name in os.listdir(folder):
                if name.endswith(".jsonl") and os.fsencode(name) < days[0]:
                    with suppress(OSError):
                        os.unlink(name, dir_fd=folder)
            gone = [digest for digest, place in index.places.items() if place.day < days[0]]
            for digest in gone:
                _set_state(index, digest, index.places.pop(digest), "void")


class JournalLine:
    """Where a change writes what the journal says about it: its line, and later its verdict, in the same file.

    In the same file, so that both are read in one go, removed together, and flushed together.

    Args:
        folder: descriptor of the scope's `requests/`.
        day: the file's name.
        durable_days: files whose names this process has flushed.
        entry: what the verdict will be about.

    Raises:
        OSError: the file can't be opened.
        FolderGone: the folder was removed.
    """

    def __init__(self, folder: int, day: bytes, durable_days: set[bytes], entry: RequestEntry) -> None:
        self._folder = folder
        self._day = day
        self._durable_days = durable_days
        self._entry = entry
        try:
            self._fd = os.open(day, _APPEND_FLAGS, 0o600, dir_fd=folder)
        except FileNotFoundError:
            raise FolderGone from None

    def append(self, line: bytes) -> None:
        """Write a line; not yet durable. When that fails it is torn, which readers ignore, and the file is closed.

        Raises:
            OSError: it isn't whole.
        """
        # The newline in front ends a line that a crash or a full disk tore; blank lines are skipped.
        content = b"\n" + line + b"\n"
        try:
            if os.write(self._fd, content) != len(content):
                raise OSError(errno.ENOSPC, "short write")
        except BaseException:
            self.close()
            raise

    def flush(self) -> None:
        """Return once the line, and the file's name, are on the disk.

        Raises:
            OSError: they may not be.
        """
        flush_data(self._fd)
        if self._day not in self._durable_days:  # once a process and day: whoever made the file may have died since
            flush(self._folder)
            self._durable_days.add(self._day)

    def add_verdict(self, verdict: Literal["done", "void", "lost"]) -> None:
        """Append a verdict on the entry; the next line's flush makes it durable.

        Raises:
            OSError: the entry is still open.
        """
        self.append(_dump({"id": self._entry.digest, "is": verdict, "on": path_digest(self._entry.path)}))

    def close(self) -> None:
        """Let go of the file; a second time does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _day(at: datetime) -> bytes:
    return at.astimezone(UTC).strftime("%Y-%m-%d").encode("ascii") + _SUFFIX


@lru_cache(maxsize=4)
def _days_between(first: date, today: date) -> tuple[bytes, ...]:
    # One day more than today: another process's clock may be a little ahead around midnight.
    count = (today - first).days + 2
    return tuple((first + timedelta(days=each)).isoformat().encode("ascii") + _SUFFIX for each in range(count))


def _read_lines(index: _ScopeIndex, folder: int, day: bytes, start: int, length: int) -> int:
    """Index the whole lines in `length` bytes from `start` on; return how many bytes they take."""
    fd = os.open(day, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        content = os.pread(fd, length, start)
    finally:
        os.close(fd)
    end = content.rfind(b"\n") + 1
    position = 0
    while position < end:
        stop = content.index(b"\n", position) + 1
        _index_line(index, day, start + position, content[position : stop - 1])
        position = stop
    return end


def _index_line(index: _ScopeIndex, day: bytes, offset: int, line: bytes) -> None:
    if not line.startswith(b'{"id":"') or not line.endswith(b"}"):
        return
    digest = line[_ID].decode("ascii", "replace")
    state = line[_IS].decode("ascii", "replace")
    if state not in _STATES:
        return
    place = index.places.get(digest)
    if state in ("open", "made"):
        on = line[_ON].decode("ascii", "replace")
        if place is not None:
            _set_state(index, digest, place, "void")
        place = index.places[digest] = _Place(day, offset, len(line), "void", on)
    if place is not None:
        _set_state(index, digest, place, state)  # type: ignore[arg-type]  # checked against the table above


def _set_state(index: _ScopeIndex, digest: str, place: _Place, state: State) -> None:
    if place.state == "open" and state != "open":
        waiting = index.open_on[place.on]
        waiting.remove(digest)
        if not waiting:
            del index.open_on[place.on]
    elif state == "open" and place.state != "open":
        index.open_on.setdefault(place.on, []).append(digest)
    place.state = state


def _line(entry: RequestEntry) -> bytes:
    done = entry.committed
    return _dump(
        {
            "id": entry.digest,
            "is": entry.state,
            "on": path_digest(entry.path),
            "at": entry.at.isoformat(),
            "fingerprint": entry.fingerprint,
            "path": entry.path.text,
            "before": entry.before,
            "after": entry.after,
            "version": entry.version,
            "size": done.size_bytes,
            "changed": done.changed,
            "result": dict(done.result),
        }
    )


def _dump(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode("ascii")


def _load(folder: int, place: _Place) -> RequestEntry | None:
    try:
        fd = os.open(place.day, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        raw = os.pread(fd, place.length, place.offset)
    finally:
        os.close(fd)
    try:
        return _parse(json.loads(raw), place.state)
    except (ValueError, KeyError, TypeError):
        return None  # torn by a power cut; such a line precedes no commit


def _parse(line: dict[str, Any], state: State) -> RequestEntry:
    committed = Committed(
        sha256=line["after"],
        size_bytes=line["size"],
        version=line["version"],
        result=line["result"],
        replayed=True,
        changed=line["changed"],
    )
    return RequestEntry(
        digest=line["id"],
        state=state,
        fingerprint=line["fingerprint"],
        path=DocumentPath(line["path"]),
        before=line["before"],
        after=line["after"],
        version=line["version"],
        committed=committed,
        at=datetime.fromisoformat(line["at"]),
    )
