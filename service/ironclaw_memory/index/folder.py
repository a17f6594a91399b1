"""The files of one scope's index: which database is current, the locks around it, and the list of pending changes.

    current                 names the database in use and its format; replaced atomically
    passages-<hex>.sqlite   a database (beside it, while in use, its -wal and -shm)
    pending                 paths of documents that changed since the index last looked, a line each
    compared                empty; its time says when the index was last compared with the files, by the monotonic clock
    write.lock, build.lock  empty; held with flock by whoever changes or builds the database

A new database always gets a new name. A damaged one can so be dropped while other processes still have it open: they
keep reading a file that has no name any more and see at their next search that `current` moved on.

All of it may be deleted at any time; the documents bring it back.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from .database import Database
from .tables import FORMAT

PENDING_BYTES: Final = 16 * 1024
"""Size from which the list of pending changes is worked off though nobody searches, and then started anew."""

_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")


class IndexFolder:
    """The folder of one scope's index. Threads may share it; a forked child must not."""

    def __init__(self, path: str, model: str = "") -> None:
        self.path = path
        self._model = model
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._database: Database | None = None

    def current(self) -> Database | None:
        """Return the database in use, or None where there is none of this format."""
        stamp = self._read_stamp()
        with self._lock:
            if stamp != self._stamp or stamp is None:
                self._drop()
                self._stamp, self._database = stamp, self._open() if stamp else None
            return self._database

    def new_name(self) -> str:
        """Return the path for a database that doesn't exist yet."""
        return self._file(f"passages-{secrets.token_hex(8)}.sqlite")

    def publish(self, file: str) -> None:
        """Make the finished database `file` the current one and delete all others. Needs both locks.

        Where the index was erased meanwhile the file is gone, and nothing is published.
        """
        if not os.path.exists(file):
            return
        temporary = self._file(f"current.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, f"{FORMAT} {os.path.basename(file)}\n".encode())
        finally:
            os.close(descriptor)
        os.replace(temporary, self._file("current"))
        self.sweep(keep=os.path.basename(file))

    def discard(self, file: str) -> None:
        """Take the damaged database `file` out of use and delete it, unless another process already did."""
        name = os.path.basename(file)
        with self.locked("write.lock", 5.0):
            if self._current_name() == name:
                self._unlink("current")
            for suffix in _SUFFIXES:
                self._unlink(name + suffix)

    def sweep(self, keep: str = "") -> None:
        """Delete what earlier builds left behind; `keep` is the name of the database in use. Needs the build lock."""
        with suppress(FileNotFoundError):
            for name in os.listdir(self.path):
                stray = name.startswith("passages-") and not (keep and name.startswith(keep))
                if stray or name.startswith("current."):
                    self._unlink(name)

    def erase(self) -> None:
        """Delete everything in the folder, also what is being built right now."""
        self.close()
        with suppress(FileNotFoundError), self.locked("write.lock", 5.0):
            for name in os.listdir(self.path):
                self._unlink(name)

    def size_bytes(self) -> int:
        """Return what the files take."""
        with suppress(FileNotFoundError), os.scandir(self.path) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
        return 0

    def close(self) -> None:
        """Close the database's connections."""
        with self._lock:
            self._drop()
            self._stamp = None

    @contextmanager
    def locked(self, name: str, seconds: float) -> Iterator[bool]:
        """Hold the lock file `name`; yield whether it was had within `seconds`.

        The descriptor is the holder's own, so the lock keeps out threads as well as processes and dies with its holder.
        Waiting polls, because a blocking flock has no timeout and a stopped process must not stop everyone's searches.
        """
        descriptor = os.open(self._file(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            yield _acquire(descriptor, seconds)
        finally:
            os.close(descriptor)

    def compared_at(self) -> float:
        """Return when any process last compared the index with the files; minus infinity for never."""
        try:
            return os.stat(self._file("compared")).st_mtime
        except FileNotFoundError:
            return float("-inf")

    def note_compared(self, moment: float) -> None:
        """Tell the other processes that the index was compared with the files at `moment`."""
        descriptor = os.open(self._file("compared"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.utime(descriptor, (moment, moment))
        finally:
            os.close(descriptor)

    def append_pending(self, path: str) -> None:
        """Add a changed document to the list. Survives the process, not the power.

        One `write` with O_APPEND: lines of several writers don't mix. A list that was started anew between the opening
        and the write has no name any more; what was written to it may not have been read, so it is written again.
        """
        line = path.encode() + b"\n"
        for _ in range(8):
            descriptor = os.open(
                self._file("pending"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            try:
                os.write(descriptor, line)
                if os.fstat(descriptor).st_nlink:
                    return
            finally:
                os.close(descriptor)

    def pending_position(self) -> tuple[int, int]:
        """Return inode and size of the list: they change with every line. (0, 0) where there is none."""
        try:
            stat = os.stat(self._file("pending"))
        except FileNotFoundError:
            return 0, 0
        return stat.st_ino, stat.st_size

    def read_pending(self, since: tuple[int, int]) -> tuple[list[str], tuple[int, int]]:
        """Return the paths added after the position `since`, each once, and the position reached."""
        try:
            descriptor = os.open(self._file("pending"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return [], (0, 0)
        try:
            stat = os.fstat(descriptor)
            start = since[1] if since[0] == stat.st_ino and since[1] <= stat.st_size else 0
            text = os.pread(descriptor, stat.st_size - start, start)
        finally:
            os.close(descriptor)
        end = start + text.rfind(b"\n") + 1
        lines = text[: end - start].decode("utf-8", "replace").split("\n")[:-1]
        return list(dict.fromkeys(lines)), (stat.st_ino, end)

    def restart_pending(self, reached: tuple[int, int]) -> list[str]:
        """Start the list anew when it is long; return what was added since `reached`. Needs the write lock."""
        if reached[1] < PENDING_BYTES:
            return []
        descriptor = os.open(self._file("pending"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._unlink("pending")
            text = os.pread(descriptor, os.fstat(descriptor).st_size, reached[1])
        finally:
            os.close(descriptor)
        return list(dict.fromkeys(text.decode("utf-8", "replace").split("\n")[:-1]))

    def _file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._file(name))

    def _read_stamp(self) -> tuple[int, int] | None:
        try:
            stat = os.stat(self._file("current"))
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_mtime_ns

    def _current_name(self) -> str | None:
        try:
            with open(self._file("current"), encoding="ascii", errors="replace") as file:
                version, _, name = file.read(256).strip().partition(" ")
        except FileNotFoundError:
            return None
        return name if version == str(FORMAT) and name and os.sep not in name else None

    def _open(self) -> Database | None:
        name = self._current_name()
        return Database(self._file(name), self._model) if name else None

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None


def _acquire(descriptor: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 2, 0.01)
        else:
            return True
