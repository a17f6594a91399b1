"""Decides whether a stored passage may enter a prompt: the rules of today, also for what was stored under older ones.

The check on writing sees prompt files only, and the rules of its day; a note that lay unread for months meets the model
here first. What is found is told as an event's finding, for the caller to record. Guards nothing but the passage it is
given: its document is another matter.
"""

from __future__ import annotations

import re
from typing import Final

from ..contract.faults import Reason
from ..contract.path import DocumentPath
from ..contract.safety import EventKind, Operation, SafetyFinding, Severity
from .envelope import Passage
from .protected import POLICY_VERSION, ProtectedPaths
from .scanner import Scanner, Verdict

SOURCE: Final = "memory_lifecycle_service.retrieve_context"
RECALLED_CLASS: Final = "recalled_document"
"""The class of what isn't a prompt file."""
IMITATION: Final = Verdict(Severity.HIGH, ("envelope-imitation",), 1)

_REFUSED: Final = {
    Severity.HIGH: Reason.HIGH_RISK_PROMPT_INJECTION,
    Severity.CRITICAL: Reason.CRITICAL_PROMPT_INJECTION,
}
_WORD_JOINTS: Final = re.compile(r"[/_.\-]+")


class RecallGuard:
    """Looks at passages on their way into a prompt; safe to share between threads.

    Args:
        scanner: the compiled rules; remembers its verdicts by content and version of the rules.
        extra_protected: paths that the operator protects, for the class in events.
    """

    def __init__(self, scanner: Scanner, extra_protected: tuple[str, ...] = ()) -> None:
        self._scanner = scanner
        self._protected = ProtectedPaths(extra_protected)

    def find_hijack(self, path: DocumentPath, passage: Passage) -> SafetyFinding | None:
        """Return why a passage must be withheld; None when it may be shown.

        The path is looked at too, since it is shown with the passage: a file can be called anything.
        """
        if not passage.is_safe:
            return self._describe(path, IMITATION, Reason.HIGH_RISK_PROMPT_INJECTION)
        try:
            verdict = self._worst(passage.text, _WORD_JOINTS.sub(" ", path.text))
        except Exception:  # whatever the reason, nothing is known about the text
            return self._describe(path, Verdict(), Reason.PROMPT_WRITE_POLICY_UNAVAILABLE)
        reason = _REFUSED.get(verdict.severity)
        return None if reason is None else self._describe(path, verdict, reason)

    def _worst(self, *texts: str) -> Verdict:
        verdicts = [self._scanner.scan(text) for text in texts]
        return next((verdict for verdict in verdicts if verdict.severity in _REFUSED), Verdict())

    def _describe(self, path: DocumentPath, verdict: Verdict, reason: Reason) -> SafetyFinding:
        return SafetyFinding(
            kind=EventKind.REJECTED,
            operation=Operation.RECALL,
            source=SOURCE,
            policy_version=POLICY_VERSION,
            protected_class=self._protected.class_of(path) or RECALLED_CLASS,
            path=path.text,
            reason=reason,
            severity=verdict.severity,
            findings=verdict.findings,
            rules_version=self._scanner.rules_version,
            rule_ids=verdict.rule_ids,
        )
