"""Whose scopes a data directory holds, read from each `scope.json`: for tools that visit every owner. Takes no lock."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import structlog

from ironclaw_memory.contract.faults import ScopeInvalid
from ironclaw_memory.contract.scope import Scope

from .files import open_folders, read_file
from .layout import SCOPE_FILE, scope_names
from .sweep import scope_folders

_log = structlog.get_logger(__name__)


def list_scopes(data_dir: bytes) -> Iterator[Scope]:
    """Yield the scope of every folder that is marked whole, in no particular order.

    A folder whose mark is missing, damaged or names another place (a backup restored in the wrong one) is left out and
    logged.

    Raises:
        OSError: the data directory can't be read.
    """
    base = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in scope_folders(base):
            scope = _read_scope(folder)
            if scope is not None and _is_at_home(scope, folder, base):
                yield scope
            else:
                _log.warning("scope_left_out")
    finally:
        os.close(base)


def _read_scope(folder: int) -> Scope | None:
    try:
        found = read_file(SCOPE_FILE, folder)
        ids = json.loads(found[0]) if found is not None else {}
        return Scope(ids["tenant"], ids["user"], ids["agent"], ids["project"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ScopeInvalid):
        return None


def _is_at_home(scope: Scope, folder: int, base: int) -> bool:
    """Tell whether the store would open this folder for the scope that it names."""
    try:
        home = open_folders(base, scope_names(scope))
    except OSError:
        return False
    try:
        return os.path.sameopenfile(home, folder)
    finally:
        os.close(home)
