"""A run as Markdown, fit for `docs/benchmarks.md` as it is, and as JSON for what reads it later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from bench.compare.guarantees import GUARANTEES, Findings
from bench.compare.lanes import Stretch
from bench.compare.recall import Recall
from bench.compare.rivals import OURS, Absent
from bench.compare.speed import LANES, OPERATIONS, Speed
from bench.report import figure

NOTHING: Final = "–"


@dataclass(slots=True)
class Entry:
    """Everything that was measured of one rival; None for what couldn't be, which `failures` explains."""

    version: str
    speed: Speed | None = None
    recall: Recall | None = None
    findings: Findings | None = None
    languages: str = ""
    failures: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "version": self.version,
            "speed": self.speed and self.speed.to_json(),
            "recall": self.recall and asdict(self.recall),
            "findings": self.findings and {name: asdict(found) for name, found in self.findings.items()},
            "languages": self.languages,
            "failures": self.failures,
        }


Entries = Mapping[str, Entry]


def write_tables(entries: Entries, absent: Sequence[Absent]) -> Iterator[str]:
    """Yield the lines of the whole report."""
    yield from _title(
        "Operations a second", "ours as a multiple of the rival in brackets; p50 / p99 in milliseconds below"
    )
    yield from _table(["", *entries], _speed_rows(entries))
    yield from _leads(entries)
    yield from _title("Room and import")
    yield from _table(["", *entries], _room_rows(entries))
    if any(entry.recall and entry.recall.questions for entry in entries.values()):
        yield from _title("Recall")
        yield from _table(["", *entries], _recall_rows(entries))
    yield from _title("Guarantees, tried out")
    yield from _table(["", *entries], _guarantee_rows(entries))
    yield from _title("What was seen")
    yield from _seen(entries)
    yield from _notes(entries, absent)


def _title(text: str, under: str = "") -> Iterator[str]:
    yield from ("", f"**{text}**" + (f" ({under})" if under else ""), "")


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _speed_rows(entries: Entries) -> Iterator[list[str]]:
    for operation, said in OPERATIONS.items():
        for lanes in LANES:
            clients = f"{lanes} client{'s' if lanes > 1 else ''}"
            taken = {name: _stretch(entry, operation, lanes) for name, entry in entries.items()}
            yield [f"{said}, {clients}", *(_rate(name, taken) for name in entries)]
            yield [f"{said}, {clients}, ms", *(_latency(each) for each in taken.values())]


def _stretch(entry: Entry, operation: str, lanes: int) -> Stretch | None:
    return entry.speed.stretches.get(operation, {}).get(lanes) if entry.speed else None


def _rate(name: str, taken: Mapping[str, Stretch | None]) -> str:
    mine, ours = taken[name], taken.get(OURS)
    if mine is None:
        return NOTHING
    failed = sum(mine.failures.values())
    told = figure(mine.rate) + (f", {failed} failed" if failed else "")
    return told if name == OURS or not ours or not mine.rate else f"{told} ({ours.rate / mine.rate:.2g}×)"


def _leads(entries: Entries) -> Iterator[str]:
    """Say where each is faster than ours, so that nobody has to look for it."""
    if OURS not in entries:
        return
    yield ""
    for name in entries:
        if name != OURS:
            compared, faster = _compare(entries[OURS], entries[name])
            yield f"- {name} is faster in {len(faster)} of {compared}{': ' if faster else ''}{', '.join(faster)}"


def _compare(ours: Entry, theirs: Entry) -> tuple[int, list[str]]:
    compared, faster = 0, []
    for operation, said in OPERATIONS.items():
        for lanes in LANES:
            mine, other = _stretch(ours, operation, lanes), _stretch(theirs, operation, lanes)
            if mine and other:
                compared += 1
                faster += [f"{said} with {lanes}"] if other.rate > mine.rate else []
    return compared, faster


def _latency(taken: Stretch | None) -> str:
    return f"{taken.p50_ms:.3g} / {taken.p99_ms:.3g}" if taken and taken.calls else NOTHING


def _room_rows(entries: Entries) -> Iterator[list[str]]:
    rows: dict[str, Any] = {
        "texts imported": lambda speed: f"{speed.texts:,}",
        "imported a second, until findable": lambda speed: figure(speed.texts / speed.load_seconds),
        "on the disk then, MiB": lambda speed: figure(speed.disk_mib),
        "resident at the end, MiB": lambda speed: f"{speed.resident_mib:.0f}",
    }
    for said, tell in rows.items():
        yield [said, *(tell(entry.speed) if entry.speed else NOTHING for entry in entries.values())]


def _recall_rows(entries: Entries) -> Iterator[list[str]]:
    said = {
        "hit@1": "session first",
        "hit@5": "session among five",
        "MRR": "MRR",
        "evidence": "evidence in 4,096 bytes",
    }
    for column, name in said.items():
        yield [name, *(_mean(entry.recall, column) for entry in entries.values())]
    yield [
        "import of the conversations, s",
        *(
            f"{entry.recall.seconds:.3g}" if entry.recall and entry.recall.means else NOTHING
            for entry in entries.values()
        ),
    ]


def _mean(recall: Recall | None, column: str) -> str:
    return f"{recall.means[column]:.3f}" if recall and recall.means else NOTHING


def _guarantee_rows(entries: Entries) -> Iterator[list[str]]:
    for name, said in GUARANTEES.items():
        yield [said, *(entry.findings[name].holds if entry.findings else NOTHING for entry in entries.values())]
    yield ["can be called from", *(entry.languages or NOTHING for entry in entries.values())]


def _seen(entries: Entries) -> Iterator[str]:
    for guarantee, said in GUARANTEES.items():
        yield f"- {said}"
        yield from (
            f"  - {name}: {entry.findings[guarantee].what}" for name, entry in entries.items() if entry.findings
        )


def _notes(entries: Entries, absent: Sequence[Absent]) -> Iterator[str]:
    versions = ", ".join(f"{name} ({entry.version})" for name, entry in entries.items())
    notes = [f"took part: {versions}", *(f"{each.name} took no part: {each.why}" for each in absent)]
    for name, entry in entries.items():
        lacks = entry.speed.lacks.items() if entry.speed else ()
        notes += [f"{name}, {OPERATIONS[operation]}: {why}" for operation, why in lacks]
        notes += [f"{name}: {why}" for why in entry.failures]
        notes += _failed_calls(name, entry)
    yield ""
    yield from (f"- {note}" for note in notes)


def _failed_calls(name: str, entry: Entry) -> Iterator[str]:
    for operation, by_lanes in entry.speed.stretches.items() if entry.speed else ():
        for lanes, taken in by_lanes.items():
            for said, times in list(taken.failures.items())[:1]:
                yield f"{name}, {OPERATIONS[operation]}, {lanes} clients: failed {times} times or more with {said}"
