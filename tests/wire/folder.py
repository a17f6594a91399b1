"""A scope's folder, as a person with a shell sees it: documents to compare, locks to hold, files to tamper with."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.caller import Caller
from tests.server_process import ServerProcess


def scope_folder(server: ServerProcess, caller: Caller) -> Path:
    """Return the folder of the caller's scope; the tests' ids are ordinary and stay as they are."""
    scope = caller.scope
    return (
        server.data_dir / "tenants" / str(scope["tenant"]) / "users" / str(scope["user"])
        / "agents" / (scope.get("agent") or "_none") / "projects" / (scope.get("project") or "_none")
    )  # fmt: skip


def documents_folder(server: ServerProcess, caller: Caller) -> Path:
    """Return the folder in which the scope's documents lie."""
    return scope_folder(server, caller) / "documents"


def documents_on_disk(server: ServerProcess, caller: Caller) -> dict[str, bytes]:
    """Return every file under the scope's `documents/`, by its path, temporaries included."""
    root = documents_folder(server, caller)
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


@contextmanager
def held_locks(server: ServerProcess, caller: Caller) -> Iterator[None]:
    """Hold every lock of the scope for the block, as another server process would, so that its writes wait.

    The documents that shall wait must have been written before: a lock that nobody took yet can't be held.
    """
    locks = [file for file in (scope_folder(server, caller) / "locks").rglob("*") if file.is_file()]
    assert locks, "the scope has no locks to hold"
    with ExitStack() as stack:
        for lock in locks:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
