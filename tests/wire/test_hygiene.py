"""Hygiene: what may go, what stays whatever its metadata say, and the command beside a running server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.document import Before, Change
from ironclaw_memory.contract.faults import DocumentMissing
from ironclaw_memory.contract.path import DocumentPath, parse_document_path
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index.search import IndexSettings, SearchIndex
from ironclaw_memory.memory.changes import DocumentChanges
from ironclaw_memory.memory.hygiene import Finding, HeldBack, Hygiene
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.protected import ProtectedPaths
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.store import DocumentStore, StoreLimits, open_data_dir
from tests.caller import ADMIN, Caller, new_tenant
from tests.server_process import ServerProcess, environment, run_server

SCOPE = Scope("acme", "ada")
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
ON = {"hygiene": {"enabled": True}}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server of this module's own: on the shared one, other tests leave scopes on purpose that no tool can visit."""
    with run_server() as running:
        yield running


@pytest.fixture
def caller(server: ServerProcess) -> Iterator[Caller]:
    """Calls to it as user `alice` of a tenant that only this test uses."""
    with server.channel() as channel:
        yield Caller(channel, {"tenant": new_tenant(), "user": "alice"})


class Rig:
    """A store whose documents have the ages that a test wants, and hygiene over it with a clock that stands still."""

    def __init__(self, folder: Path, *, keeps_versions: bool = True) -> None:
        self.store = DocumentStore(open_data_dir(folder), StoreLimits())
        self.index = SearchIndex(self.store, IndexSettings(background_seconds=0))
        changes = DocumentChanges(self.store, self.index, PromptWritePolicy(Scanner()), 1 << 20)
        self.hygiene = Hygiene(
            self.store,
            changes,
            ProtectedPaths(("rules/house.md",)),
            keeps_versions=keeps_versions,
            now=lambda: NOW,
        )
        self.documents = folder / "tenants/acme/users/ada/agents/_none/projects/_none/documents"

    def put(
        self, path: str, days: float, metadata: Mapping[str, Any] | None = None, content: bytes = b"User drinks tea.\n"
    ) -> DocumentPath:
        """Write a document that was last changed so many days before now."""
        parsed = parse_document_path(path)

        def decide(_: Before) -> Change:
            return Change(content, metadata=ON if metadata is None else metadata)

        self.store.change_document(SCOPE, parsed, decide, deadline=Deadline.after(20))
        changed_at = (NOW - timedelta(days=days)).timestamp()
        os.utime(self.documents / path, (changed_at, changed_at))
        return parsed

    def found(self) -> dict[str, HeldBack | None]:
        """What hygiene finds, by path."""
        return {finding.path.text: finding.held_back for finding in self.hygiene.find(SCOPE)}

    def move(self, path: str) -> HeldBack | None:
        """Move a document, and return why it stayed."""
        call = Call(SCOPE, None, None, str(uuid.uuid4()), Deadline.after(20), NoEvents())
        return self.hygiene.move(call, Finding(parse_document_path(path), 99)).held_back


class NoEvents:
    def record(self, finding: object) -> None:
        raise AssertionError("a deletion raises no safety event")


@pytest.fixture
def rig(tmp_path: Path):
    rig = Rig(tmp_path / "data")
    yield rig
    rig.index.close()


@pytest.mark.parametrize(
    ("days", "hygiene", "goes"),
    [
        (30.01, {"enabled": True}, True),
        (30, {"enabled": True}, False),
        (7.01, {"enabled": True, "retention_days": 7}, True),
        (6.99, {"enabled": True, "retention_days": 7}, False),
        (1.6, {"enabled": True, "retention_days": 1.5}, True),
        (3000, {"enabled": True, "retention_days": 1e308}, False),
        (3000, {"enabled": True, "retention_days": 10**400}, False),
        (3000, {"enabled": False}, False),
        (3000, {"enabled": "yes"}, False),
        (3000, {"enabled": 1}, False),
        (3000, {"retention_days": 1}, False),
        (3000, None, False),
        (3000, "on", False),
        (-5, {"enabled": True, "retention_days": 1}, False),
    ],
)
def test_what_is_enabled_and_older_than_its_retention_goes(rig, days, hygiene, goes):
    """Only a JSON true enables, the default is 30 days, and the very day itself still belongs to the retention."""
    rig.put("a.md", days, {"hygiene": hygiene})
    assert rig.found() == ({"a.md": None} if goes else {})


@pytest.mark.parametrize("days", [0, 0.5, -1, "7", True, None, [7], float("nan")])
def test_a_retention_that_cannot_be_understood_deletes_nothing(rig, days):
    """Metadata may be edited by hand: a setting in doubt is said, and the document stays."""
    rig.put("a.md", 3000, {"hygiene": {"enabled": True, "retention_days": days}})
    assert rig.found() == {"a.md": HeldBack.RETENTION_UNCLEAR}
    assert rig.move("a.md") is HeldBack.RETENTION_UNCLEAR


def test_metadata_come_from_the_nearest_config_and_are_overlaid_shallowly(rig):
    """A folder's `.config` switches hygiene on for what is below it; a document's own `hygiene` hides all of it."""
    rig.put("log/.config", 0, {"hygiene": {"enabled": True, "retention_days": 7}}, b"settings\n")
    rig.put("log/week.md", 8, {})
    rig.put("log/own.md", 8, ON)
    rig.put("log/kept.md", 3000, {"hygiene": None})
    rig.put("other.md", 3000, {})
    assert rig.found() == {"log/week.md": None}


@pytest.mark.parametrize(
    ("path", "days", "metadata", "reason"),
    [
        ("MEMORY.md", 3000, ON, HeldBack.PROTECTED),
        ("soul.MD", 3000, ON, HeldBack.PROTECTED),
        ("context/profile.json", 3000, ON, HeldBack.PROTECTED),
        ("rules/house.md", 3000, ON, HeldBack.PROTECTED),
        (".config", 3000, ON, HeldBack.CONFIG),
        ("log/.config", 3000, ON, HeldBack.CONFIG),
        ("threads/t/run.md", 29, {"hygiene": {"enabled": True, "retention_days": 1}}, HeldBack.THREAD),
        ("Threads/t/run.md", 29, {"hygiene": {"enabled": True, "retention_days": 1}}, HeldBack.THREAD),
        ("a.md", 3000, ON | {"read_only": True}, HeldBack.READ_ONLY),
        ("a.md", 3000, ON | {"skip_versioning": True}, HeldBack.SKIP_VERSIONING),
    ],
)
def test_some_documents_stay_whatever_their_metadata_say(rig, path, days, metadata, reason):
    """What is in every prompt, settings, young conversations, and what couldn't be kept: said, and not touched."""
    rig.put(path, days, metadata)
    assert rig.found() == {path: reason}
    assert rig.move(path) is reason
    assert (rig.documents / path).exists()


def test_an_old_conversation_may_go(rig):
    """After 30 days a thread's record is a document like any other."""
    rig.put("threads/t/run.md", 31, {"hygiene": {"enabled": True, "retention_days": 1}})
    assert rig.found() == {"threads/t/run.md": None}


def test_where_no_versions_are_kept_nothing_goes(tmp_path: Path):
    """A store without history would lose what hygiene moves into it."""
    rig = Rig(tmp_path / "data", keeps_versions=False)
    rig.put("a.md", 3000)
    assert rig.found() == {"a.md": HeldBack.SKIP_VERSIONING}
    rig.index.close()


@pytest.mark.parametrize("content", [b"User drinks tea.\n", b"\xff\x00 not text", b""])
def test_what_goes_is_kept_as_a_version(rig, content):
    """The bytes are in the history, text or not, and the document is gone; empty ones leave nothing to keep."""
    path = rig.put("a.md", 31, content=content)
    assert rig.move("a.md") is None
    with pytest.raises(DocumentMissing):
        rig.store.read_document(SCOPE, path)
    versions = [rig.store.read_version(SCOPE, path, info.version) for info in rig.store.list_versions(SCOPE, path)]
    assert versions == ([content] if content else [])


def test_what_is_written_meanwhile_stays(rig):
    """A document that was changed, deleted or kept from going since it was found is left alone."""
    for path in ("changed.md", "gone.md", "kept.md"):
        rig.put(path, 31)
    assert set(rig.found()) == {"changed.md", "gone.md", "kept.md"}
    rig.put("changed.md", 0)
    (rig.documents / "gone.md").unlink()
    rig.put("kept.md", 31, {})
    assert [rig.move(path) for path in ("changed.md", "gone.md", "kept.md")] == [HeldBack.CHANGED] * 3
    assert rig.found() == {}
    assert sorted(os.listdir(rig.documents)) == ["changed.md", "kept.md"]


def test_a_write_between_the_look_and_the_deletion_stays(rig, monkeypatch):
    """The deletion is tied to the content that was looked at, so that a host's write wins even in the last instant."""
    rig.put("a.md", 31)
    look = rig.hygiene._look_at

    def look_and_be_overtaken(*arguments: Any) -> Finding | None:
        finding = look(*arguments)
        rig.put("a.md", 31, content=b"User drinks coffee.\n")
        return finding

    monkeypatch.setattr(rig.hygiene, "_look_at", look_and_be_overtaken)
    assert rig.move("a.md") is HeldBack.CHANGED
    assert (rig.documents / "a.md").read_bytes() == b"User drinks coffee.\n"


# The command


@dataclass(frozen=True)
class Ended:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


def run(data_dir: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Ended:
    """Run `hygiene` over a data folder to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "ironclaw_memory", "hygiene", "--data-dir", str(data_dir), *arguments],
        capture_output=True,
        text=True,
        env=environment(env),
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def age(server, caller: Caller, path: str, days: float) -> None:
    """Make a document's file old."""
    scope = caller.scope
    root = server.data_dir / "tenants" / scope["tenant"] / "users" / scope["user"] / "agents/_none/projects/_none"
    then = datetime.now(UTC).timestamp() - days * 86_400
    os.utime(root / "documents" / path, (then, then))


@pytest.fixture
def aged(server, caller) -> Caller:
    """A scope with an old document, an old one that stays, and a young one."""
    caller.write("log/old.md", "Alpacas were discussed.", metadata=ON)
    caller.write("log/unkept.md", "Bison were discussed.", metadata=ON | {"skip_versioning": True})
    caller.write("log/young.md", "Camels were discussed.", metadata=ON)
    age(server, caller, "log/old.md", 45)
    age(server, caller, "log/unkept.md", 45)
    return caller


def found(caller: Caller, query: str) -> list[str]:
    return [hit["path"] for hit in caller.call("Search", {"query": query})["results"]]


def test_a_dry_run_lists_and_changes_nothing(server, aged):
    """Without `--apply` each document is listed with its age and what would happen to it."""
    tenant = aged.scope["tenant"]
    assert run(server.data_dir, "--tenant", tenant) == Ended(
        0,
        f"{tenant}/alice/-/-:\n"
        "  log/old.md  45 days  would be moved\n"
        "  log/unkept.md  45 days  stays: no version of it would be kept\n"
        "1 document would be moved; --apply does it.\n",
        "",
    )
    assert aged.read("log/old.md") == "Alpacas were discussed."


def test_beside_a_running_server_what_goes_leaves_reads_and_search_and_can_be_restored(server, aged):
    """The server sees the move at once, finds the document no more, and restores it when asked."""
    tenant = aged.scope["tenant"]
    assert found(aged, "alpacas") == ["log/old.md"]
    ended = run(server.data_dir, "--apply", "--tenant", tenant, "--user", "alice")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "1 document moved.")
    assert found(aged, "alpacas") == []
    assert aged.tree() == [{"log/": ["unkept.md", "young.md"]}]
    aged.call(f"{ADMIN}/RestoreVersion", {"path": "log/old.md", "version": 1})
    assert aged.read("log/old.md") == "Alpacas were discussed."
    assert found(aged, "alpacas") == ["log/old.md"]


def test_json_is_a_line_for_each_document(server, aged):
    """A script learns of each document what was done with it and why not."""
    lines = run(server.data_dir, "--apply", "--json", "--tenant", aged.scope["tenant"]).out.splitlines()
    told = {line["path"]: (line["moved"], line["held_back"]) for line in map(json.loads, lines)}
    assert told == {"log/old.md": (True, None), "log/unkept.md": (False, "skip_versioning")}


@pytest.mark.parametrize("axis", [("--user", "bob"), ("--agent", "coder"), ("--project", "apollo")])
def test_owners_that_are_not_meant_are_left_alone(server, aged, axis):
    """Each axis narrows down whose documents are looked at."""
    ended = run(server.data_dir, "--apply", "--tenant", aged.scope["tenant"], *axis)
    assert ended == Ended(0, "0 documents moved.\n", "")
    assert aged.read("log/old.md")


def test_further_protected_paths_come_from_the_environment_or_a_flag(server, aged):
    """What the operator protects on the server is protected here too."""
    owner = ("--apply", "--tenant", aged.scope["tenant"])
    by_environment = run(server.data_dir, *owner, env={"IRONCLAW_MEMORY_PROTECTED_PATHS": "log/old.md"})
    by_flag = run(server.data_dir, *owner, "--protected-paths", "x.md,LOG/OLD.md")
    assert "log/old.md  45 days  stays: it is a prompt file" in by_environment.out
    assert by_flag.out == by_environment.out
    assert aged.read("log/old.md")


def test_a_document_that_cannot_be_moved_does_not_stop_the_others(server, aged):
    """A file too large for the store is said, and the exit code tells."""
    aged.write("log/a.md", "x", metadata=ON)
    scope = aged.scope
    root = server.data_dir / "tenants" / scope["tenant"] / "users" / scope["user"] / "agents/_none/projects/_none"
    with (root / "documents/log/a.md").open("wb") as file:
        file.truncate(17 << 20)
    age(server, aged, "log/a.md", 45)
    ended = run(server.data_dir, "--apply", "--tenant", scope["tenant"])
    assert ended.code == 1
    assert "log/a.md  45 days  stays: it can't be read\n" in ended.out
    assert "log/old.md  45 days  moved\n" in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--protected-paths", "../x"), "protected_paths"),
        (("--config", "no-such-file.toml"), "no-such-file.toml"),
    ],
)
def test_wrong_usage_is_said(server, arguments, said):
    """A setting that can't be used ends the command with code 2 before anything is looked at."""
    ended = run(server.data_dir, *arguments)
    assert ended.code == 2
    assert said in ended.err


def test_a_folder_that_is_none_is_not_made(tmp_path: Path):
    """A mistyped data folder is an error, not a new empty folder."""
    ended = run(tmp_path / "dta")
    assert ended.code == 2
    assert not (tmp_path / "dta").exists()


def test_what_is_moved_is_in_the_audit_trail(tmp_path):
    """A document that went is an event of the operator's, named by hashes; what is only listed leaves nothing."""
    rig = Rig(tmp_path / "data")
    rig.put("notes/old.md", 99)
    rig.index.close()
    events = tmp_path / "data" / "events"
    command = [sys.executable, "-m", "ironclaw_memory", "hygiene", "--data-dir", str(tmp_path / "data")]
    subprocess.run(command, env=environment(), check=True, capture_output=True)
    assert not events.exists()
    subprocess.run([*command, "--apply"], env=environment(), check=True, capture_output=True)
    lines = [json.loads(line) for file in events.iterdir() for line in file.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["opened", "deleted", "closed"]
    assert (lines[1]["source"], lines[1]["principal"]) == ("hygiene", "operator")
    assert "old" not in str(lines)
