"""`ironclaw-memory audit`: checks, follows and exports the audit trail of a data folder, beside running servers.

It reads files, for the operator of the machine; hosts have `WatchEvents`. It changes nothing, and prints what stands in
the trail: no texts, no paths.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

import click

from ironclaw_memory.contract.events import ChangeKind
from ironclaw_memory.contract.faults import InvalidPath
from ironclaw_memory.contract.path import parse_document_path
from ironclaw_memory.contract.safety import EventKind
from ironclaw_memory.events.follower import Follower
from ironclaw_memory.events.reading import ALWAYS, Period, read_records
from ironclaw_memory.events.record import hash_path
from ironclaw_memory.events.verifying import Ending, FileReport, Report, read_anchors, verify_files
from ironclaw_memory.events.watches import LOOK_SECONDS
from ironclaw_memory.store.datadir import EVENTS_FOLDER, DataDir, DataDirError, open_data_dir

from .terminal import json_line, say

EXIT_CODES: Final = "Exit codes: 0 the trail is what was written, 1 something is wrong with it, 2 wrong usage."
KINDS: Final = tuple(sorted({kind.value for kind in (*ChangeKind, *EventKind)}))

ENDINGS: Final = {
    Ending.CLOSED: "complete",
    Ending.MENDED: "its process died",
    Ending.OPEN: "open: a process writes it, or died",
}


class Folder(click.ParamType[DataDir]):
    """A data folder that exists."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> DataDir:
        """Return the folder, opened and checked."""
        if not (Path(value) / "key").is_file():  # opening it would make it one
            self.fail(f"{value} is no data folder.", param, ctx)
        try:
            return open_data_dir(Path(value))
        except DataDirError as error:
            self.fail(str(error), param, ctx)


class Moment(click.ParamType[datetime]):
    """A time in ISO 8601; without an offset it is UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time with its zone."""
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value} is no time such as 2026-12-01 or 2026-12-01T09:30:00Z.", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


DATA_DIR: Final = click.option("--data-dir", "data", type=Folder(), required=True, help="The server's data folder.")
ARCHIVES: Final = click.option(
    "--archive",
    "archives",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="DIR",
    help="A folder to which old files of the trail were moved; may be given several times.",
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which records are printed; what is None or empty doesn't restrict.

    Attributes:
        tenant, user: whose.
        kinds: which kinds.
        path_hash: about which document.
    """

    tenant: str | None
    user: str | None
    kinds: tuple[str, ...]
    path_hash: str | None

    def includes(self, record: dict[str, Any]) -> bool:
        """Tell whether this record is printed."""
        scope = record.get("scope") or {}
        return (
            (self.tenant is None or scope.get("tenant") == self.tenant)
            and (self.user is None or scope.get("user") == self.user)
            and (not self.kinds or record["kind"] in self.kinds)
            and (self.path_hash is None or record.get("path_hash") == self.path_hash)
        )


CHOICE: Final = (
    DATA_DIR,
    click.option("--tenant", help="Only this tenant."),
    click.option("--user", help="Only this user."),
    click.option(
        "--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only this kind; may be given several times."
    ),
    click.option("--path", help="Only the document at this path, in whichever scope."),
)
"""Options of the commands that print records, in the order of their help."""


def choosing(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the table above."""
    for option in reversed(CHOICE):
        function = option(function)
    return function


def _chosen(data: DataDir, tenant: str | None, user: str | None, kinds: tuple[str, ...], path: str | None) -> Chosen:
    try:
        path_hash = None if path is None else hash_path(parse_document_path(path).text, data.key())
    except InvalidPath as fault:
        raise click.UsageError(f"--path: {fault.message}") from None
    return Chosen(tenant, user, kinds, path_hash)


@click.group("audit")
def audit() -> None:
    """Check, follow and export the audit trail of a data folder."""


@audit.command(epilog=EXIT_CODES)
@DATA_DIR
@ARCHIVES
@click.option(
    "--anchors",
    type=click.File("r", encoding="utf-8", errors="replace"),
    multiple=True,
    metavar="LOGFILE",
    help="A log of the server, kept elsewhere: its audit_anchor lines show ends that were cut. - is standard input.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each file and each problem.")
def verify(data: DataDir, archives: tuple[Path, ...], anchors: tuple[IO[str], ...], as_json: bool) -> None:
    """Check every chain of the trail, and say what it can't show.

    A change, a gap, another order and a missing file show by themselves. That records are missing at the end of a file
    whose process died, or still runs, shows only against anchors.
    """
    heads = [head for log in anchors for head in read_anchors(log)]
    report = verify_files((data.path / EVENTS_FOLDER, *archives), data.key(), heads)
    if as_json:
        _print_json(report)
    else:
        _print_report(report, anchors_given=bool(heads))
    sys.exit(1 if report.problems else 0)


def _print_json(report: Report) -> None:
    for file in report.files:
        members = ("file", "records", "ending", "torn_bytes", "losses", "anchored")
        say(json_line({name: getattr(file, name) for name in members}))
    for problem in report.problems:
        say(json_line({"problem": problem.what, "file": problem.file, "sequence": problem.sequence}))


def _print_report(report: Report, *, anchors_given: bool) -> None:
    for file in report.files:
        say(f"{file.file}: {_count(file.records, 'record')}, {_remarks(file)}.")
    for problem in report.problems:
        say(f"{problem.file}: after record {problem.sequence}: {problem.what}.", err=True)
    if any(file.ending is not Ending.CLOSED for file in report.files):
        beyond = "after the last anchor" if anchors_given else "(--anchors LOGFILE would show it)"
        say(f"At the end of a file that isn't complete, records could be missing {beyond}.")
    records = sum(file.records for file in report.files)
    say(f"{_count(len(report.files), 'file')}, {_count(records, 'record')}, {_count(len(report.problems), 'problem')}.")


def _remarks(file: FileReport) -> str:
    remarks = [ENDINGS[file.ending]]
    if file.torn_bytes:
        remarks.append(f"{_count(file.torn_bytes, 'torn byte')} set aside")
    if file.losses:
        remarks.append(f"{_count(file.losses, 'event')} couldn't be recorded")
    if file.anchored:
        remarks.append(f"anchored up to record {file.anchored}")
    return ", ".join(remarks)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@audit.command()
@choosing
@click.option(
    "-n",
    "--lines",
    "count",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many of the last records to print first.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is recorded from now on, until Ctrl-C.")
def tail(data: DataDir, count: int, follow: bool, **choice: Any) -> None:
    """Print the last records as JSON lines, and those to come."""
    chosen = _chosen(data, **choice)
    folder = data.path / EVENTS_FOLDER
    follower = Follower(folder)  # before the last ones are read, so that none is missed in between
    last = deque(filter(chosen.includes, read_records((folder,))), maxlen=count)
    _print_records(last)
    if follow:
        printed = {record["hash"] for record in last}
        _print_records(r for r in _follow(follower) if r["hash"] not in printed and chosen.includes(r))


def _follow(follower: Follower) -> Iterator[dict[str, Any]]:
    while True:
        for line in follower.look():
            record = line.record()
            if line.link is not None and record is not None:
                yield record | {"hash": line.link.hash, "file": line.file}
        time.sleep(LOOK_SECONDS)


@audit.command()
@choosing
@ARCHIVES
@click.option("--since", type=Moment(), help="Only from this time on; UTC without an offset.")
@click.option("--until", type=Moment(), help="Only before this time.")
def export(
    data: DataDir, archives: tuple[Path, ...], since: datetime | None, until: datetime | None, **choice: Any
) -> None:
    """Print the records of a time as JSON lines, in the order of time."""
    chosen = _chosen(data, **choice)
    period = Period(since, until) if since or until else ALWAYS
    _print_records(filter(chosen.includes, read_records((data.path / EVENTS_FOLDER, *archives), period)))


def _print_records(records: Iterable[dict[str, Any]]) -> None:
    for record in records:
        say(json_line(record))
