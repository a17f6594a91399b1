"""Finds what the rules describe in a text, in time linear in its length.

All patterns of all rules are one RE2 set and a text is read in one pass; the same pass tells whether the text could
read otherwise than it is written, and only then are the views of `view.py` made and read as well. What to do about a
verdict isn't decided here.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import re2

from ..contract.safety import Severity
from . import view
from .pattern_set import PatternSet, ScannerFailed, options_for, to_bytes
from .rules import Rule, RuleTable, load_rules

__all__ = ["NOTHING_FOUND", "Reading", "Scanner", "ScannerFailed", "Verdict"]

RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}
_BLENDS: Final = {"persona": (3, Severity.HIGH, "persona-blend")}
"""Categories in which several different weak signs make a strong one: category -> (how many, severity, rule id)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say about a text.

    Attributes:
        severity: of the worst match; `none` when nothing matched.
        rule_ids: the rules that matched, worst first, then in the table's order.
        findings: how many rules matched.
    """

    severity: Severity = Severity.NONE
    rule_ids: tuple[str, ...] = ()
    findings: int = 0


NOTHING_FOUND: Final = Verdict()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass over a text told.

    Attributes:
        matched: the rules with a match, in the table's order; their exceptions haven't been looked at.
        data: the text in UTF-8.
        may_be_disguised: whether its folded view may differ.
        may_be_encoded: whether something in it may have to be decoded.
    """

    matched: tuple[Rule, ...]
    data: bytes
    may_be_disguised: bool
    may_be_encoded: bool


class Scanner:
    """The rule table, compiled; safe to share between threads.

    Args:
        table: the rules; the package's own when absent.
        cache_size: how many verdicts are remembered, at about 200 bytes each; 0 remembers none.
    """

    def __init__(self, table: RuleTable | None = None, *, cache_size: int = 4096) -> None:
        self._table = table or load_rules()
        self._verdicts = _VerdictCache(cache_size)
        self._rules = _RuleSet(self._table.rules)

    @property
    def rules_version(self) -> str:
        """The table's version; a verdict holds for one text and one version."""
        return self._table.version

    def scan(self, text: str) -> Verdict:
        """Return the verdict on `text`, remembered from an earlier scan where possible.

        Raises:
            ScannerFailed: the engine gave no answer; the text must be treated as unchecked.
        """
        key = (hashlib.sha256(to_bytes(text)).digest(), self.rules_version)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._judge(text)
            self._verdicts.put(key, verdict)
        return verdict

    def _judge(self, text: str) -> Verdict:
        found: dict[Rule, Severity] = {}
        for reading, is_raw in self._readings(text):
            for rule, severity in self._rules.findings(reading, is_raw=is_raw):
                if RANK[severity] > RANK[found.get(rule, Severity.NONE)]:
                    found[rule] = severity
        return _conclude(found)

    def _readings(self, text: str) -> Iterator[tuple[Reading, bool]]:
        """Yield the text as it was sent, then whatever else it can be read as, each once."""
        seen: set[str] = set()
        pending = [text]
        strings = view.json_strings(text)
        if strings:
            pending.append(strings)
        for plain in pending:
            reading = self._rules.read(plain)
            yield reading, plain is text
            seen.add(plain)
            for other in _disguises(plain, reading):
                if other not in seen:
                    seen.add(other)
                    yield self._rules.read(other), False


def _disguises(text: str, reading: Reading) -> Iterator[str]:
    """Yield what the text says once it is decoded, and once it is decoded and folded."""
    if reading.may_be_encoded:
        text = "\n\x1f\n".join((view.decode(text), *view.decoded_blobs(text)))
        yield text
    if reading.may_be_disguised or reading.may_be_encoded:
        folded = view.fold(text)
        yield folded
        yield view.imitate_latin(folded)


def _conclude(found: dict[Rule, Severity]) -> Verdict:
    named = {rule.id: severity for rule, severity in found.items()}
    for category, (needed, severity, name) in _BLENDS.items():
        if sum(rule.category == category for rule in found) >= needed:
            named[name] = severity
    if not named:
        return NOTHING_FOUND
    worst_first = sorted(named, key=lambda name: -RANK[named[name]])
    return Verdict(named[worst_first[0]], tuple(worst_first), len(worst_first))


class _RuleSet:
    """The rules' patterns and the probes of `view.py` as one pattern set."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        owners = [(rule, pattern) for rule in rules for pattern in rule.patterns]
        self._rules = [rule for rule, _ in owners]
        self._suspect = len(owners)
        self._encoded = self._suspect + len(view.SUSPECT)
        patterns = chain((pattern for _, pattern in owners), view.SUSPECT, view.ENCODED)
        self._set = PatternSet(patterns, ignore_case=True)
        self._softeners = {rule.id: _Softener(rule) for rule in rules if rule.unless}

    def read(self, text: str) -> Reading:
        """Read the text once."""
        data = to_bytes(text)
        places = self._set.matches(data)
        return Reading(
            matched=tuple(dict.fromkeys(self._rules[place] for place in places if place < self._suspect)),
            data=data,
            may_be_disguised=any(self._suspect <= place < self._encoded for place in places),
            may_be_encoded=any(place >= self._encoded for place in places),
        )

    def findings(self, reading: Reading, *, is_raw: bool) -> Iterator[tuple[Rule, Severity]]:
        """Yield the rules that match, each with the severity that its exceptions leave of it."""
        for rule in reading.matched:
            if rule.raw and not is_raw:
                continue
            softener = self._softeners.get(rule.id)
            severity = softener.severity_in(reading.data) if softener else rule.severity
            if severity is not Severity.NONE:
                yield rule, severity


class _Softener:
    """Looks closer at a rule with exceptions: it counts only where a match lies outside all of them."""

    def __init__(self, rule: Rule) -> None:
        options = options_for(ignore_case=True)
        self._rule = rule
        self._patterns = [re2.compile(pattern, options) for pattern in rule.patterns]
        self._unless = [re2.compile(pattern, options) for pattern in rule.unless]

    def severity_in(self, data: bytes) -> Severity:
        """Return the rule's severity in a text that it matches."""
        excused = [found.span() for pattern in self._unless for found in pattern.finditer(data)]
        if not excused:
            return self._rule.severity
        for start, end in (found.span() for pattern in self._patterns for found in pattern.finditer(data)):
            if not any(left <= start and end <= right for left, right in excused):
                return self._rule.severity
        return self._rule.softened


class _VerdictCache:
    """The verdicts used last, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[tuple[bytes, str], Verdict] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[bytes, str]) -> Verdict | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: tuple[bytes, str], verdict: Verdict) -> None:
        with self._lock:
            self._entries[key] = verdict
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
