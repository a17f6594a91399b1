"""`scan`: says what the safety check would do with files, and by which rules. Needs no server and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click

from ironclaw_memory.contract.faults import InvalidPath, PolicyUnavailable, UnsafeText
from ironclaw_memory.contract.path import DocumentPath, parse_document_path
from ironclaw_memory.contract.safety import Operation, SafetyFinding
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.safety.secrets import locate_secrets

from .terminal import json_line, say

EXIT_CODES: Final = "Exit codes: 0 nothing would be refused, 1 something would be, 2 wrong usage or an unreadable file."
SHOWN: Final = 160
"""How much of a line `--show` prints, in characters."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that the check found.

    Attributes:
        rule: the rule's id, or the kind of credential.
        kind: the class of attack, or `credential`.
        severity: how bad it is.
        lines: where, from 1; empty where it only shows once the text is decoded.
    """

    rule: str
    kind: str
    severity: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would become of one file.

    Attributes:
        file: its name, as given.
        decision: `checked`, `warned`, `rejected`, or `unchecked` where the path isn't protected.
        reason: why it would be refused; None when it wouldn't.
        findings: what was found, the worst first; on a path that isn't protected, for information.
    """

    file: str
    decision: str
    reason: str | None
    findings: tuple[Reason, ...]


class Notebook:
    """Keeps the event that the policy records."""

    def __init__(self) -> None:
        self.decision = "unchecked"

    def record(self, finding: SafetyFinding) -> None:
        """See `contract.call.SafetyRecorder`."""
        self.decision = finding.kind.value


@click.command("scan", epilog=EXIT_CODES)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--path", "target", default="MEMORY.md", show_default=True, metavar="PATH", help="The document it would become."
)
@click.option(
    "--protected-paths", default="", metavar="VALUE", help="As given to the server: further documents that are guarded."
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each file.")
@click.option("--show", is_flag=True, help="Print the lines that matched; without it no text is shown.")
def scan(files: tuple[Path, ...], target: str, protected_paths: str, *, as_json: bool, show: bool) -> None:
    """Say what the safety check would do with FILES, as if each were stored as a prompt file."""
    scanner = Scanner()
    extra = tuple(part.strip() for part in protected_paths.split(",") if part.strip())
    try:
        policy, path = PromptWritePolicy(scanner, extra), parse_document_path(target)
    except InvalidPath as fault:
        raise click.UsageError(fault.message) from None
    is_refused = False
    for file in files:
        text = _read(file)
        outcome = _judge(scanner, policy, path, str(file), text)
        is_refused |= outcome.reason is not None
        for line in _as_json(outcome, text, show=show) if as_json else _as_text(outcome, text, show=show):
            say(line)
    sys.exit(int(is_refused))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{file} isn't UTF-8 text.") from None
    except OSError as error:
        raise click.UsageError(f"{file} can't be read: {error.strerror}.") from None


def _judge(scanner: Scanner, policy: PromptWritePolicy, path: DocumentPath, name: str, text: str) -> Outcome:
    notebook, reason = Notebook(), None
    try:
        policy.check(path, text, operation=Operation.WRITE, source="cli.scan", recorder=notebook)
    except (UnsafeText, PolicyUnavailable) as fault:
        reason = fault.reason.value
    return Outcome(name, notebook.decision, reason, tuple(_findings(scanner, text)))


def _findings(scanner: Scanner, text: str) -> Iterator[Reason]:
    for seen in scanner.explain(text):
        yield Reason(seen.rule_id, seen.category, seen.severity.value, seen.lines)
    places: dict[str, list[int]] = {}
    for kind, line in locate_secrets(text):
        places.setdefault(kind, []).append(line)
    for kind, lines in places.items():
        yield Reason(kind, "credential", "high", tuple(sorted(set(lines))))


def _as_json(outcome: Outcome, text: str, *, show: bool) -> Iterator[str]:
    value = asdict(outcome)
    if show:
        for finding in value["findings"]:
            finding["text"] = [_line(text, number) for number in finding["lines"]]
    yield json_line(value)


def _as_text(outcome: Outcome, text: str, *, show: bool) -> Iterator[str]:
    yield f"{outcome.file}: {outcome.decision}{f' ({outcome.reason})' if outcome.reason else ''}"
    for finding in outcome.findings:
        where = ", ".join(map(str, finding.lines)) or "decoded text"
        yield f"  {finding.severity:8}  {finding.rule}  ({finding.kind}), line {where}"
        if show:
            yield from (f"    {number}: {_line(text, number)}" for number in finding.lines)


def _line(text: str, number: int) -> str:
    return text.split("\n")[number - 1].strip()[:SHOWN]
