"""Fixtures of the client's tests: a scripted service, both clients behind one face, and the real server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ironclaw_memory_client import AsyncMemoryClient, MemoryClient, RetryPolicy, Scope

from .scripted import Script, serve_script

SCOPE = Scope(tenant="acme", user="ann")
READY = "ironclaw-memory is ready on "
ROOT = Path(__file__).resolve().parents[3]


class Driven:
    """An `AsyncMemoryClient` behind blocking methods, so that one test speaks for both clients."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = self._runner.run(self._make(arguments, settings))

    @staticmethod
    async def _make(arguments: Any, settings: Any) -> AsyncMemoryClient:
        return AsyncMemoryClient(*arguments, **settings)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            outcome = getattr(self._client, name)(*arguments, **options)
            if hasattr(outcome, "__aiter__"):
                return self._runner.run(self._gather(outcome))
            return self._runner.run(outcome)

        return call

    @staticmethod
    async def _gather(outcome: Any) -> list[Any]:
        return [item async for item in outcome]

    def close(self) -> None:
        """Close the client and its loop."""
        self._runner.run(self._client.close())
        self._runner.close()


@pytest.fixture
def script() -> Iterator[Script]:
    """Serve a script."""
    with serve_script() as script:
        yield script


@pytest.fixture(params=[MemoryClient, Driven], ids=["sync", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Make clients of either kind, with quick tries, and close them."""
    with contextlib.ExitStack() as closing:

        def make(target: str, scope: Scope = SCOPE, **settings: Any) -> Any:
            settings.setdefault("retry", RetryPolicy(first_delay=0.001))
            client = request.param(target, scope, **settings)
            closing.callback(client.close)
            return client

        yield make


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the real server on a fresh data folder and yield its address; skipped where there is only the client."""
    if importlib.util.find_spec("ironclaw_memory") is None:
        pytest.skip("the server isn't installed")
    data = tmp_path_factory.mktemp("data")
    command = [sys.executable, "-m", "ironclaw_memory", "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("IRONCLAW_MEMORY_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as server:
        log: list[str] = []
        drain = threading.Thread(target=lambda: log.extend(server.stderr or ()))
        drain.start()
        try:
            line = server.stdout.readline() if server.stdout else ""
            assert line.startswith(READY), (line, log)
            yield line.removeprefix(READY).split()[0]
        finally:
            server.terminate()
            code = server.wait(timeout=30)
            drain.join(timeout=30)
    assert code == 0, log


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Yield a port on which nobody listens, and that nobody gets but who asks to share it, as `serve_on` does."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def serve_on() -> Iterator[Callable[[int], Script]]:
    """Serve a script on a given port, when the test says so."""
    with contextlib.ExitStack() as closing:
        yield lambda port: closing.enter_context(serve_script(port))


@pytest.fixture
def elapsed() -> Callable[[], contextlib.AbstractContextManager[Callable[[], float]]]:
    """Measure a block in seconds."""

    @contextlib.contextmanager
    def measure() -> Iterator[Callable[[], float]]:
        began = time.monotonic()
        yield lambda: time.monotonic() - began

    return measure
