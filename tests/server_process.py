"""A real server as a child process: started with settings, read until it is ready, ended as an operator would end it.

It isn't a fake and has no back door: a test learns of the server what it answers, prints and leaves on the disk.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import grpc
import psutil

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = (REPOSITORY / "service", REPOSITORY / "clients" / "python" / "src")
READY = re.compile(r"ironclaw-memory is ready on (?P<address>\S+)")
START_SECONDS = 40.0
"""Generous: the machine may be busy with other tests, and a server that hangs fails the test anyway."""
STOP_SECONDS = 40.0


def wait_until(holds: Callable[[], Any], seconds: float, what: str) -> Any:
    """Poll `holds` until it returns something true, and return that; fail with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        if outcome := holds():
            return outcome
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        threading.Event().wait(0.02)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the test's own environment without any setting of the product, so that only `extra` sets something."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("IRONCLAW_MEMORY_")}
    roots = [str(root) for root in SOURCE_ROOTS]
    kept["PYTHONPATH"] = os.pathsep.join([*roots, *filter(None, [kept.get("PYTHONPATH")])])
    return kept | dict(extra or {})


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Turn settings into the command line's flags: `max_in_flight=2` becomes `--max-in-flight 2`."""
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def serve_command(*arguments: str) -> list[str]:
    """Return the command line that starts the service with `arguments`."""
    return [sys.executable, "-m", "ironclaw_memory", "serve", *arguments]


class ServerProcess:
    """A running server.

    Attributes:
        address: where it listens, as it printed it.
        data_dir: its data folder.
        process: the child.
        crashed: whether the test killed it on purpose.
    """

    def __init__(self, data_dir: Path, settings: Mapping[str, Any], env: Mapping[str, str] | None = None) -> None:
        wanted = {"listen": "127.0.0.1:0", "data_dir": data_dir} | dict(settings)
        self.data_dir = data_dir
        self.address = ""
        self.crashed = False
        self._family: list[psutil.Process] = []
        self._output: list[str] = []
        self._errors: list[str] = []
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            serve_command(*flags(wanted)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment(env),
        )
        self._readers = [
            threading.Thread(target=self._read_output, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_output(self, stream: IO[str]) -> None:
        for line in stream:
            self._output.append(line.rstrip("\n"))
            if match := READY.search(line):
                self.address = match["address"]
                self._ready.set()
        self._ready.set()

    def _read_errors(self, stream: IO[str]) -> None:
        for line in stream:
            self._errors.append(line.rstrip("\n"))

    def wait_ready(self) -> None:
        """Return once the server printed its address; fail with what it said when it ended instead."""
        self._ready.wait(START_SECONDS)
        if not self.address:
            self.kill()
            raise AssertionError("the server didn't start:\n" + "\n".join(self._output + self._errors))

    @property
    def stdout(self) -> str:
        """What it printed so far."""
        return "\n".join(self._output)

    @property
    def stderr(self) -> str:
        """What it logged so far, as text."""
        return "\n".join(self._errors)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The log lines so far, each a JSON object; a line that isn't one fails the test that looks."""
        return [json.loads(line) for line in list(self._errors)]

    @contextmanager
    def channel(self, **options: Any) -> Iterator[grpc.Channel]:
        """Open a channel of its own, closed at the end of the block."""
        settings = [("grpc.use_local_subchannel_pool", 1), *((f"grpc.{k}", v) for k, v in options.items())]
        with grpc.insecure_channel(self.address, options=settings) as channel:
            yield channel

    def terminate(self) -> None:
        """Ask it to end, as an orchestrator does; doesn't wait."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Return its exit code; a server that doesn't end in time is killed and fails the test."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running {seconds} s after it was asked to end:\n{self.stderr}") from None
        self._close()
        return code

    def crash(self) -> list[psutil.Process]:
        """Kill the main process as part of the test, and return its workers, which should notice and end.

        `run_server` doesn't hold the server to exit code 0 any more.
        """
        self.crashed = True
        self._family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        return self._family

    def kill(self) -> None:
        """End the server with its workers, whatever state they are in."""
        if self.process.poll() is None:
            self.crash()
        for process in self._family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._close()

    def _close(self) -> None:
        for reader in self._readers:
            reader.join(STOP_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def start_server(data_dir: Path, env: Mapping[str, str] | None = None, **settings: Any) -> ServerProcess:
    """Start a server on `data_dir` and return it once it is ready; the caller ends it."""
    server = ServerProcess(data_dir, settings, env)
    server.wait_ready()
    return server


@contextmanager
def run_server(
    data_dir: Path | None = None, env: Mapping[str, str] | None = None, **settings: Any
) -> Iterator[ServerProcess]:
    """Run a server for the block, then end it by SIGTERM and hold it to exit code 0.

    Args:
        data_dir: an existing or new data folder; a temporary one without it.
        env: environment variables to add.
        settings: the service's settings by name, such as `max_in_flight=2`; handed over as flags.
    """
    if data_dir is None:
        with (
            tempfile.TemporaryDirectory(prefix="ironclaw-memory-") as folder,
            run_server(Path(folder) / "data", env, **settings) as server,
        ):
            yield server
        return
    server = start_server(data_dir, env, **settings)
    try:
        yield server
    except BaseException:
        server.kill()
        raise
    if server.crashed:
        server.kill()
        return
    if server.process.poll() is None:
        server.terminate()
    assert server.wait() == 0, server.stderr
