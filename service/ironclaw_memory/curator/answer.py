"""What a model's answer means, and whether it may be believed. Pure.

The report is the JSON object at the end. The text is the one fenced block before it, read as Markdown does: a fence
that is shorter than the first belongs to the text. Words around the parts do no harm, but a second block before the
report does, because then nobody can say where the text ends. Whatever isn't clear is refused: a memory that stays
untidy is better than one that is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from ironclaw_memory_client import CurationReport

from .conversation import NO_CHANGE
from .problem import Problem, Unusable

LEAST_SHARE: Final = 0.2
"""A new text with less than this share of the characters in the old one's distinct lines isn't believed, whatever the
report says: merging and tightening don't take four fifths away, a model that lost its thread does."""

MOST_OPENINGS: Final = 50
"""How many opening braces are tried, from the end, as the beginning of a report outside a block."""

_THOUGHT: Final = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
"""What some models that reason aloud put before their answer."""

_FENCE: Final = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was understood.

    Attributes:
        content: the new text, ending in a line break; None when nothing needs to change.
        report: what became of the old lines.
    """

    content: str | None
    report: CurationReport


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer is held to.

    Attributes:
        document: the old text.
        report_schema_json: JSON Schema of the report.
        document_bytes: the most bytes that the new text may have.
    """

    document: str
    report_schema_json: str
    document_bytes: int

    def read(self, text: str) -> Answer:
        """Return what an answer means.

        Raises:
            Unusable: it can't be understood, or not be believed.
        """
        try:
            return self._read(_THOUGHT.sub("", text, count=1).replace("\r\n", "\n"))
        except Unusable as unusable:
            raise Unusable(unusable.problem, text) from None

    def _read(self, text: str) -> Answer:
        if not text.strip():
            raise Unusable(Problem.EMPTY)
        body, found = _split_report(text)
        if _says_no_change(body):
            return Answer(None, CurationReport() if found is None else self._check_report(found))
        content = _text_of(body)
        if found is None:
            raise Unusable(Problem.NO_REPORT)
        report = self._check_report(found)
        self._check_text(content, report)
        return Answer(content, report)

    def _check_report(self, found: Mapping[str, Any]) -> CurationReport:
        if not jsonschema_rs.validator_for(json.loads(self.report_schema_json)).is_valid(found):
            raise Unusable(Problem.INVALID_REPORT)
        counts = {name: int(found.get(name, 0)) for name in ("kept", "merged", "rewritten", "superseded")}
        conflicts = tuple(found.get("conflicts", ()))
        most = sum(1 for line in self.document.splitlines() if line.strip())
        if max(counts.values()) > most or not all(each.strip() for each in conflicts):
            raise Unusable(Problem.INVALID_REPORT)
        return CurationReport(**counts, conflicts=conflicts)

    def _check_text(self, content: str, report: CurationReport) -> None:
        if len(content.encode("utf-8")) > self.document_bytes:
            raise Unusable(Problem.TOO_LONG)
        before, after = distinct_lines(self.document), distinct_lines(content)
        if sum(map(len, after)) < LEAST_SHARE * sum(map(len, before)):
            raise Unusable(Problem.TOO_SHORT)
        # The service asks the same and then ends the lease; asked here, the model can still mend its text.
        if (len(before) - len(after) - report.merged - report.superseded) * 2 > len(before):
            raise Unusable(Problem.TOO_MUCH_LOST)


def distinct_lines(text: str) -> frozenset[str]:
    """Return the lines that aren't blank, trimmed: dropping one of two equal lines loses nothing."""
    return frozenset(line.strip() for line in text.splitlines() if line.strip())


def _split_report(text: str) -> tuple[str, dict[str, Any] | None]:
    """Return what stands before the report, and the report; None when the answer doesn't end with a JSON object."""
    text = text.rstrip()
    fences = list(_FENCE.finditer(text))
    if len(fences) > 1 and fences[-1].end() == len(text):
        found = _json_object(text[fences[-2].end() : fences[-1].start()])
        return (text[: fences[-2].start()], found) if found is not None else (text, None)
    for opening in _last_openings(text) if text.endswith("}") else ():
        found = _json_object(text[opening:])
        if found is not None:
            return text[:opening], found
    return text, None


def _last_openings(text: str) -> Iterator[int]:
    """Yield where the last braces open, from the end."""
    start = len(text)
    for _ in range(MOST_OPENINGS):
        start = text.rfind("{", 0, start)
        if start < 0:
            return
        yield start


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _says_no_change(body: str) -> bool:
    return body.strip().strip("`*_#\"'. \t\n").upper() == NO_CHANGE


def _text_of(body: str) -> str:
    """Return what stands in the one fenced block of `body`."""
    fences = list(_FENCE.finditer(body))
    ends = [position for position, fence in enumerate(fences[1:], start=1) if _closes(fence, fences[0])]
    if not ends or ends[0] != len(fences) - 1:  # no block, or more than one
        raise Unusable(Problem.NO_TEXT)
    content = body[fences[0].end() + 1 : fences[ends[0]].start()]
    if not content.strip() or "\0" in content:  # what the service would refuse
        raise Unusable(Problem.NO_TEXT)
    return content


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    return fence["fence"].startswith(opening["fence"]) and not fence["info"].strip()
