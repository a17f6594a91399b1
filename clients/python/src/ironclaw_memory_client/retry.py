"""When a failed call is tried again, and after how long. Pure: the clock's time is handed in, and nobody sleeps here.

gRPC's own retry (a `retryPolicy` in the service config) was considered and isn't used: it goes by status code alone, so
it can't leave `OUTCOME_UNKNOWN` alone or repeat `CAS_EXHAUSTED` but not `CONTENT_CHANGED`; it is set per method, so it
can't tell a conditional write from a plain one; and it doesn't read the server's `RetryInfo`. A general retry package
would bring its loop and leave exactly these rules to be written. What is left of the loop is ten lines in each client.

What may be repeated:

1. `UNAVAILABLE`, on reads and on changes. Repeating a change is safe because every change carries a request id, the
   same on all tries, under which the service makes it once and answers later tries with the first result.
2. Not `OUTCOME_UNKNOWN`, although it is `UNAVAILABLE`. The request id would make a repetition harmless, but the answer
   "done" to it couldn't make durable what the disk refused to, and would hide from the caller that it may be lost.
3. `CAS_EXHAUSTED`, when the change has no precondition: nothing was written, and the same change still makes sense.
   With a precondition the caller has to read again; `CONTENT_CHANGED` is never repeated.
4. `RATE_LIMITED`: nothing was started, and the server says how long to wait.
5. Nothing else. In particular not `DEADLINE_EXCEEDED`: the time that the caller gave is over.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import grpc

from .errors import MemoryServiceError, OutcomeUnknownError, RateLimitedError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently calls are repeated. All of it happens within the call's deadline.

    Attributes:
        max_tries: tries in all, the first included; 1 turns repeating off.
        first_delay: seconds before the second try when the server names no delay; doubles with each try.
        max_delay: the longest such delay in seconds. A delay that the server names is honoured even when longer.
    """

    max_tries: int = 4
    first_delay: float = 0.2
    max_delay: float = 5.0

    def __post_init__(self) -> None:
        if self.max_tries < 1:
            raise ValueError("max_tries must be at least 1")
        if self.first_delay < 0 or self.max_delay < 0:
            raise ValueError("first_delay and max_delay must not be negative")


@dataclass(slots=True)
class Tries:
    """The tries of one call.

    Attributes:
        policy: how often and how patiently.
        expires_at: when the caller's time is over, on the monotonic clock.
        changes: True for a call that changes documents.
        conditional: True for a change with a precondition.
    """

    policy: RetryPolicy
    expires_at: float
    changes: bool
    conditional: bool
    _failed: int = field(default=0, init=False)

    def delay_after(self, error: MemoryServiceError, now: float) -> float | None:
        """Count a failed try and return the seconds to wait before the next; None when there shall be none.

        A wait that would outlast the caller's time is not begun: the caller gets the error while it can still act.
        """
        self._failed += 1
        if self._failed >= self.policy.max_tries or not self._may_repeat(error):
            return None
        delay = self._delay(error.retry_after)
        return delay if now + delay < self.expires_at else None

    def _may_repeat(self, error: MemoryServiceError) -> bool:
        if error.code is grpc.StatusCode.UNAVAILABLE:
            return not isinstance(error, OutcomeUnknownError)
        if isinstance(error, RateLimitedError):
            return True
        return error.reason == "CAS_EXHAUSTED" and self.changes and not self.conditional

    def _delay(self, asked_for: float | None) -> float:
        """Return a spread delay, so that callers who were refused together don't come back together."""
        if asked_for is not None:
            return asked_for * random.uniform(1.0, 1.2)  # noqa: S311  # never sooner than the server asked
        ceiling = min(self.policy.max_delay, self.policy.first_delay * 2.0 ** (self._failed - 1))
        return ceiling * random.uniform(0.5, 1.0)  # noqa: S311
