"""How a thread that serves a call says that it waits for something else than the interpreter.

What runs Python code runs one thread at a time, so calls take turns (`call_threads.py`). A call that waits for the disk
or for a lock gives its turn away meanwhile: `with waiting(): os.fsync(fd)`. On any other thread that means nothing.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Protocol


class Turn(Protocol):
    """The turn of one call."""

    def give_away(self) -> bool:
        """Let another call run; return whether there was a turn to give."""

    def take_back(self) -> None:
        """Run again, at once, even if that makes one more than there should be."""


class _Current(threading.local):
    turn: Turn | None = None


current = _Current()
"""Its `turn` is set by whoever runs a call on this thread."""


class waiting:  # noqa: N801  # reads as a statement
    """Gives the turn of this thread's call away for a block. A class: a generator would cost a microsecond more."""

    __slots__ = ("_given",)

    def __enter__(self) -> None:
        turn = current.turn
        self._given = turn if turn is not None and turn.give_away() else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._given is not None:
            self._given.take_back()
