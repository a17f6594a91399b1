"""One rival at work: its server where it has one, its driver, and what the machine knows of both."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import psutil

from bench.compare.rivals import Rival, Serving
from bench.compare.subjects import Lacking

ORDER_SECONDS: Final = 400.0
"""No order takes longer on a machine that is worth measuring on."""
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0
LOGS: Final = "logs"
"""The folder, beside those of the rivals, of what they and their drivers print."""


class Failed(Exception):
    """The rival failed, or took too long."""


class Lines:
    """The lines of a pipe, read as they come, so that whoever writes them never waits."""

    def __init__(self, pipe: IO[str]) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._reader.start()

    def _read(self, pipe: IO[str]) -> None:
        with pipe, suppress(ValueError):  # closed under our hands
            for line in pipe:
                self._lines.put(line)
        self._lines.put("")

    def next(self, seconds: float) -> str | None:
        """Return the next line, `""` after the last one, None when none came in time."""
        try:
            return self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None


class Session:
    """A rival that was started on a folder.

    Args:
        rival: who.
        folder: its data and whatever else it writes.
        material: the texts that its driver reads.
        tracer: what the process that holds the data is started under, such as strace with its options.

    Attributes:
        languages: what can call it, by its documentation.

    Raises:
        Failed: it doesn't start.
    """

    def __init__(self, rival: Rival, folder: Path, material: Path, tracer: Sequence[str] = ()) -> None:
        self._rival = rival
        self._data = folder / "data"
        self._data.mkdir(mode=0o700, exist_ok=True)
        logs = folder.parent / LOGS
        logs.mkdir(exist_ok=True)
        self._noise = (logs / f"{rival.name}.log").open("a+b")
        env = {"HOME": str(folder), "MEM0_DIR": str(folder / "mem0-home")} | rival.env
        self._server: subprocess.Popen[str] | None = None
        address = ""
        if rival.serving:
            self._server, address = _serve(rival.serving, self._data, env, tracer, self._noise)
            tracer = ()
        alone = [] if rival.serving else ["alone"]
        command = [*tracer, str(rival.python), "-m", "bench.compare.driver", rival.module, *alone]
        self._driver = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._noise, text=True, env=env, cwd=folder
        )
        assert self._driver.stdout is not None
        self._said = Lines(self._driver.stdout)
        opened = {"folder": str(self._data), "address": address, "variant": rival.variant, "material": str(material)}
        try:
            self.languages: str = self.order("open", **opened)
        except Failed:
            self.kill()
            raise

    def order(self, what: str, /, **arguments: Any) -> Any:
        """Give the driver an order and return its answer.

        Raises:
            Lacking: the rival has no such operation.
            Failed: it failed, or took too long.
        """
        self.send(what, **arguments)
        told = self.receive()
        if "lacking" in told:
            raise Lacking(told["lacking"])
        if "failed" in told:
            raise Failed(told["failed"])
        return told["answer"]

    def send(self, what: str, /, **arguments: Any) -> None:
        """Give the driver an order without waiting for its answer."""
        assert self._driver.stdin is not None
        with suppress(BrokenPipeError):  # the answer that doesn't come tells
            self._driver.stdin.write(json.dumps({"do": what} | arguments) + "\n")
            self._driver.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next thing that the driver says.

        Raises:
            Failed: it ended, or says nothing for too long.
        """
        line = self._said.next(ORDER_SECONDS)
        if not line:
            raise Failed(f"{'hangs' if line is None else 'ended'}: {_last_words(self._noise)}")
        told: dict[str, Any] = json.loads(line)
        return told

    @property
    def holder(self) -> subprocess.Popen[str]:
        """The process that holds the data: the server, or the driver of a library."""
        return self._server or self._driver

    def resident_mib(self) -> float:
        """Return the resident memory of the process that holds the data, with its children's, in MiB."""
        root = psutil.Process(self.holder.pid)
        return sum(float(each.memory_info().rss) for each in (root, *root.children(recursive=True))) / 2**20

    def disk_mib(self) -> float:
        """Return what the data take on the disk, in MiB of blocks."""
        return sum(file.stat().st_blocks * 512 for file in self._data.rglob("*") if file.is_file()) / 2**20

    def kill(self) -> None:
        """End everything at once, the process that holds the data first."""
        for process in filter(None, (self._server, self._driver)):
            for each in _family(process.pid):
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            process.wait()
        self._close_input()
        self._noise.close()

    def stop(self) -> None:
        """Let it end, and kill what doesn't."""
        with suppress(Failed, Lacking):
            self.order("close")
        self._close_input()
        if self._server:
            for each in _family(self._server.pid)[::-1]:
                with suppress(psutil.NoSuchProcess):
                    each.terminate()
        for process in filter(None, (self._driver, self._server)):
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
        self.kill()

    def _close_input(self) -> None:
        assert self._driver.stdin is not None
        with suppress(BrokenPipeError):
            self._driver.stdin.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def _last_words(noise: IO[bytes]) -> str:
    noise.seek(0)
    return (noise.read().decode(errors="replace").strip().splitlines() or ["without a word"])[-1][:300]


def _family(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _serve(
    serving: Serving, data: Path, env: dict[str, str], tracer: Sequence[str], noise: IO[bytes]
) -> tuple[subprocess.Popen[str], str]:
    """Start a server and return it with its address."""
    command = [*tracer, *serving.command(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=noise, text=True, env=env)
    assert process.stdout is not None
    lines, end = Lines(process.stdout), time.monotonic() + START_SECONDS
    while line := lines.next(end - time.monotonic()):
        if found := re.search(serving.ready, line):
            return process, found[1]
    process.kill()
    process.wait()
    raise Failed(f"no server: {_last_words(noise)}")


@contextmanager
def started(rival: Rival, root: Path, material: Path, tracer: Sequence[str] = ()) -> Iterator[Session]:
    """Run a rival on a folder of its own for the block."""
    with new_folder(rival, root) as folder, Session(rival, folder, material, tracer) as session:
        yield session


@contextmanager
def new_folder(rival: Rival, root: Path) -> Iterator[Path]:
    """Make a folder for a rival, removed after the block."""
    with tempfile.TemporaryDirectory(prefix=f"{rival.module}-", dir=root, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
