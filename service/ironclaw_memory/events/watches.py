"""The live watches of one process: each follows the trail of the whole data directory and hands on what it may see.

A watch holds a chunk of each file that is still written and nothing else: what its reader hasn't taken stays in the
files. It ends when its reader leaves, or when the server stops; the cursor of its last message tells where to go on,
at this server or another one.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..contract.faults import InvalidArguments, ShuttingDown
from ..contract.grant import Grant
from ..contract.scope import Scope
from .cursor import CursorInvalid, decode_position
from .follower import Follower
from .reading import Line
from .record import scope_members

LOOK_SECONDS: Final = 0.1
"""How late an event may be seen."""

PROGRESS_SECONDS: Final = 5.0
"""How often a watch that sees nothing says how far it has read, so that it needn't read that again."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a watch shows.

    Attributes:
        scope: whose events; of its tenant when `whole_tenant`.
        whole_tenant: whether the other scopes of the tenant count too, as far as the grant reaches.
        kinds: which kinds; empty for all.
        grant: what the credential allows; None where there are none.
    """

    scope: Scope
    whole_tenant: bool = False
    kinds: frozenset[str] = frozenset()
    grant: Grant | None = None

    def includes(self, record: dict[str, Any]) -> bool:
        """Tell whether the watch shows this record."""
        scope = record.get("scope")
        if not scope or (self.kinds and record["kind"] not in self.kinds):
            return False
        if self.whole_tenant:
            return bool(scope["tenant"] == self.scope.tenant) and self._reaches(scope)
        return bool(scope == scope_members(self.scope))

    def _reaches(self, scope: Mapping[str, str | None]) -> bool:
        if self.grant is None:
            return True
        axes = ((self.grant.users, "user"), (self.grant.agents, "agent"), (self.grant.projects, "project"))
        return all(allowed is None or scope[axis] in allowed for allowed, axis in axes)

    def needle(self) -> bytes:
        """Return bytes that every record which is shown holds; so most others needn't be parsed."""
        return b'"scope":{"tenant":%b' % json.dumps(self.scope.tenant).encode("ascii")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a watch hands on.

    Attributes:
        record: the event, None where only the place is told.
        file: the file that holds it.
        cursor: where to go on after it.
    """

    record: dict[str, Any] | None
    file: str
    cursor: str


class Watches:
    """Follows the trail for any number of readers, each in a thread of its own.

    Args:
        folder: where the trail is.
        key: the data directory's secret.
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self._ending = threading.Event()

    def end(self) -> None:
        """Let every watch end, soon."""
        self._ending.set()

    def follow(self, cursor: str, wanted: Wanted, check: Callable[[], object]) -> Iterator[Seen]:
        """Yield what is wanted, as it comes; first of all the place where the watch begins.

        Args:
            cursor: where to go on; empty begins with what happens from now on.
            wanted: what to show.
            check: run between looks; raises to end the watch.

        Raises:
            InvalidArguments: the cursor isn't one of this data directory.
            ShuttingDown: the server stops.
        """
        follower = self._open(cursor)
        yield Seen(None, "", follower.position().encode(self._key))
        told, told_at = follower.position(), time.monotonic()
        needle = wanted.needle()
        while True:
            for line in follower.look():
                record = _parse(line, needle)
                if record is not None and wanted.includes(record):
                    yield Seen(record, line.file, follower.position().encode(self._key))
                    told, told_at = follower.position(), time.monotonic()
                self._check(check)
            if time.monotonic() - told_at >= PROGRESS_SECONDS and told != follower.position():
                yield Seen(None, "", follower.position().encode(self._key))
                told, told_at = follower.position(), time.monotonic()
            self._ending.wait(LOOK_SECONDS)
            self._check(check)

    def _open(self, cursor: str) -> Follower:
        try:
            return Follower(self._folder, decode_position(cursor, self._key) if cursor else None)
        except CursorInvalid:
            raise InvalidArguments("The cursor isn't one of this service's data.", field="cursor") from None

    def _check(self, check: Callable[[], object]) -> None:
        if self._ending.is_set():
            raise ShuttingDown
        check()


def _parse(line: Line, needle: bytes) -> dict[str, Any] | None:
    return line.record() if needle in line.data else None
