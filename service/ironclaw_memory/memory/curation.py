"""Tidying MEMORY.md: a claim hands out the text and a lease, its completion replaces the text unless it was changed.

The thinking is the host's model's; what is held here is that it can't do harm. One claim at a time, one read, at most
one write. What was written while the model thought stays, since the write needs the hash that was handed out. A text
that drops most of the lines without a word isn't believed. And what is replaced is kept as a version.

Everything that ends a claim is done under the scope's curation lock, and a completion that is sent again, because its
answer was lost or the server died on the way, finds what it did and says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

import structlog

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.faults import ContentChanged, DocumentMissing, InvalidArguments, LeaseInvalid
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.safety import CurationFacts, EventKind, Operation, SafetyFinding
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.contract.target import RESERVED_PATHS, ReservedTarget
from ironclaw_memory.memory.changes import DocumentChanges, Edit, Precondition
from ironclaw_memory.memory.interactions import is_due
from ironclaw_memory.memory.read import ReadingStore, decode_document
from ironclaw_memory.safety.protected import POLICY_VERSION, PROTECTED
from ironclaw_memory.store.curation import CurationDesk, CurationStore, Lease

SOURCE: Final = "memory_lifecycle_service.complete_curation"
CURATED_PATH: Final = RESERVED_PATHS[ReservedTarget.MEMORY]
DEFAULT_LEASE_SECONDS: Final = 300
MAX_LEASE_SECONDS: Final = 3600
MAX_MODEL_CALLS: Final = 10
MAX_CONFLICTS: Final = 100
MAX_CONFLICT_CHARACTERS: Final = 1000

log = structlog.get_logger("ironclaw_memory.curation")


class Outcome(StrEnum):
    """How a curation ends. The wire's enum is `CURATION_OUTCOME_` and the member's name."""

    REWRITTEN = "rewritten"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    REFUSED = "refused"
    ABANDONED = "abandoned"


_RESTARTS_THE_COUNT: Final = frozenset((Outcome.REWRITTEN, Outcome.UNCHANGED))
"""After the others the text is as untidy as before, and the curation stays due."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease and the work that it is for.

    Attributes:
        lease: who may end it, and until when.
        document: the text to tidy.
    """

    lease: Lease
    document: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the curator says became of the lines of the old text, in counts, and what the user should settle.

    Raises:
        InvalidArguments: there are more than 100 conflicts, or one is blank or has more than 1,000 characters.
    """

    kept: int = 0
    merged: int = 0
    rewritten: int = 0
    superseded: int = 0
    conflicts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.conflicts) > MAX_CONFLICTS:
            raise InvalidArguments(f"A report has at most {MAX_CONFLICTS} conflicts.", field="report.conflicts")
        if not all(each.strip() and len(each) <= MAX_CONFLICT_CHARACTERS for each in self.conflicts):
            limit = f"1 to {MAX_CONFLICT_CHARACTERS} characters"
            raise InvalidArguments(f"A conflict is a sentence of {limit}.", field="report.conflicts")


@dataclass(frozen=True, slots=True)
class Completion:
    """How a claim shall end.

    Attributes:
        lease_id: from the claim.
        content: the new text; None when nothing needed to change.
        report: what became of the lines.
        abandon: whether nothing took place.

    Raises:
        InvalidArguments: the text is blank or holds NUL, or a claim that is abandoned comes with a text.
    """

    lease_id: str
    content: str | None = None
    report: Report = Report()
    abandon: bool = False

    def __post_init__(self) -> None:
        if self.content is None:
            return
        if self.abandon:
            raise InvalidArguments("A claim that is abandoned takes no content.", field="content")
        if not self.content.strip():
            # What a model that failed returns must not pass for a tidy memory.
            raise InvalidArguments("content must not be blank; leave it out when nothing changes.", field="content")
        if "\0" in self.content:
            raise InvalidArguments("content must not hold a NUL character.", field="content")

    def fingerprint(self) -> str:
        """Return 64 hex digits that tell the same completion, sent again, from another."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Completed:
    """What came of a claim: how it ended, and the hash of `MEMORY.md` now, empty when there is none."""

    outcome: Outcome
    content_sha256: str


class CuratedStore(ReadingStore, Protocol):
    """What curating needs of the store, besides the choke point."""

    def read_head(self, scope: Scope, path: DocumentPath, max_bytes: int) -> tuple[bytes, int]:
        """See `store.documents.DocumentStore.read_head`."""


class _TooMuchLost(Exception):
    """The new text lacks more than half of the old lines, and the report doesn't account for them."""


@dataclass(slots=True)
class _Lines:
    """How many lines the text had, and how many it was to have, once that is known."""

    before: int | None = None
    after: int | None = None


class Curator:
    """Hands out and takes back the curation of one scope at a time.

    Args:
        store: reads MEMORY.md.
        changes: the choke point.
        curation: which turns count, and who holds the lease.
        curation_turns: how many turns make a curation due; 0 for never.
    """

    def __init__(
        self, store: CuratedStore, changes: DocumentChanges, curation: CurationStore, curation_turns: int
    ) -> None:
        self._store = store
        self._changes = changes
        self._curation = curation
        self._curation_turns = curation_turns

    def claim(self, call: Call, lease_seconds: int | None, *, force: bool) -> Claim | None:
        """Give the caller the lease, durably; None when nothing is due, someone holds it, or there is no MEMORY.md.

        The same request id, sent again while its lease holds, gets that lease.

        Raises:
            InvalidArguments: `lease_seconds` isn't between 1 and 3,600.
            DocumentNotText: MEMORY.md isn't UTF-8.
        """
        seconds = DEFAULT_LEASE_SECONDS if lease_seconds is None else lease_seconds
        if not 1 <= seconds <= MAX_LEASE_SECONDS:
            raise InvalidArguments(f"lease_seconds must be 1 to {MAX_LEASE_SECONDS}.", field="lease_seconds")
        if not force and not self._curation.has_files(call.scope):
            return None  # and nothing is made for a scope that only was asked about
        if not self._has_document(call):
            return None
        with self._curation.hold(call.scope, call.deadline) as desk:
            return self._claim_held(call, desk, seconds, force=force)

    def _claim_held(self, call: Call, desk: CurationDesk, seconds: int, *, force: bool) -> Claim | None:
        asker = _digest(call.request_id)
        held = desk.held_lease()
        if held is not None and not (asker and held.claimed_by == asker):
            return None
        if held is None and not force and not is_due(desk.count_turns(), self._curation_turns):
            return None
        try:
            document = self._store.read_document(call.scope, CURATED_PATH)
        except DocumentMissing:
            return None
        text = decode_document(document.content)
        if held is not None:
            return Claim(desk.renew_lease(held, document.sha256), text)
        return Claim(desk.give_lease(document.sha256, seconds, asker), text)

    def _has_document(self, call: Call) -> bool:
        try:
            self._store.read_head(call.scope, CURATED_PATH, 0)
        except DocumentMissing:
            return False
        return True

    def _sha256_now(self, call: Call) -> str:
        try:
            return self._store.read_document(call.scope, CURATED_PATH).sha256
        except DocumentMissing:
            return ""

    def complete(self, call: Call, completion: Completion) -> Completed:
        """End a claim: replace the text, if nobody changed it since, or leave it.

        Durability: outcome, text and count are on the disk when this returns. A refusal by a check leaves the lease, so
        that the curator can mend its text.

        Raises:
            LeaseInvalid: the lease is over, or was never given in this scope.
            Fault: as a write.
        """
        if not self._curation.has_files(call.scope):
            raise LeaseInvalid
        with self._curation.hold(call.scope, call.deadline) as desk:
            lease = desk.last_lease()
            if lease is None or lease.lease_id != completion.lease_id:
                raise LeaseInvalid
            if lease.outcome and lease.ended_by == completion.fingerprint():
                return Completed(Outcome(lease.outcome), lease.content_sha256)
            if desk.held_lease() is None:
                raise LeaseInvalid
            return self._end(call, desk, lease, completion)

    def _end(self, call: Call, desk: CurationDesk, lease: Lease, completion: Completion) -> Completed:
        lines = _Lines()
        completed = self._carry_out(call, lease, completion, lines)
        if completed.outcome in _RESTARTS_THE_COUNT:
            desk.restart_count(lease)
        desk.end_lease(lease, completion.fingerprint(), completed.outcome.value, completed.content_sha256)
        _tell(call, completed.outcome, completion.report, lines)
        return completed

    def _carry_out(self, call: Call, lease: Lease, completion: Completion, lines: _Lines) -> Completed:
        if completion.abandon:
            return Completed(Outcome.ABANDONED, self._sha256_now(call))
        if completion.content is None:
            return Completed(Outcome.UNCHANGED, self._sha256_now(call))
        try:
            return self._rewrite(call, lease, completion, completion.content, lines)
        except ContentChanged as changed:
            # A server that died after the write left the text in place: then this is the same completion again.
            is_done = changed.current_sha256 == hashlib.sha256(completion.content.encode("utf-8")).hexdigest()
            return Completed(Outcome.REWRITTEN if is_done else Outcome.CONFLICT, changed.current_sha256)
        except _TooMuchLost:
            return Completed(Outcome.REFUSED, lease.document_sha256)

    def _rewrite(self, call: Call, lease: Lease, completion: Completion, content: str, lines: _Lines) -> Completed:
        def replace(old: str | None) -> tuple[str, Mapping[str, Any]]:
            before, after = distinct_lines(old or ""), distinct_lines(content)
            lines.before, lines.after = len(before), len(after)
            accounted = completion.report.merged + completion.report.superseded
            if loses_too_much(len(before), len(after), accounted):
                raise _TooMuchLost
            return content, {}

        edit = Edit(replace, Operation.WRITE, SOURCE, precondition=Precondition(lease.document_sha256))
        committed = self._changes.apply(_without_request_id(call), CURATED_PATH, edit, {})
        return Completed(Outcome.REWRITTEN if committed.changed else Outcome.UNCHANGED, committed.sha256)


def distinct_lines(text: str) -> frozenset[str]:
    """Return the lines of a text that aren't blank, trimmed. The same line twice is one: dropping one loses nothing."""
    return frozenset(line.strip() for line in text.splitlines() if line.strip())


def loses_too_much(before: int, after: int, accounted: int) -> bool:
    """Tell whether more than half of `before` lines would be gone that nobody accounted for as merged or superseded."""
    return (before - after - accounted) * 2 > before


def _digest(request_id: str | None) -> str:
    return "" if request_id is None else hashlib.sha256(request_id.encode("utf-8")).hexdigest()


def _without_request_id(call: Call) -> Call:
    """A completion is known again by its lease; a request id of the host's would be remembered in vain."""
    return call if call.request_id is None else call._replace(request_id=None)


def _tell(call: Call, outcome: Outcome, report: Report, lines: _Lines) -> None:
    """Have an event and a log line tell what came of it, in numbers; neither holds any text."""
    facts = CurationFacts(
        outcome=outcome.value,
        kept=report.kept,
        merged=report.merged,
        rewritten=report.rewritten,
        superseded=report.superseded,
        conflicts=len(report.conflicts),
        lines_before=lines.before,
        lines_after=lines.after,
    )
    log.info("curation ended", correlation_id=call.correlation_id, **asdict(facts))
    with suppress(Exception):  # the sink counts and logs what it loses; the curation is done
        call.safety.record(
            SafetyFinding(
                kind=EventKind.CURATED,
                operation=Operation.CURATE,
                source=SOURCE,
                policy_version=POLICY_VERSION,
                protected_class=PROTECTED[CURATED_PATH.text],
                path=CURATED_PATH.text,
                curation=facts,
            )
        )
