"""Owns the sink of safety events and lends each call a recorder that is bound to its scope and correlation id."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import grpc

from ironclaw_memory.contract.call import Call, SafetyRecorder
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.interceptors.around import Around
from ironclaw_memory.interceptors.call import CALL, CALLER, DEADLINE, Holding


class SafetySink(Protocol):
    """Where safety events are kept."""

    def recorder(self, scope: Scope, correlation_id: str) -> SafetyRecorder:
        """Return a recorder that puts this scope and id on its events."""

    def close(self) -> None:
        """Write what is pending and let go of the file."""


class SafetyEvents(Around):
    """Completes the call that handlers see.

    Args:
        sink: where events go; closed by `close`.
        methods: full names of the methods that have a scope.
    """

    def __init__(self, sink: SafetySink, methods: frozenset[str]) -> None:
        super().__init__(methods)
        self._sink = sink

    def around(self, method: str, context: grpc.ServicerContext) -> AbstractContextManager[None]:
        """Bind a recorder to the call."""
        del method, context
        caller = CALLER.get()
        call = Call(
            scope=caller.scope,
            thread_id=caller.thread_id,
            request_id=caller.request_id,
            correlation_id=caller.correlation_id,
            deadline=DEADLINE.get(),
            safety=self._sink.recorder(caller.scope, caller.correlation_id),
        )
        return Holding(CALL, call)

    def close(self) -> None:
        """Close the sink, once no call is in flight any more."""
        self._sink.close()
