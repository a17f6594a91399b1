"""One call's trusted side, made by the interceptors and handed down explicitly: scope, ids, time left, event sink.

Named tuples, not frozen dataclasses: one of each is made for every call, and they are made in a quarter of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from .events import NOTHING_NOTED, ChangeRecorder
from .faults import CallCancelled, DeadlineExceeded
from .grant import Grant, Permission, Principal, SourceClass
from .safety import SafetyFinding
from .scope import Scope


class SafetyRecorder(Protocol):
    """Where the policy leaves its events; bound to one call's scope and correlation id by the interceptor."""

    def record(self, finding: SafetyFinding) -> None:
        """Write the event; return once it is in the file, and on the disk when `finding.must_be_durable`.

        Raises:
            OSError: the event could not be written.
        """


def _never() -> bool:
    return False


def _always_good() -> None:
    pass


class Deadline(NamedTuple):
    """How long a call may still take.

    Attributes:
        expires_at: on the monotonic clock, in seconds.
        cancelled: tells whether the caller went away; asked before the lock is taken and before the commit point.
    """

    expires_at: float
    cancelled: Callable[[], bool] = _never

    @classmethod
    def after(cls, seconds: float, cancelled: Callable[[], bool] = _never) -> Deadline:
        """Return the deadline `seconds` from now."""
        return cls(time.monotonic() + seconds, cancelled)

    def remaining(self) -> float:
        """Return the seconds left, never below zero."""
        return max(0.0, self.expires_at - time.monotonic())

    def check(self) -> None:
        """Return while there is time and a caller.

        Raises:
            DeadlineExceeded: the time is over.
            CallCancelled: the caller went away.
        """
        if self.remaining() <= 0:
            raise DeadlineExceeded
        if self.cancelled():
            raise CallCancelled


class Call(NamedTuple):
    """What the host says about a call, apart from the request message.

    Attributes:
        scope: whose memory.
        thread_id: the active conversation; None without one.
        request_id: the idempotency key; None when the host sent none.
        correlation_id: ties log lines and events of one call together; always present.
        deadline: until when.
        safety: where the policy's events go.
        changes: where it is noted what was changed and looked for; forgotten where nothing is given.
        principal: who calls; None where the server asks for no credentials and trusts whoever reaches it.
        recheck: asks again whether the credential still holds, for streams that outlive it.
    """

    scope: Scope
    thread_id: str | None
    request_id: str | None
    correlation_id: str
    deadline: Deadline
    safety: SafetyRecorder
    principal: Principal | None = None
    recheck: Callable[[], object] = _always_good
    changes: ChangeRecorder = NOTHING_NOTED

    @property
    def grant(self) -> Grant | None:
        """What the caller's credential allows; None where the server asks for none."""
        return self.principal.grant if self.principal else None

    @property
    def source_class(self) -> SourceClass:
        """Who speaks through this call, by its credential; an agent where there is none."""
        return self.principal.grant.source if self.principal else SourceClass.AGENT

    def may(self, permission: Permission) -> bool:
        """Tell whether the caller has this permission."""
        return self.principal is None or permission in self.principal.grant.permissions

    def require(self, *needed: Permission) -> None:
        """Return when the caller has all of these permissions.

        Raises:
            PermissionForbidden: one is lacking.
        """
        if self.principal is not None:
            self.principal.grant.require(*needed)
