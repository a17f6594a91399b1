"""Child processes of a benchmark: servers, started as an operator starts them, and workers that take jobs by a pipe.

Who measures, who calls and who serves are three processes, so that none waits for another's interpreter lock.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

REPOSITORY = Path(__file__).resolve().parent.parent
READY = re.compile(r"is ready on (\S+)")
STOP_SECONDS = 30.0
MAX_JOB_SECONDS = 300.0


def environment() -> dict[str, str]:
    """Return an environment in which children find the checkout's packages and no setting of the user's service."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("IRONCLAW_MEMORY_")}
    roots = (REPOSITORY, REPOSITORY / "service", REPOSITORY / "clients" / "python" / "src")
    return kept | {"PYTHONPATH": os.pathsep.join(map(str, roots))}


class ServerProcess:
    """A serving child.

    Args:
        arguments: what follows the interpreter on its command line; the child prints `... is ready on ADDRESS`.

    Attributes:
        address: where it listens.
        start_seconds: from starting the interpreter to the line that says ready.

    Raises:
        RuntimeError: it ended instead of getting ready.
    """

    def __init__(self, *arguments: str) -> None:
        started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        assert self._process.stdout is not None
        match = READY.search(self._process.stdout.readline())
        self.start_seconds = time.perf_counter() - started
        if match is None:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"no server: {' '.join(arguments)}")
        self.address = match[1]
        self._seen = psutil.Process(self._process.pid)

    def _family(self) -> list[psutil.Process]:
        return [self._seen, *self._seen.children(recursive=True)]

    def cpu_seconds(self) -> float:
        """Return the CPU that it and its workers took so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._family())

    def resident_mib(self) -> float:
        """Return the resident memory of its largest process, in MiB."""
        return max(float(process.memory_info().rss) for process in self._family()) / 2**20

    def stop(self) -> None:
        """Ask it to end, and kill it when it doesn't."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def product(data_dir: Path, *flags: str) -> ServerProcess:
    """Start the service itself on a free port of loopback."""
    return ServerProcess(
        "-m", "ironclaw_memory", "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data_dir), *flags
    )


class Worker:
    """A child that does one job after the other.

    Args:
        do: what it does with a job, at the top level of its module, so that a fresh interpreter finds it.
    """

    def __init__(self, do: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")  # never a fork: gRPC's threads don't survive it
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(do, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.finish()  # it has imported what it needs

    def start(self, job: Any) -> None:
        """Hand it a job; `finish` waits for the outcome."""
        self._pipe.send(job)

    def finish(self) -> Any:
        """Return the outcome of the job that was started.

        Raises:
            RuntimeError: it failed, or took longer than any job may.
        """
        if not self._pipe.poll(MAX_JOB_SECONDS):
            raise RuntimeError("a worker hangs")
        outcome = self._pipe.recv()
        if isinstance(outcome, _Failure):
            raise RuntimeError(f"a worker failed: {outcome.what}")  # noqa: TRY004  # it isn't about a type
        return outcome

    def do(self, job: Any) -> Any:
        """Do one job and return its outcome."""
        self.start(job)
        return self.finish()

    def stop(self) -> None:
        """End it."""
        self._pipe.close()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


@dataclass(frozen=True, slots=True)
class _Failure:
    what: str


def _work(do: Callable[[Any], Any], pipe: Connection) -> None:
    pipe.send(None)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(do(job))
        except Exception as error:  # told to the parent, which ends the benchmark
            pipe.send(_Failure(f"{type(error).__name__}: {error}"))


@contextmanager
def worker(do: Callable[[Any], Any]) -> Iterator[Worker]:
    """Run a worker for the block."""
    running = Worker(do)
    try:
        yield running
    finally:
        running.stop()
