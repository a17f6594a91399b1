"""Gives every call an end: the caller's own deadline, at most the server's cap, and a default where there is none."""

from __future__ import annotations

import math
from contextvars import Token

import grpc

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.interceptors.around import Around
from ironclaw_memory.interceptors.call import DEADLINE


class Deadlines(Around):
    """Sets the call's deadline.

    Args:
        default_seconds: for callers that set none.
        cap_seconds: the longest a call may take, whatever the caller says.
        methods: full names of the methods that have a deadline.
        unbounded: those of them that go on for as long as their caller likes.
    """

    def __init__(
        self,
        default_seconds: float,
        cap_seconds: float,
        methods: frozenset[str],
        unbounded: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(methods)
        self._unbounded = unbounded
        self._default_seconds = default_seconds
        self._cap_seconds = cap_seconds

    def enter(self, method: str, context: grpc.ServicerContext) -> Token[Deadline]:
        """Set the deadline, and refuse a call that waited for a thread until it was over."""
        remaining = context.time_remaining()
        if method in self._unbounded:
            seconds = math.inf if remaining is None else remaining
        else:
            seconds = self._default_seconds if remaining is None else min(remaining, self._cap_seconds)
        deadline = Deadline.after(seconds, lambda: not context.is_active())
        deadline.check()
        return DEADLINE.set(deadline)

    def leave(self, entered: Token[Deadline]) -> None:
        """Forget it: the thread serves other calls."""
        DEADLINE.reset(entered)
