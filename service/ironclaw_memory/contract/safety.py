"""The words in which the safety check reports: decisions, operations, severities, and one finding a write."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .faults import Reason


class Severity(StrEnum):
    """How bad a rule's match is; `none` when nothing matched."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class EventKind(StrEnum):
    """What was decided about a write to a protected path or a passage for a prompt, or what came of a curation."""

    CHECKED = "checked"
    WARNED = "warned"
    REJECTED = "rejected"
    BYPASS_ALLOWED = "bypass_allowed"
    CURATED = "curated"


class Operation(StrEnum):
    """Which way the text took: in, out into a prompt, or through a curation."""

    WRITE = "write"
    APPEND = "append"
    PATCH = "patch"
    IMPORT = "import"
    SEED = "seed"
    PROFILE_UPDATE = "profile_update"
    ADMIN_SYSTEM_PROMPT_UPDATE = "admin_system_prompt_update"
    RECALL = "recall"
    CURATE = "curate"


class Allowance(StrEnum):
    """Why a text that would be refused may pass."""

    EMPTY_PROMPT_FILE_CLEAR = "empty_prompt_file_clear"


@dataclass(frozen=True, slots=True)
class CurationFacts:
    """What came of a curation, in numbers.

    Attributes:
        outcome: `rewritten`, `unchanged`, `conflict`, `refused` or `abandoned`.
        kept, merged, rewritten, superseded: lines of the old text, as the curator reports them.
        conflicts: how many matters the curator left to the user.
        lines_before, lines_after: lines of the document, blank ones not counted; None when it wasn't looked at.
    """

    outcome: str
    kept: int = 0
    merged: int = 0
    rewritten: int = 0
    superseded: int = 0
    conflicts: int = 0
    lines_before: int | None = None
    lines_after: int | None = None


@dataclass(frozen=True, slots=True)
class SafetyFinding:
    """The outcome of one check: what an event says, less what the sink adds (scope, time, sequence, hash of the path).

    Attributes:
        kind: the decision.
        operation: the way in.
        source: which surface asked, such as `memory_service.write`.
        policy_version: version of the table of protected paths.
        protected_class: the event class of the path, such as `memory_md`.
        path: the document's path; the sink writes only its keyed hash.
        reason: why it was refused; None when it wasn't.
        severity: the worst match.
        findings: how many rules matched.
        rules_version: version of the rule table.
        rule_ids: which rules, worst first.
        allowance: set on `bypass_allowed`.
        must_be_durable: whether the event has to be on the disk before the write goes on.
        curation: set on `curated`.
    """

    kind: EventKind
    operation: Operation
    source: str
    policy_version: str
    protected_class: str
    path: str
    reason: Reason | None = None
    severity: Severity = Severity.NONE
    findings: int = 0
    rules_version: str = ""
    rule_ids: tuple[str, ...] = ()
    allowance: Allowance | None = None
    must_be_durable: bool = False
    curation: CurationFacts | None = None
