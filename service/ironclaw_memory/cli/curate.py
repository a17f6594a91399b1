"""`ironclaw-memory curate`: has a model tidy MEMORY.md, for one owner or for all owners of a data folder.

The data folder is only read, to learn who the owners are; everything else goes through the service.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click
from click.core import ParameterSource

from ironclaw_memory.curator.curation import Curated, Curator, Limits, Outcome
from ironclaw_memory.curator.endpoint import ChatEndpoint, PackageMissing
from ironclaw_memory.curator.problem import WORDING, Problem
from ironclaw_memory_client import Scope

from .connection import Connection, Refused, Unavailable, connected, failures_said
from .terminal import json_line, say

OPENAI: Final = "https://api.openai.com/v1"
DEFAULTS: Final = Limits()
NO_KEY: Final = "none"
"""Sent where no key is set: endpoints on one's own machine ask for none, but the protocol has a place for it."""

KEYS: Final = ("IRONCLAW_MEMORY_CURATOR_API_KEY", "OPENAI_API_KEY")
"""Where the key comes from, the first that is set; never from the command line, which others can read."""

EXIT_CODES: Final = (
    "Exit codes: 0 done, or nothing was due; 1 refused, MEMORY.md was changed meanwhile, or the lease was over; 2 "
    "wrong usage; 3 the server or the model can't be reached or can't do it now; 4 the model's answers couldn't be "
    "used. But for 0, MEMORY.md is as it was. With --all the highest counts."
)

EXIT: Final = MappingProxyType(
    {
        Outcome.NOT_DUE: 0,
        Outcome.REWRITTEN: 0,
        Outcome.UNCHANGED: 0,
        Outcome.CONFLICT: 1,
        Outcome.REFUSED: 1,
        Outcome.LEASE_OVER: 1,
        Outcome.ABANDONED: 4,
    }
)
EXIT_UNAVAILABLE: Final = 3
NOT_THE_MODEL_S_FAULT: Final = frozenset((Problem.ENDPOINT_REFUSED, Problem.ENDPOINT_UNAVAILABLE, Problem.TIME_OVER))

SENTENCES: Final = MappingProxyType(
    {
        Outcome.NOT_DUE: "Nothing is due.",
        Outcome.REWRITTEN: "MEMORY.md is tidied; the old text is kept as a version.",
        Outcome.UNCHANGED: "MEMORY.md needed no change.",
        Outcome.CONFLICT: "MEMORY.md was changed meanwhile, so nothing was written; it is still due.",
        Outcome.REFUSED: "The service refused the text, because most lines would be gone; it is still due.",
        Outcome.LEASE_OVER: "LEASE_INVALID: The lease was over, so nothing was written; it is still due.",
        Outcome.ABANDONED: "Nothing was written; it is still due.",
    }
)


@click.command("curate", epilog=EXIT_CODES)
@click.option(
    "--base-url",
    envvar="IRONCLAW_MEMORY_CURATOR_BASE_URL",
    show_envvar=True,
    default=OPENAI,
    show_default=True,
    metavar="URL",
    help="An OpenAI-compatible endpoint; requests go to URL/chat/completions.",
)
@click.option(
    "--model",
    envvar="IRONCLAW_MEMORY_CURATOR_MODEL",
    show_envvar=True,
    required=True,
    help="The model's name at the endpoint.",
)
@click.option("--all", "everyone", is_flag=True, help="Every owner of the data folder; needs --data-dir.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The server's data folder, read to learn who the owners are; only with --all.",
)
@click.option("--force", is_flag=True, help="Also when nothing is due.")
@click.option(
    "--lease-seconds",
    type=click.IntRange(1, 3600),
    default=DEFAULTS.lease_seconds,
    show_default=True,
    help="How long nobody else may curate; all requests to the model end within it.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULTS.call_seconds,
    show_default=True,
    metavar="SECONDS",
    help="How long one request to the model may take.",
)
@click.option(
    "--calls",
    type=click.IntRange(1, 10),
    default=DEFAULTS.model_calls,
    show_default=True,
    help="Requests to the model at most, repetitions included; the service's budget bounds them too.",
)
@click.option(
    "--document-bytes",
    type=click.IntRange(min=1),
    default=DEFAULTS.document_bytes,
    show_default=True,
    help="The longest text to accept; the server's setting of the same name bounds it too.",
)
@connected
def curate(
    connection: Connection,
    *,
    base_url: str,
    model: str,
    everyone: bool,
    data_dir: Path | None,
    force: bool,
    lease_seconds: int,
    timeout: float,
    calls: int,
    document_bytes: int,
) -> None:
    """Have a model tidy MEMORY.md where that is due.

    The key for the endpoint comes from IRONCLAW_MEMORY_CURATOR_API_KEY, else OPENAI_API_KEY. The text of MEMORY.md is
    sent to the endpoint.
    """
    endpoint = _endpoint(base_url, model)
    scopes = _owners(everyone, data_dir) if everyone or data_dir else iter((connection.scope,))
    limits = Limits(lease_seconds, timeout, calls, document_bytes)
    with connection.open() as client:
        chore = Chore(Curator(client, endpoint, limits), connection, named=everyone)
        sys.exit(max((chore.do(scope, force=force) for scope in scopes), default=0))


def _endpoint(base_url: str, model: str) -> ChatEndpoint:
    if not base_url.startswith(("https://", "http://")):
        raise click.UsageError("--base-url must begin with https:// or http://.")
    key = next(filter(None, map(os.environ.get, KEYS)), NO_KEY)
    if key == NO_KEY and base_url == OPENAI:
        raise click.UsageError(f"Set {KEYS[1]}, or name another endpoint with --base-url.")
    endpoint = ChatEndpoint(base_url, model, key)
    try:
        endpoint.check()
    except PackageMissing as missing:
        raise click.UsageError(str(missing)) from None
    return endpoint


def _owners(everyone: bool, data_dir: Path | None) -> Iterator[Scope]:
    if data_dir is None or not everyone:
        raise click.UsageError("--all and --data-dir belong together.")
    context = click.get_current_context()
    if any(
        context.get_parameter_source(axis) is ParameterSource.COMMANDLINE
        for axis in ("tenant", "user", "agent", "project")
    ):
        raise click.UsageError("--all is every owner; leave out --tenant, --user, --agent and --project.")
    return _scopes_of(data_dir)


def _scopes_of(data_dir: Path) -> Iterator[Scope]:
    # The store is imported here and not above: curating one owner needs no part of the server.
    from ironclaw_memory.logs import set_up_logs  # noqa: PLC0415
    from ironclaw_memory.store.owners import list_scopes  # noqa: PLC0415

    set_up_logs("warning")
    try:
        found = [Scope(s.tenant, s.user, s.agent, s.project) for s in list_scopes(os.fsencode(data_dir))]
    except OSError as error:
        raise click.UsageError(f"{data_dir} can't be read: {error.strerror}.") from None
    return iter(sorted(found, key=_name))


class Chore:
    """Curates owner after owner and says what came of each.

    Args:
        curator: does the work.
        connection: the server's address for messages, and how to print.
        named: whether lines for people name the owner.
    """

    def __init__(self, curator: Curator, connection: Connection, *, named: bool) -> None:
        self._curator = curator
        self._connection = connection
        self._named = named

    def do(self, scope: Scope, *, force: bool) -> int:
        """Curate one owner and return the exit code; with several, a refusal doesn't stop the others.

        Raises:
            Refused: the service refused, and this is the only owner.
            Unavailable: the server can't be reached, or can't do it now.
        """
        try:
            with failures_said(self._connection.server):
                curated = self._curator.curate(scope, force=force)
        except Unavailable:
            raise
        except Refused as refused:
            if not self._named:
                raise
            say(f"{_name(scope)}: {refused.message}", err=True)
            return refused.exit_code
        self._say(scope, curated)
        return EXIT_UNAVAILABLE if curated.problem in NOT_THE_MODEL_S_FAULT else EXIT[curated.outcome]

    def _say(self, scope: Scope, curated: Curated) -> None:
        if self._connection.as_json:
            say(json_line(_as_json(scope, curated)))
            return
        before = f"{_name(scope)}: " if self._named else ""
        if curated.problem is not None:
            say(f"{before}{WORDING[curated.problem].operator}", err=True)
        say(f"{before}{SENTENCES[curated.outcome]}", err=EXIT[curated.outcome] != 0)
        if curated.report is not None and EXIT[curated.outcome] == 0:
            _say_report(curated, before)


def _say_report(curated: Curated, before: str) -> None:
    report = curated.report
    if report is None:
        return
    if curated.outcome is Outcome.REWRITTEN:
        counts = (f"{getattr(report, name)} {name}" for name in ("kept", "merged", "rewritten", "superseded"))
        say(f"{before}Lines: {', '.join(counts)}.")
    for conflict in report.conflicts:
        say(f"{before}To settle: {' '.join(conflict.split())}")


def _name(scope: Scope) -> str:
    return "/".join(axis or "-" for axis in (scope.tenant, scope.user, scope.agent, scope.project))


def _as_json(scope: Scope, curated: Curated) -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "user": scope.user,
        "agent": scope.agent,
        "project": scope.project,
        "outcome": curated.outcome.value,
        "problem": None if curated.problem is None else curated.problem.value,
        "model_calls": curated.model_calls,
        "report": None if curated.report is None else asdict(curated.report),
        "content_sha256": curated.content_sha256,
    }
