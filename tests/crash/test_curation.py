"""Curation under kills: the count of turns and the lease are after a crash what they were before it, exactly."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ironclaw_memory.contract.arguments import WriteArguments
from ironclaw_memory.contract.faults import DocumentMissing
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.memory.curation import Completion, Outcome
from ironclaw_memory.memory.profile import ProfileZone
from ironclaw_memory.memory.write import Writer
from tests.caller import Caller, new_tenant
from tests.crash.curator import SCOPE, Bench
from tests.crash.processes import CHANGING, changing_calls, environment, require_strace
from tests.server_process import run_server, wait_until
from tests.wire.lifecycle import claim, complete, record

PROGRAM = Path(__file__).with_name("curator.py")
OLD, NEW = "likes tea\nlikes green tea\n", "likes green tea\n"
KILLED_AT = ("write", "fsync", "fdatasync", "renameat", "rename", "renameat2")
"""The calls after which something more is on the disk; the others make or open what these fill."""


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())


def trace(log: Path, *arguments: object, kill: str = "") -> tuple[int, str]:
    """Run the program under strace; return its exit code and the trace."""
    inject = ["-e", f"inject={kill}"] if kill else []
    calls = f"trace={','.join(CHANGING)},access,faccessat,faccessat2"
    before = ["strace", "-f", "-qq", "-o", str(log), "-e", calls, *inject, "--"]
    command = [*before, sys.executable, str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=100, check=False)
    assert done.returncode in (0, -9, 137), done.stderr.decode()
    return done.returncode, log.read_text(errors="replace")


def memory_of(bench: Bench) -> str:
    return bench.store.read_document(SCOPE, DocumentPath("MEMORY.md")).content.decode()


def write_memory(bench: Bench, text: str) -> None:
    arguments = WriteArguments(target="memory", content=text, append=False)
    Writer(bench.changes, ProfileZone(bench.store)).write(bench.call(), arguments)


def test_a_killed_server_keeps_lease_and_count(tmp_path):
    """SIGKILL between claim and completion: after the restart the lease holds for its holder, and ends as usual."""
    scope = {"tenant": new_tenant(), "user": "alice", "thread": "t"}
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, scope)
        caller.write("MEMORY.md", OLD)
        assert [record(caller, number)["turns_since_curation"] for number in range(10)] == list(range(1, 11))
        held = claim(caller)
        server.crash()
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, scope)
        assert not claim(caller, force=True)["claimed"]
        again = record(caller, 9)
        assert (again["turns_since_curation"], again["curation_due"]) == (10, True)
        assert complete(caller, held["lease_id"], NEW) == "REWRITTEN"
        assert caller.read("MEMORY.md") == NEW
        assert record(caller, 10)["turns_since_curation"] == 1


def test_a_restart_at_the_seventh_turn_changes_nothing(tmp_path):
    """Seven turns, a kill, three more: due at the tenth, not earlier and not later (field bug 125)."""
    scope = {"tenant": new_tenant(), "user": "alice", "thread": "t"}
    due = []
    for part in (range(7), range(7, 12)):
        with run_server(tmp_path / "data") as server, server.channel() as channel:
            due += [record(Caller(channel, scope), number)["curation_due"] for number in part]
            server.crash()
    assert due == [False] * 9 + [True] * 3


def test_a_lease_whose_holder_died_ends_by_itself(tmp_path):
    """When the holder never comes back, the curation can be claimed again once the lease is over."""
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, {"tenant": new_tenant(), "user": "alice", "thread": "t"})
        caller.write("MEMORY.md", OLD)
        first = claim(caller, lease_seconds=1, force=True)
        second = wait_until(lambda: (answer := claim(caller, force=True))["claimed"] and answer, 20, "the lease's end")
        assert second["lease_id"] != first["lease_id"]
        assert complete(caller, second["lease_id"], NEW) == "REWRITTEN"


def test_two_processes_count_exactly(tmp_path):
    """Two processes record the same sixty runs of one thread at once: each run counts once."""
    bench = Bench(tmp_path / "data")
    writers = [start(tmp_path / "data", "record", "t", 0, 60) for _ in range(2)]
    for writer in writers:
        assert len(writer.communicate(timeout=100)[0].splitlines()) == 60
        assert writer.returncode == 0
    assert bench.turns() == 60
    assert bench.record("t", 5) == 60
    assert bench.record("u", 5) == 61


def test_killed_recorders_lose_no_turn_and_count_none_twice(tmp_path):
    """Recorders that are killed again and again, and begin anew as a host would, count each run once."""
    (tmp_path / "data").mkdir(mode=0o700)
    done = 0
    for _ in range(5):
        writer = start(tmp_path / "data", "record", "t", done, 1000)
        acknowledged = 0
        while acknowledged < 7 and writer.stdout.readline():
            acknowledged += 1
        writer.kill()
        acknowledged += len(writer.stdout.read().splitlines())
        writer.wait()
        writer.stdout.close()
        done += acknowledged
    bench = Bench(tmp_path / "data")
    turns = bench.turns()
    assert done <= turns <= done + 1, "the last recorder may have got further than it could say"
    for number in range(done):
        assert bench.record("t", number) == turns
    assert bench.record("t", done) == done + 1


@pytest.mark.timeout(300)
def test_a_completion_killed_anywhere_is_done_once(tmp_path):
    """Wherever it dies: the text is old or new, whole; sent again it is REWRITTEN; the count begins anew just once."""
    require_strace()
    template = tmp_path / "template"
    bench = Bench(template)
    write_memory(bench, OLD)
    for number in range(10):
        bench.record("t", number)
    lease = bench.curator.claim(bench.call(), None, force=False).lease.lease_id
    bench.index.close()
    shutil.copytree(template, tmp_path / "dry")
    code, dry = trace(tmp_path / "log", tmp_path / "dry", "complete", lease, NEW)
    assert code == 0
    calls = [call for call in changing_calls(dry) if call[0] in KILLED_AT]
    assert Counter(name for name, _ in calls)["fsync"] >= 4, "the trace is blind"
    for name, ordinal in calls:
        crashed = tmp_path / f"{name}-{ordinal}"
        shutil.copytree(template, crashed)
        code, _ = trace(tmp_path / "log", crashed, "complete", lease, NEW, kill=f"{name}:signal=KILL:when={ordinal}")
        assert code != 0
        _check_after_kill(crashed, lease, f"killed at {name} number {ordinal}")
        shutil.rmtree(crashed)


def _check_after_kill(crashed: Path, lease: str, where: str) -> None:
    bench = Bench(crashed)
    assert memory_of(bench) in (OLD, NEW), where
    turns = bench.record("t", 10)
    assert turns in (11, 1), where
    completed = bench.curator.complete(bench.call(), Completion(lease, NEW))
    assert completed.outcome is Outcome.REWRITTEN, where
    assert memory_of(bench) == NEW, where
    # A turn that was recorded after the restart of the count is not lost to the repetition.
    assert bench.turns() == (1 if turns == 1 else 0), where
    versions = bench.store.list_versions(SCOPE, DocumentPath("MEMORY.md"))
    assert len(versions) == 1, where
    bench.index.close()


@pytest.mark.timeout(300)
def test_a_recording_killed_anywhere_counts_once(tmp_path):
    """Wherever it dies: no record without its turn; recorded again it counts once, and the next turn is the next."""
    require_strace()
    template = tmp_path / "template"
    bench = Bench(template)
    bench.record("t", 0)
    bench.index.close()
    shutil.copytree(template, tmp_path / "dry")
    _, dry = trace(tmp_path / "log", tmp_path / "dry", "record", "t", 1, 2)
    for name, ordinal in [call for call in changing_calls(dry) if call[0] in KILLED_AT]:
        crashed = tmp_path / f"{name}-{ordinal}"
        shutil.copytree(template, crashed)
        trace(tmp_path / "log", crashed, "record", "t", 1, 2, kill=f"{name}:signal=KILL:when={ordinal}")
        bench = Bench(crashed)
        try:
            bench.store.read_head(SCOPE, DocumentPath("threads/t/run-1.md"), 0)
            assert bench.turns() == 2, f"killed at {name} number {ordinal}"
        except DocumentMissing:
            assert bench.turns() in (1, 2)
        assert [bench.record("t", number) for number in (1, 1, 2)] == [2, 2, 3], f"killed at {name} number {ordinal}"
        bench.index.close()
        shutil.rmtree(crashed)
