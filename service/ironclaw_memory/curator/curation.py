"""One owner's curation, from the claim to its end.

Rules, each with the failure that it prevents:

1. The lease's end is counted from before the claim, on this machine's monotonic clock: the server's may be wrong.
2. A request is made only while there is time, and ends in time to give the lease back. An answer that comes late all
   the same (a machine that slept) is refused by the service, and nothing changes.
3. Every request counts against the claim's budget, also one that failed: an endpoint in trouble isn't flooded.
4. The model is asked again only where that can help, and is told what was wrong.
5. Whatever ends the work before the text is stored gives the lease back, so that the next curator needn't wait for its
   end; what can't be given back ends by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ironclaw_memory_client import (
    CurationClaim,
    CurationReport,
    CurationResult,
    DocumentTooLargeError,
    LeaseInvalidError,
    MemoryClient,
    MemoryServiceError,
    Scope,
    UnsafeTextError,
)

from .answer import Answer, Reading
from .conversation import Conversation
from .endpoint import ChatModel, TryLater
from .problem import WORDING, Problem, Unusable

FIRST_PAUSE: Final = 1.0
"""Seconds before a request is repeated when the endpoint named none; doubles each time."""

MOST_RESERVE: Final = 10.0
"""Seconds of the lease that are kept for ending it; a tenth of a short one."""


class Outcome(StrEnum):
    """How it ended. From `rewritten` to `refused` the service says so; the others are the curator's."""

    NOT_DUE = "not_due"
    REWRITTEN = "rewritten"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    REFUSED = "refused"
    ABANDONED = "abandoned"
    LEASE_OVER = "lease_over"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one curation may take.

    Attributes:
        lease_seconds: how long the claim holds.
        call_seconds: how long one request may take.
        model_calls: requests at most; the claim's budget bounds them too.
        document_bytes: the most bytes that the new text may have.
    """

    lease_seconds: int = 300
    call_seconds: float = 120.0
    model_calls: int = 3
    document_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Curated:
    """What came of one owner's curation.

    Attributes:
        outcome: how it ended.
        problem: why no text came of it; None when one did, or none was due.
        model_calls: requests made.
        report: the model's; None without a usable answer.
        content_sha256: hash of MEMORY.md afterwards, where the service told it.
    """

    outcome: Outcome
    problem: Problem | None = None
    model_calls: int = 0
    report: CurationReport | None = None
    content_sha256: str = ""


@dataclass(slots=True)
class _Budget:
    """Calls and time that are left."""

    calls_left: int
    ends_at: float
    now: Callable[[], float]
    used: int = 0

    def seconds_left(self) -> float:
        return self.ends_at - self.now()

    def spend_call(self, most_seconds: float) -> float:
        """Count a call and return the seconds that it may take.

        Raises:
            Unusable: there is no time left.
        """
        seconds = min(self.seconds_left(), most_seconds)
        if seconds <= 0:
            raise Unusable(Problem.TIME_OVER)
        self.calls_left -= 1
        self.used += 1
        return seconds


@dataclass(frozen=True, slots=True)
class Curator:
    """Curates one owner at a time.

    Attributes:
        client: of the service.
        model: does the thinking.
        limits: what one curation may take.
        now: a monotonic clock, in seconds.
        pause: waits for so many seconds.
    """

    client: MemoryClient
    model: ChatModel
    limits: Limits = Limits()
    now: Callable[[], float] = field(default=time.monotonic)
    pause: Callable[[float], None] = field(default=time.sleep)

    def curate(self, scope: Scope, *, force: bool = False) -> Curated:
        """Claim what is due and bring it to an end.

        Args:
            scope: the owner.
            force: claim even when nothing is due.

        Durability: when the outcome is `rewritten`, the new text is on the disk and the old one is a version of it.
        With any other outcome MEMORY.md is as it was.

        Raises:
            MemoryServiceError: the service failed or refused; the lease was given back as far as it could be reached.
        """
        ends_at = self.now() + self.limits.lease_seconds
        claim = self.client.claim_curation(lease_seconds=self.limits.lease_seconds, force=force, scope=scope)
        if not claim.claimed:
            return Curated(Outcome.NOT_DUE)
        reserve = min(MOST_RESERVE, self.limits.lease_seconds / 10)
        budget = _Budget(min(self.limits.model_calls, claim.max_model_calls), ends_at - reserve, self.now)
        try:
            return self._work(claim, scope, budget)
        except LeaseInvalidError:
            return Curated(Outcome.LEASE_OVER, model_calls=budget.used)
        except Unusable as unusable:
            return self._give_back(claim, scope, unusable.problem, budget)
        except BaseException:  # also when a person interrupts
            with suppress(MemoryServiceError):
                self.client.complete_curation(claim.lease_id, abandon=True, scope=scope)
            raise

    def _give_back(self, claim: CurationClaim, scope: Scope, problem: Problem, budget: _Budget) -> Curated:
        try:
            self.client.complete_curation(claim.lease_id, abandon=True, scope=scope)
        except LeaseInvalidError:
            return Curated(Outcome.LEASE_OVER, problem, budget.used)
        except MemoryServiceError:  # the lease ends by itself; why there is no text is the better thing to say
            pass
        return Curated(Outcome.ABANDONED, problem, budget.used)

    def _work(self, claim: CurationClaim, scope: Scope, budget: _Budget) -> Curated:
        if not claim.document.strip():  # nothing to tidy, and no reason to pay for being told so
            return self._complete(claim, scope, Answer(None, CurationReport()), budget)
        reading = Reading(claim.document, claim.report_schema_json, self.limits.document_bytes)
        conversation = Conversation.about(claim.prompt, claim.document)
        while True:
            text = self._ask(conversation, budget)
            try:
                return self._complete(claim, scope, reading.read(text), budget, text)
            except Unusable as unusable:
                if not WORDING[unusable.problem].model or budget.calls_left < 1:
                    raise
                conversation = conversation.after(unusable)

    def _ask(self, conversation: Conversation, budget: _Budget) -> str:
        """Return the model's answer, repeating the request while the endpoint is in trouble and the budget lasts."""
        delay = FIRST_PAUSE
        while True:
            seconds = budget.spend_call(self.limits.call_seconds)
            try:
                return self.model.ask(conversation.messages, seconds)
            except TryLater as later:
                wait = delay if later.after is None else later.after
                if budget.seconds_left() <= wait:
                    raise Unusable(Problem.TIME_OVER) from None
                if budget.calls_left < 1:
                    raise Unusable(Problem.ENDPOINT_UNAVAILABLE) from None
            self.pause(wait)
            delay *= 2

    def _complete(self, claim: CurationClaim, scope: Scope, answer: Answer, budget: _Budget, text: str = "") -> Curated:
        try:
            result: CurationResult = self.client.complete_curation(
                claim.lease_id, content=answer.content, report=answer.report, scope=scope
            )
        except UnsafeTextError:
            raise Unusable(Problem.UNSAFE, text) from None
        except DocumentTooLargeError:
            raise Unusable(Problem.TOO_LONG, text) from None
        return Curated(Outcome(result.outcome), None, budget.used, answer.report, result.content_sha256)
