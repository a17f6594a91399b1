"""The floor of a write: the store's file protocol and nothing else, in one process with a thread for each caller.

The steps are those of `store.documents` for a replace: take the document's lock file with flock; read and hash what is
there; write and fsync a locked temporary in the same folder; append what is replaced, compressed, to the history log
and fdatasync it; rename; fsync the folder. No gRPC, no arguments, no policy, no quota, no metadata, no index.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from bench.caller import cpu_seconds
from bench.corpus import make_text
from bench.sample import Round, round_of

DOCUMENTS = 64
TEXTS = 256


@dataclass(frozen=True, slots=True)
class WriteJob:
    """A stretch of writes.

    Attributes:
        folder: where the files are; made when it is missing. On the disk that the service's data are on.
        concurrency: threads.
        seconds: how long.
    """

    folder: str
    concurrency: int
    seconds: float


class BareFolder:
    """Documents, their logs and their locks, in three folders whose descriptors stay open."""

    def __init__(self, folder: Path) -> None:
        self._documents, self._history, self._locks = (self._open(folder / name) for name in ("d", "h", "l"))

    @staticmethod
    def _open(folder: Path) -> int:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Close the folders."""
        for fd in (self._documents, self._history, self._locks):
            os.close(fd)

    def replace(self, name: str, content: bytes) -> None:
        """Replace a document durably, keeping what it held."""
        lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o600, dir_fd=self._locks)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            old = self._read(name)
            hashlib.sha256(old).hexdigest()
            temporary = f".{secrets.token_hex(16)}.tmp"
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self._documents)
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(fd, content)
            os.fsync(fd)
            if old:
                self._keep(name, old)
            os.rename(temporary, name, src_dir_fd=self._documents, dst_dir_fd=self._documents)
            os.close(fd)
            os.fsync(self._documents)
            hashlib.sha256(content).hexdigest()
        finally:
            os.close(lock)

    def _read(self, name: str) -> bytes:
        try:
            fd = os.open(name, os.O_RDONLY, dir_fd=self._documents)
        except FileNotFoundError:
            return b""
        try:
            return os.read(fd, os.fstat(fd).st_size + 1)
        finally:
            os.close(fd)

    def _keep(self, name: str, old: bytes) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600, dir_fd=self._history)
        try:
            os.write(fd, zlib.compress(old, 1))
            os.fdatasync(fd)
        finally:
            os.close(fd)


def write_repeatedly(job: WriteJob) -> Round:
    """Do the writes and return how they went."""
    folder = BareFolder(Path(job.folder))
    texts = [make_text(number).encode("ascii") for number in range(TEXTS)]
    latencies: list[float] = []
    cpu, started = cpu_seconds(), time.perf_counter()

    def write(lane: int) -> None:
        number = lane
        while (began := time.perf_counter()) - started < job.seconds:
            folder.replace(f"note-{number % DOCUMENTS:05}.md", texts[number % TEXTS])
            latencies.append(time.perf_counter() - began)
            number += job.concurrency

    lanes = [threading.Thread(target=write, args=(lane,)) for lane in range(job.concurrency)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    taken = round_of(latencies, time.perf_counter() - started, cpu_seconds() - cpu)
    folder.close()
    return taken
