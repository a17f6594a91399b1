"""Owns the sink of the audit trail and lends each call a recorder that is bound to its scope, id and credential."""

from __future__ import annotations

from contextvars import Token
from typing import Protocol

import grpc

from ironclaw_memory.contract.call import Call, SafetyRecorder
from ironclaw_memory.contract.events import ChangeRecorder
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.interceptors.around import Around
from ironclaw_memory.interceptors.call import CALL, CALLER, DEADLINE


class EventRecorder(SafetyRecorder, ChangeRecorder, Protocol):
    """Takes both kinds of event of one call."""


class EventSink(Protocol):
    """Where events are kept."""

    def recorder(
        self, scope: Scope | None, correlation_id: str = "", *, principal: str = "", source_class: str = ""
    ) -> EventRecorder:
        """Return a recorder that puts this origin on its events."""


class Events(Around):
    """Completes the call that handlers see.

    Args:
        sink: where events go.
        methods: full names of the methods that have a scope.
    """

    def __init__(self, sink: EventSink, methods: frozenset[str]) -> None:
        super().__init__(methods)
        self._sink = sink

    def enter(self, method: str, context: grpc.ServicerContext) -> Token[Call]:
        """Bind a recorder to the call."""
        del method, context
        caller = CALLER.get()
        who = caller.principal
        recorder = self._sink.recorder(
            caller.scope,
            caller.correlation_id,
            principal=who.name if who else "",
            source_class=who.grant.source.value if who else "",
        )
        call = Call(
            scope=caller.scope,
            thread_id=caller.thread_id,
            request_id=caller.request_id,
            correlation_id=caller.correlation_id,
            deadline=DEADLINE.get(),
            safety=recorder,
            principal=who,
            recheck=caller.recheck,
            changes=recorder,
        )
        return CALL.set(call)

    def leave(self, entered: Token[Call]) -> None:
        """Forget the call: the thread serves others."""
        CALL.reset(entered)
