"""How the interceptors hand a call's trusted side to its handler: context variables, set on the call's thread."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.grant import Principal
from ironclaw_memory.contract.scope import Scope


class Caller(NamedTuple):
    """What the metadata of a call say, checked.

    Attributes:
        scope: whose memory.
        thread_id: the active conversation, or None.
        request_id: the idempotency key, or None.
        correlation_id: sent by the host or made up here.
        principal: who calls; None where no credentials are configured.
        recheck: proves the same credential again.
    """

    scope: Scope
    thread_id: str | None
    request_id: str | None
    correlation_id: str
    principal: Principal | None = None
    recheck: Callable[[], object] = lambda: None


DEADLINE: ContextVar[Deadline] = ContextVar("deadline")
CALLER: ContextVar[Caller] = ContextVar("caller")
CALL: ContextVar[Call] = ContextVar("call")


def current_call() -> Call:
    """Return the call that this thread serves.

    Raises:
        LookupError: the method isn't one that carries a scope; a fault of the assembly, answered INTERNAL.
    """
    return CALL.get()
