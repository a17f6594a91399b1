"""`ironclaw-memory keys`: makes, lists, rotates and revokes the API keys of a data folder, beside running servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from ironclaw_memory.contract.grant import ANY, GrantInvalid, Permission, SourceClass, grant_record, parse_grant
from ironclaw_memory.contract.scope import ABSENT
from ironclaw_memory.credentials.key_file import KeyRecord, read_keys
from ironclaw_memory.credentials.keys import KeyCabinet, NewKey
from ironclaw_memory.credentials.last_use import read_last_use
from ironclaw_memory.credentials.problem import CredentialsError
from ironclaw_memory.store.datadir import DataDirError, open_data_dir

from .terminal import json_line, say

DAY: Final = 86_400
HOUR: Final = 3_600
MAX_DAYS: Final = 3_650
MAX_NAME: Final = 100

DATA_DIR = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The server's data folder; made where it is missing.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, a line for each key.")


@click.group()
def keys() -> None:
    """Make, list, rotate and revoke API keys.

    With the first key, a server on the folder asks every call for one, unless it was told otherwise (--api-keys).
    Changes hold from the next call on, without a restart.
    """


@keys.command()
@DATA_DIR
@click.option("--name", default="", metavar="TEXT", help="What it is for, in a list.")
@click.option("--tenant", required=True, help="The tenant it is good for.")
@click.option("--user", "users", multiple=True, help="A user it is good for; may be given again.")
@click.option("--any-user", is_flag=True, help="Good for every user of the tenant.")
@click.option(
    "--agent", "agents", multiple=True, help=f"An agent it is good for ({ABSENT}: none); may be given again. [any]"
)
@click.option(
    "--project", "projects", multiple=True, help=f"A project it is good for ({ABSENT}: none); may be given again. [any]"
)
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    type=click.Choice([permission.value for permission in Permission]),
    help="What it allows; may be given again. [read, write, record]",
)
@click.option(
    "--source",
    type=click.Choice([source.value for source in SourceClass]),
    default=SourceClass.AGENT.value,
    show_default=True,
    help="What is written by it counts as.",
)
@click.option(
    "--days",
    type=click.IntRange(0, MAX_DAYS),
    default=365,
    show_default=True,
    help="How long it works; 0 for ever.",
)
@AS_JSON
def create(
    data_dir: Path, *, name: str, users: tuple[str, ...], any_user: bool, days: int, as_json: bool, **given: Any
) -> None:
    """Make a key and print it, this once: only its hash is kept."""
    if bool(users) == any_user:
        raise click.UsageError("Give either --user, once or more, or --any-user.")
    if len(name) > MAX_NAME:
        raise click.UsageError(f"--name has at most {MAX_NAME} characters.")
    grant = {
        "tenant": given["tenant"],
        "users": ANY if any_user else list(users),
        "agents": list(given["agents"]) or ANY,
        "projects": list(given["projects"]) or ANY,
        "permissions": list(given["permissions"]) or ["read", "write", "record"],
        "source": given["source"],
    }
    with problems_said():
        _show_new(_cabinet(data_dir).create(name, parse_grant(grant), days * DAY or None), as_json=as_json)


@keys.command()
@DATA_DIR
@click.argument("key_id")
@click.option(
    "--overlap-hours",
    type=click.FloatRange(0, MAX_DAYS * 24),
    default=24.0,
    show_default=True,
    help="How long the old key still works.",
)
@AS_JSON
def rotate(data_dir: Path, key_id: str, *, overlap_hours: float, as_json: bool) -> None:
    """Make a key's successor, with its name, grant and lifetime, and print it, this once."""
    with problems_said():
        _show_new(_cabinet(data_dir).rotate(key_id, int(overlap_hours * HOUR)), as_json=as_json)


@keys.command()
@DATA_DIR
@click.argument("key_id")
def revoke(data_dir: Path, key_id: str) -> None:
    """End a key now, for good."""
    with problems_said():
        _cabinet(data_dir).revoke(key_id)
    say(f"{key_id} is revoked.")


@keys.command("list")
@DATA_DIR
@AS_JSON
def list_(data_dir: Path, *, as_json: bool) -> None:
    """List the keys, oldest first: what they allow, until when, and when they were used last."""
    with problems_said():
        records = read_keys(data_dir)
    used, now = read_last_use(data_dir), time.time()
    for record in records.values():
        entry = _describe(record, used.get(record.key_id), now)
        say(json_line(entry) if as_json else _line(record, entry))


@contextmanager
def problems_said() -> Iterator[None]:
    """Turn what goes wrong in the block into one line and exit code 2.

    Raises:
        click.UsageError: the folder, the file of keys, or what was asked for can't be used.
    """
    try:
        yield
    except (CredentialsError, DataDirError, GrantInvalid) as error:
        raise click.UsageError(str(error)) from None


def _cabinet(data_dir: Path) -> KeyCabinet:
    return KeyCabinet(open_data_dir(data_dir).path)


def _show_new(made: NewKey, *, as_json: bool) -> None:
    if as_json:
        say(json_line({"key": made.key, **_describe(made.record, None, made.record.created_at)}))
        return
    say(made.key)
    say(f"Keep it now, it isn't shown again. It is {made.record.key_id} in lists.", err=True)


def _describe(record: KeyRecord, used: int | None, now: float) -> dict[str, Any]:
    return {
        "id": record.key_id,
        "name": record.name,
        "state": record.state(now).value,
        "grant": grant_record(record.grant),
        "created_at": _time(record.created_at),
        "expires_at": _time(record.expires_at),
        "revoked_at": _time(record.revoked_at),
        "last_used_at": _time(used),
    }


def _line(record: KeyRecord, entry: dict[str, Any]) -> str:
    grant = entry["grant"]
    scope = " ".join(
        f"{axis}={grant[axis] if isinstance(grant[axis], str) else ','.join(grant[axis])}"
        for axis in ("tenant", "users", "agents", "projects")
    )
    until, used = entry["expires_at"] or "never", entry["last_used_at"] or "never"
    return (
        f"{record.key_id}  {entry['state']:<7}  expires {until}  used {used}  {scope}  "
        f"{','.join(grant['permissions'])}  {record.name}"
    ).rstrip()


def _time(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
