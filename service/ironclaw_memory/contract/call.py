"""One call's trusted side, made by the interceptors and handed down explicitly: scope, ids, time left, event sink."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from .faults import CallCancelled, DeadlineExceeded
from .safety import SafetyFinding
from .scope import Scope


class SafetyRecorder(Protocol):
    """Where the policy leaves its events; bound to one call's scope and correlation id by the interceptor."""

    def record(self, finding: SafetyFinding) -> None:
        """Write the event; return once it is in the file, and on the disk when `finding.must_be_durable`.

        Raises:
            OSError: the event could not be written.
        """


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long a call may still take.

    Attributes:
        expires_at: on the monotonic clock, in seconds.
        cancelled: tells whether the caller went away; asked before the lock is taken and before the commit point.
    """

    expires_at: float
    cancelled: Callable[[], bool] = field(default=lambda: False)

    @classmethod
    def after(cls, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> Deadline:
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


@dataclass(frozen=True, slots=True)
class Call:
    """What the host says about a call, apart from the request message.

    Attributes:
        scope: whose memory.
        thread_id: the active conversation; None without one.
        request_id: the idempotency key; None when the host sent none.
        correlation_id: ties log lines and events of one call together; always present.
        deadline: until when.
        safety: where the policy's events go.
    """

    scope: Scope
    thread_id: str | None
    request_id: str | None
    correlation_id: str
    deadline: Deadline
    safety: SafetyRecorder
