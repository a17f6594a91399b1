"""`ironclaw-memory hygiene`: moves documents that have had their time into history, beside running servers.

It works on the data folder itself: a chore of the operator, which no host may ask for. The store's locks hold across
processes, and the servers' search hears of each change.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.faults import Fault, InvalidPath, StorageUnavailable
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.events import AuditLog
from ironclaw_memory.index.search import IndexSettings, SearchIndex
from ironclaw_memory.logs import set_up_logs
from ironclaw_memory.memory.changes import DocumentChanges
from ironclaw_memory.memory.hygiene import Finding, HeldBack, Hygiene
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.protected import ProtectedPaths
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.settings import SettingsError, load_settings
from ironclaw_memory.store.datadir import EVENTS_FOLDER, DataDirError, open_data_dir
from ironclaw_memory.store.documents import DocumentStore, StoreLimits

from .terminal import json_line, say

SECONDS_A_DOCUMENT: Final = 30.0
"""How long one move may wait for a lock that a server holds."""

NO_TRIMMING: Final = StoreLimits(version_count=sys.maxsize, version_bytes=sys.maxsize)
"""A move only adds to a history. How much of it stays is the server's to decide, which may have been told by a flag."""

EXIT_CODES: Final = "Exit codes: 0 done, 1 something couldn't be moved or read, 2 wrong usage."

REASONS: Final = MappingProxyType(
    {
        HeldBack.UNREADABLE: "stays: it can't be read",
        HeldBack.RETENTION_UNCLEAR: "stays: its retention_days can't be understood",
        HeldBack.CONFIG: "stays: it holds its folder's settings",
        HeldBack.PROTECTED: "stays: it is a prompt file",
        HeldBack.THREAD: "stays: conversations are kept for 30 days at least",
        HeldBack.READ_ONLY: "stays: it is read-only",
        HeldBack.SKIP_VERSIONING: "stays: no version of it would be kept",
        HeldBack.CHANGED: "stays: it was changed meanwhile",
    }
)


@dataclass(frozen=True, slots=True)
class Owners:
    """Whose documents are looked at; an axis that is None is every one.

    Attributes:
        tenant, user, agent, project: an id that the scope must have.
    """

    tenant: str | None
    user: str | None
    agent: str | None
    project: str | None

    def include(self, scope: Scope) -> bool:
        """Tell whether this scope is meant."""
        wanted = (self.tenant, self.user, self.agent, self.project)
        found = (scope.tenant, scope.user, scope.agent, scope.project)
        return all(want is None or want == have for want, have in zip(wanted, found, strict=True))


@click.command("hygiene", epilog=EXIT_CODES)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    metavar="DIR",
    help="The server's data folder.",
)
@click.option("--config", type=click.Path(path_type=Path), help="The server's TOML file of settings.")
@click.option(
    "--protected-paths",
    metavar="VALUE",
    help="As given to the server, if it got them as a flag: comma-separated documents that never go.",
)
@click.option("--apply", is_flag=True, help="Move them; without it they are only listed.")
@click.option("--tenant", help="Only this tenant.")
@click.option("--user", help="Only this user.")
@click.option("--agent", help="Only this agent; without it every agent, and what belongs to none.")
@click.option("--project", help="Only this project; without it every project, and what belongs to none.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each document.")
def hygiene(  # the options of the command
    data_dir: Path,
    config: Path | None,
    protected_paths: str | None,
    apply: bool,
    as_json: bool,
    **owners: str | None,
) -> None:
    """Move documents into history whose metadata enable hygiene and whose retention is over.

    A document's last content is kept as a version and can be restored. Run it with the server's environment or
    --config, which may name further protected paths.
    """
    set_up_logs("warning")
    flags = {"data_dir": data_dir, "protected_paths": protected_paths}
    try:
        settings = load_settings({name: value for name, value in flags.items() if value is not None}, config)
        protected = ProtectedPaths(settings.protected_paths)
        data = open_data_dir(settings.data_dir)
        store = DocumentStore(data, NO_TRIMMING)
    except InvalidPath as fault:
        raise click.UsageError(f"protected_paths: {fault.message}") from None
    except (SettingsError, DataDirError) as error:
        raise click.UsageError(str(error)) from None
    with closing(SearchIndex(store, IndexSettings(background_seconds=0))) as index:
        changes = DocumentChanges(store, index, PromptWritePolicy(Scanner()), settings.document_bytes)
        rounds = Hygiene(store, changes, protected, keeps_versions=settings.version_count > 0, now=_now)
        with closing(AuditLog(data.path / EVENTS_FOLDER, data.key())) as trail:
            chore = Chore(rounds, trail, apply=apply, as_json=as_json)
            sys.exit(chore.do_all(store, Owners(**owners)))


def _now() -> datetime:
    return datetime.now(UTC)


class Chore:
    """Visits scope after scope, and says what it finds and does.

    Args:
        hygiene: does the work.
        trail: where it is recorded what was moved.
        apply: whether documents are moved.
        as_json: how lines are printed.
    """

    def __init__(self, hygiene: Hygiene, trail: AuditLog, *, apply: bool, as_json: bool) -> None:
        self._hygiene = hygiene
        self._trail = trail
        self._apply = apply
        self._as_json = as_json
        self._moved = 0
        self._failed = False

    def do_all(self, store: DocumentStore, owners: Owners) -> int:
        """Visit the scopes that are meant and return the exit code; one that can't be read doesn't stop the others."""
        try:
            scopes = sorted(filter(owners.include, store.list_scopes()), key=_name)
        except StorageUnavailable as fault:
            raise click.UsageError(f"The data folder can't be read: {fault.message}") from None
        for scope in scopes:
            try:
                self._do(scope, self._hygiene.find(scope))
            except Fault as fault:
                self._fail(_name(scope), fault)
        if not self._as_json:
            plural = "" if self._moved == 1 else "s"
            say(f"{self._moved} document{plural} {'moved' if self._apply else 'would be moved; --apply does it'}.")
        return int(self._failed)

    def _do(self, scope: Scope, findings: Iterable[Finding]) -> None:
        for position, finding in enumerate(findings):
            if position == 0 and not self._as_json:
                say(f"{_name(scope)}:")
            try:
                came_of_it = self._move(scope, finding) if self._apply and finding.held_back is None else finding
            except Fault as fault:
                self._fail(f"  {finding.path.text}", fault)
                continue
            self._moved += came_of_it.held_back is None
            self._failed |= came_of_it.held_back is HeldBack.UNREADABLE
            self._say(scope, came_of_it)

    def _move(self, scope: Scope, finding: Finding) -> Finding:
        name = str(uuid.uuid4())
        recorder = self._trail.recorder(scope, name, principal="operator")
        deadline = Deadline.after(SECONDS_A_DOCUMENT)
        return self._hygiene.move(Call(scope, None, None, name, deadline, recorder, changes=recorder), finding)

    def _say(self, scope: Scope, finding: Finding) -> None:
        moved = finding.held_back is None and self._apply
        if self._as_json:
            say(json_line(_as_json(scope, finding, moved=moved)))
            return
        outcome = REASONS[finding.held_back] if finding.held_back else "moved" if moved else "would be moved"
        say(f"  {finding.path.text}  {finding.age_days:.0f} days  {outcome}")

    def _fail(self, what: str, fault: Fault) -> None:
        self._failed = True
        say(f"{what}: {fault.reason.value}: {fault.message}", err=True)


def _name(scope: Scope) -> str:
    return "/".join((scope.tenant, scope.user, scope.agent or "-", scope.project or "-"))


def _as_json(scope: Scope, finding: Finding, *, moved: bool) -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "user": scope.user,
        "agent": scope.agent,
        "project": scope.project,
        "path": finding.path.text,
        "age_days": round(finding.age_days, 2),
        "moved": moved,
        "held_back": None if finding.held_back is None else finding.held_back.value,
    }
