"""The tally of a whole tenant's documents and bytes, for its quota: the sum of its scopes' tallies (`usage.py`).

It is raised after the scope's own tally and lowered before it, so what another process counts in between can be too
high and never too low: a tenant that is refused by mistake is counted afresh, one that passes by mistake would not be.
The first change of each process counts, which also mends what drifted while no quota was set.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from ironclaw_memory.contract.faults import ScopeQuota
from ironclaw_memory.contract.scope import Scope

from .files import open_folder, open_folders
from .health import FolderGone
from .layout import DOCUMENTS, LEVELS, USAGE_FILE, scope_names
from .sweep import scope_folders
from .usage import Usage, keep_tally, load_tally, open_tally
from .walk import count_documents

RECOUNT_SECONDS: Final = 5.0
"""At most so often is a tenant counted that is at its limit, lest its refusals cost more than its writes did."""

NO_LIMITS: Final[Usage] = (0, 0)


class TenantUsage:
    """What tenants may hold.

    Args:
        data_dir: path of the data directory.
        limits: documents and bytes of a tenant; 0 for no limit.
        now: a clock in seconds.
    """

    def __init__(self, data_dir: bytes, limits: Usage, now: Callable[[], float] = time.monotonic) -> None:
        self._data_dir = data_dir
        self._limits = limits
        self._now = now
        self._lock = threading.Lock()
        self._counted: dict[str, float] = {}  # guarded by _lock: when a tenant was counted last in this process

    def take(self, scope: Scope, more: Usage) -> None:
        """Add `more` to the tenant's tally, after the scope's, or take negative numbers off it, before the scope's.

        Raises:
            ScopeQuota: the tenant would exceed a limit by this change; the tally is unchanged.
            OSError: the tally can't be read or kept.
            FolderGone: the tenant was removed.
        """
        if self._limits == NO_LIMITS:
            return
        folder = self._open(scope)
        try:
            with open_tally(folder) as fd:
                known = load_tally(fd) if scope.tenant in self._counted else None
                grown = self._count(scope.tenant, folder, more) if known is None else _add(known, more)
                excess = self._excess(grown, more)
                if excess is not None and self._may_count(scope.tenant):
                    grown = self._count(scope.tenant, folder, more)
                    excess = self._excess(grown, more)
                keep_tally(fd, grown if excess is None else _add(grown, (-more[0], -more[1])))
        finally:
            os.close(folder)
        if excess is not None:
            raise excess

    def _open(self, scope: Scope) -> int:
        root = os.open(self._data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return open_folders(root, scope_names(scope)[:2])
        except FileNotFoundError:
            raise FolderGone from None
        finally:
            os.close(root)

    def _may_count(self, tenant: str) -> bool:
        with self._lock:
            return self._now() - self._counted[tenant] >= RECOUNT_SECONDS

    def _count(self, tenant: str, folder: int, more: Usage) -> Usage:
        """Return the sum of the scopes' tallies, with the change; what it adds is in its scope's tally already."""
        with self._lock:
            self._counted[tenant] = self._now()
        usage = (0, 0) if max(more) > 0 else more
        for scope in scope_folders(folder, LEVELS[1:]):
            usage = _add(usage, _usage_of(scope))
        return usage

    def _excess(self, grown: Usage, more: Usage) -> ScopeQuota | None:
        quotas = ("tenant_documents", "tenant_bytes")
        for quota, used, extra, limit in zip(quotas, grown, more, self._limits, strict=True):
            if extra > 0 and 0 < limit < used:
                return ScopeQuota(quota, limit)
        return None


def _add(usage: Usage, more: Usage) -> Usage:
    return usage[0] + more[0], usage[1] + more[1]


def _usage_of(scope: int) -> Usage:
    """Return a scope's tally, or count where there is none; a scope that isn't whole holds nothing yet."""
    try:
        fd = os.open(USAGE_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=scope)
        try:
            tally = load_tally(fd)
        finally:
            os.close(fd)
        if tally is not None:
            return tally
    except FileNotFoundError:
        pass
    try:
        documents = open_folder(DOCUMENTS, scope)
    except FileNotFoundError:
        return 0, 0
    try:
        return count_documents(documents)
    finally:
        os.close(documents)
