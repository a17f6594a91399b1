"""Decides about a text that is meant for a prompt file, and has the decision recorded (contract 4.2).

Whatever goes wrong here refuses the write: a text that couldn't be checked counts as unsafe, and a write that only a
recorded event makes acceptable doesn't happen without it. Where the event goes is the recorder's affair.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..contract.call import SafetyRecorder
from ..contract.faults import PolicyUnavailable, Reason, SafetyEventUnavailable, UnsafeText
from ..contract.path import DocumentPath
from ..contract.safety import Allowance, EventKind, Operation, SafetyFinding, Severity
from .protected import POLICY_VERSION, ProtectedPaths
from .scanner import NOTHING_FOUND, Scanner, Verdict
from .secrets import find_secrets

_REFUSED: dict[Severity, tuple[Reason, str]] = {
    Severity.HIGH: (
        Reason.HIGH_RISK_PROMPT_INJECTION,
        "The document would carry an instruction to whoever reads it as a prompt; state the fact instead.",
    ),
    Severity.CRITICAL: (
        Reason.CRITICAL_PROMPT_INJECTION,
        "The document would take over whoever reads it as a prompt; nothing was changed.",
    ),
}
_EMPTY = "A prompt file can't be left empty; only the target bootstrap clears one."
_SECRET = "The document would hold a credential; prompt files take none."  # noqa: S105  # a message, not a secret


@dataclass(frozen=True, slots=True)
class _Decision:
    """What is to be done about a text.

    Attributes:
        kind: as the event names it.
        verdict: what the rules, or the shapes of credentials, had found.
        refusal: the fault to raise; None when the text may be stored.
        allowance: why a text that would be refused may pass.
    """

    kind: EventKind
    verdict: Verdict = NOTHING_FOUND
    refusal: UnsafeText | PolicyUnavailable | None = None
    allowance: Allowance | None = None

    @property
    def needs_its_event(self) -> bool:
        """Whether the write may go on only with its event on the disk."""
        return self.kind in (EventKind.WARNED, EventKind.BYPASS_ALLOWED)


class PromptWritePolicy:
    """The one check that every change of a protected document passes.

    Args:
        scanner: the compiled rules.
        extra_protected: paths that the operator protects besides the built-in ones.

    Raises:
        InvalidPath: an extra path breaks the grammar of contract 2.2.
    """

    def __init__(self, scanner: Scanner, extra_protected: tuple[str, ...] = ()) -> None:
        self._scanner = scanner
        self._protected = ProtectedPaths(extra_protected)

    def is_protected(self, path: DocumentPath) -> bool:
        """Tell whether texts for `path` are checked."""
        return self._protected.class_of(path) is not None

    def check(
        self,
        path: DocumentPath,
        text: str,
        *,
        operation: Operation,
        source: str,
        recorder: SafetyRecorder,
        may_clear: bool = False,
        strict: bool = False,
    ) -> None:
        """Return when `text` may be stored at `path`; its event is recorded by then, durably where the contract asks.

        Args:
            path: where the text is to go; a path that isn't protected is never looked at.
            text: the whole document as it would be, not only what is added.
            operation: the way in.
            source: which surface asks, such as `memory_service.write`.
            recorder: takes the event of the decision.
            may_clear: True where emptying the document is what the caller was asked for (`bootstrap`).
            strict: True where the operator distrusts the kind of caller: what would be a warning is refused.

        Raises:
            UnsafeText: the text may not be stored; its event was offered to the recorder.
            PolicyUnavailable: the check itself failed.
            SafetyEventUnavailable: the text would pass, but not without its event, which couldn't be recorded.
        """
        protected_class = self._protected.class_of(path)
        if protected_class is None:
            return
        decision = self._decide(text, may_clear=may_clear, strict=strict)
        finding = self._describe(decision, path, protected_class, operation, source)
        is_recorded = _record(recorder, finding)
        if decision.refusal is not None:
            raise decision.refusal
        if decision.needs_its_event and not is_recorded:
            raise SafetyEventUnavailable

    def _decide(self, text: str, *, may_clear: bool, strict: bool) -> _Decision:
        try:
            if not text.strip():
                return _judge_empty(text, may_clear=may_clear)
            return _judge(self._scanner.scan(text), text, strict=strict)
        except Exception:  # whatever the reason, nothing is known about the text
            return _Decision(EventKind.REJECTED, refusal=PolicyUnavailable())

    def _describe(
        self, decision: _Decision, path: DocumentPath, protected_class: str, operation: Operation, source: str
    ) -> SafetyFinding:
        return SafetyFinding(
            kind=decision.kind,
            operation=operation,
            source=source,
            policy_version=POLICY_VERSION,
            protected_class=protected_class,
            path=path.text,
            reason=decision.refusal.reason if decision.refusal else None,
            severity=decision.verdict.severity,
            findings=decision.verdict.findings,
            rules_version=self._scanner.rules_version,
            rule_ids=decision.verdict.rule_ids,
            allowance=decision.allowance,
            must_be_durable=decision.needs_its_event,
        )


def _judge(verdict: Verdict, text: str, *, strict: bool) -> _Decision:
    """Turn what was found into a decision: an injection outranks a credential, a credential a warning."""
    if verdict.severity in _REFUSED:
        return _refuse(verdict, *_REFUSED[verdict.severity])
    secrets = find_secrets(text)
    if secrets:
        found = Verdict(Severity.HIGH, secrets, len(secrets))
        return _refuse(found, Reason.SECRET_DETECTED, _SECRET)
    if verdict.findings and strict:
        return _refuse(verdict, *_REFUSED[Severity.HIGH])
    return _Decision(EventKind.WARNED if verdict.findings else EventKind.CHECKED, verdict)


def _judge_empty(text: str, *, may_clear: bool) -> _Decision:
    if may_clear and not text:
        return _Decision(EventKind.BYPASS_ALLOWED, allowance=Allowance.EMPTY_PROMPT_FILE_CLEAR)
    return _refuse(NOTHING_FOUND, Reason.PROMPT_WRITE_BYPASS_NOT_ALLOWED, _EMPTY)


def _refuse(verdict: Verdict, reason: Reason, message: str) -> _Decision:
    return _Decision(EventKind.REJECTED, verdict, UnsafeText(reason, message, verdict.rule_ids))


def _record(recorder: SafetyRecorder, finding: SafetyFinding) -> bool:
    """Record the event; the sink's owner counts and logs what is lost, so here only the fact matters."""
    try:
        recorder.record(finding)
    except Exception:  # a sink that breaks in a way it doesn't promise has still recorded nothing
        return False
    return True
