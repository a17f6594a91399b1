"""Finds what the rules describe in a text, in time linear in its length.

A text is read as it was sent. Where there are signs that it could read otherwise than it is written, the views of
`view.py` are made and read as well. What to do about a verdict isn't decided here.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ..contract.safety import Severity
from . import view
from .gate import REACH
from .passages import passages_around
from .pattern_set import Patterns, PatternSet, compile_pattern, options_for, to_bytes
from .rules import Rule, RuleTable, Within, load_rules

__all__ = ["NOTHING_FOUND", "Scanner", "ScannerFailed", "Sighting", "Verdict"]

RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}
_BLENDS: Final = {"persona": (3, Severity.HIGH, "persona-blend")}
"""Categories in which several different weak signs make a strong one: category -> (how many, severity, rule id)."""


class ScannerFailed(Exception):
    """The text couldn't be looked at; nothing is known about it."""


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
class Sighting:
    """Why a rule stands in a verdict, for a person who wants to know.

    Attributes:
        rule_id: the rule.
        category: the kind of attack.
        severity: what the rule's exceptions leave of it.
        lines: where it matches, counted from 1; empty where the match only shows once the text is decoded.
    """

    rule_id: str
    category: str
    severity: Severity
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass over a text told.

    Attributes:
        matched: for each rule that may match, in the table's order, what occurs of it: single patterns, and lists of
            signs that may stand far apart. Its exceptions haven't been looked at.
        data: the text in UTF-8.
    """

    matched: dict[Rule, list[tuple[str, ...]]]
    data: bytes


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
        self._disguises = _Disguises()

    @property
    def rules_version(self) -> str:
        """The table's version; a verdict holds for one text and one version."""
        return self._table.version

    def scan(self, text: str) -> Verdict:
        """Return the verdict on `text`, remembered from an earlier scan where possible.

        Raises:
            ScannerFailed: the text couldn't be looked at and must be treated as unchecked.
        """
        key = (hashlib.sha256(to_bytes(text)).digest(), self.rules_version)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._judge(text)
            self._verdicts.put(key, verdict)
        return verdict

    def explain(self, text: str) -> tuple[Sighting, ...]:
        """Return what `scan` finds, rule by rule and with the places, worst first.

        Raises:
            ScannerFailed: as for `scan`.
        """
        named = _name(self._findings(text))
        categories = {rule.id: rule.category for rule in self._table.rules} | {b[2]: c for c, b in _BLENDS.items()}
        lines = self._lines(text)
        return tuple(
            Sighting(name, categories[name], severity, tuple(sorted(lines.get(name, ()))))
            for name, severity in named.items()
        )

    def _lines(self, text: str) -> dict[str, set[int]]:
        """Return the lines in which each rule matches, in whatever view has the lines of the text."""
        lines: dict[str, set[int]] = {}
        for reading, _ in self._readings(text):
            if reading.data.count(b"\n") == text.count("\n"):
                for rule, start in self._rules.places(reading):
                    lines.setdefault(rule.id, set()).add(reading.data.count(b"\n", 0, start) + 1)
        return lines

    def _judge(self, text: str) -> Verdict:
        named = _name(self._findings(text))
        return Verdict(next(iter(named.values())), tuple(named), len(named)) if named else NOTHING_FOUND

    def _findings(self, text: str) -> dict[Rule, Severity]:
        found: dict[Rule, Severity] = {}
        for reading, is_raw in self._readings(text):
            for rule, severity in self._rules.findings(reading, is_raw=is_raw):
                if RANK[severity] > RANK[found.get(rule, Severity.NONE)]:
                    found[rule] = severity
        return found

    def _readings(self, text: str) -> Iterator[tuple[Reading, bool]]:
        """Yield the text as it was sent, then whatever else it can be read as, each once."""
        seen: set[str] = set()
        strings = view.json_strings(text)
        for plain in (text, strings) if strings else (text,):
            for other in chain((plain,), self._disguises.undo(plain)):
                if other not in seen:
                    seen.add(other)
                    yield self._rules.read(other), other is text


class _Disguises:
    """Undoes what hides a text from the rules, where there are signs that something does."""

    def __init__(self) -> None:
        options = options_for(ignore_case=False)
        self._odd_runs = compile_pattern(f"{view.MAYBE_BASE64}|{view.SPACED_OUT}", options)

    def undo(self, text: str) -> Iterator[str]:
        """Yield what the text says once it is decoded, and once it is decoded and folded."""
        data = to_bytes(text)
        decoded = view.decode(text)
        has_odd_runs = self._odd_runs.search(data) is not None
        if has_odd_runs:
            decoded = view.SEPARATOR.join((decoded, *view.decoded_blobs(decoded)))
        if decoded != text:
            yield decoded
            data = to_bytes(decoded)
            has_odd_runs = self._odd_runs.search(data) is not None
        if has_odd_runs or view.has_foreign_signs(decoded, data):
            folded = view.fold(decoded)
            yield folded
            if not folded.isascii():
                yield view.imitate_latin(folded)


def _name(found: dict[Rule, Severity]) -> dict[str, Severity]:
    """Return the ids of the rules found and of what they add up to, worst first."""
    named = {rule.id: severity for rule, severity in found.items()}
    for category, (needed, severity, name) in _BLENDS.items():
        if sum(rule.category == category for rule in found) >= needed:
            named[name] = severity
    return dict(sorted(named.items(), key=lambda item: -RANK[item[1]]))


class _RuleSet:
    """The rules' patterns as one pattern set, and a closer look at what it finds."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        entries: list[tuple[Rule, tuple[str, ...]]] = [
            (rule, (pattern,)) for rule in rules for pattern in rule.patterns
        ]
        entries += [(rule, signs) for rule in rules for signs in rule.together]
        self._entries = entries
        self._set = PatternSet((entry for _, entry in entries), ignore_case=True)
        self._patterns = Patterns(ignore_case=True)

    def read(self, text: str) -> Reading:
        """Read the text once.

        Raises:
            ScannerFailed: the engine is out of memory for it.
        """
        data = to_bytes(text)
        matched: dict[Rule, list[tuple[str, ...]]] = {}
        try:
            places = self._set.matches(text, data)
        except (MemoryError, ValueError) as error:  # what the engines raise when they can't go on
            raise ScannerFailed from error
        for place in places:
            rule, entry = self._entries[place]
            matched.setdefault(rule, []).append(entry)
        return Reading(matched, data)

    def findings(self, reading: Reading, *, is_raw: bool) -> Iterator[tuple[Rule, Severity]]:
        """Yield the rules that match, each with the severity that its exceptions leave of it."""
        for rule, entries in reading.matched.items():
            if rule.raw and not is_raw:
                continue
            severity = self._severity(rule, entries, reading.data)
            if severity is not Severity.NONE:
                yield rule, severity

    def places(self, reading: Reading) -> Iterator[tuple[Rule, int]]:
        """Yield where rules match, in bytes; matches that an exception covers too."""
        for rule, entries in reading.matched.items():
            for entry in entries:
                for start, _, _ in self._matches(rule, entry, reading.data):
                    yield rule, start

    def _severity(self, rule: Rule, entries: list[tuple[str, ...]], data: bytes) -> Severity:
        matches = chain.from_iterable(self._matches(rule, entry, data) for entry in entries)
        if not rule.unless:
            return Severity.NONE if next(matches, None) is None else rule.severity
        excuses: list[tuple[int, int]] | None = None
        for start, end, is_passage in matches:
            if excuses is None:  # most texts have no match that needs one
                excuses = [found.span() for source in rule.unless for found in self._patterns[source].finditer(data)]
            if not any(_excuses(excuse, start, end, is_passage=is_passage) for excuse in excuses):
                return rule.severity
        return Severity.NONE if excuses is None else rule.softened

    def _matches(self, rule: Rule, entry: tuple[str, ...], data: bytes) -> Iterator[tuple[int, int, bool]]:
        if len(entry) == 1:
            yield from ((*found.span(), False) for found in self._patterns[entry[0]].finditer(data))
        else:
            yield from ((*span, True) for span in self._passages(rule.within, entry, data))

    def _passages(self, within: Within, signs: tuple[str, ...], data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the passages in which every sign stands."""
        first, *others = (self._patterns[source] for source in signs)
        seen: set[bytes] = set()
        for start, end in passages_around((found.span() for found in first.finditer(data)), within, data, REACH):
            passage = data[start:end]
            if passage not in seen and all(other.search(passage) for other in others):
                yield start, end
            seen.add(passage)


def _excuses(excuse: tuple[int, int], start: int, end: int, *, is_passage: bool) -> bool:
    """Tell whether an exception covers a match: around a match of a pattern, or anywhere in a passage."""
    left, right = excuse
    return (start < right and left < end) if is_passage else (left <= start and end <= right)


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
