"""What every test may ask for: the packages of this checkout on the path, and running servers.

`server` is shared by the whole session and safe to share because every test works in a tenant of its own (`caller`).
`fresh_server` is a server for one test, on a data folder of its own.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = {"ironclaw_memory": "service", "ironclaw_memory_client": "clients/python/src"}

# The suite also runs from a checkout in which nothing was installed.
for _package, _folder in _PACKAGES.items():
    if importlib.util.find_spec(_package) is None:
        sys.path.insert(0, str(_ROOT / _folder))

from tests.caller import Caller, new_tenant  # noqa: E402  # after the path is set
from tests.server_process import ServerProcess, run_server  # noqa: E402  # the same


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    """A server with default settings, shared by all tests of the session."""
    with run_server() as running:
        yield running


@pytest.fixture(scope="session")
def _session_channel(server: ServerProcess):
    with server.channel() as channel:
        yield channel


@pytest.fixture
def caller(_session_channel) -> Caller:
    """Calls to the shared server as user `alice` of a tenant that only this test uses."""
    return Caller(_session_channel, {"tenant": new_tenant(), "user": "alice"})


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server for this test alone, on an empty data folder `tmp_path / "data"`."""
    with run_server(tmp_path / "data") as running:
        yield running
