"""A writer that is killed at any moment of a write: the document is old or new, and nothing is in the way then."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from ironclaw_memory.contract.document import RequestKey
from ironclaw_memory.contract.faults import DocumentMissing
from ironclaw_memory.contract.path import DocumentPath
from tests.crash.processes import changing_calls, require_strace, run, run_traced, start
from tests.store.workbench import SCOPE, Workbench

OLD, NEW = b"old\n", b"old\nentry\n"
METADATA = {"hygiene": {"enabled": True}}

CASES = {
    # name: (the step that is killed, the document, its bytes before and after)
    "append": (["append", "a/log.md", "entry\n", "r"], "a/log.md", OLD, NEW),
    "append-with-metadata": (["append", "a/log.md", "entry\n", "r", METADATA], "a/log.md", OLD, NEW),
    "create-in-new-folders": (["append", "x/y/new.md", "entry\n", "r"], "x/y/new.md", None, b"entry\n"),
    "delete": (["delete", "a/log.md", "r"], "a/log.md", OLD, None),
}


def _prepare(folder: Path) -> Path:
    bench = Workbench(folder)
    bench.put("a/log.md", b"oldest\n")
    bench.put("a/log.md", OLD)
    return folder


def _bytes(bench: Workbench, path: str) -> bytes | None:
    try:
        return bench.read(path)
    except DocumentMissing:
        return None


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A data directory with one document that has one version."""
    return _prepare(tmp_path_factory.mktemp("template") / "data")


def _calls(template: Path, folder: Path, step: list) -> list[tuple[str, int]]:
    shutil.copytree(template, folder / "dry")
    dry = run_traced(folder / "dry", folder / "dry.log", ["begin"], step, ["end"])
    assert dry.code == 0
    assert "fault" not in str(dry.answers)
    calls = changing_calls(dry.trace)
    assert {"openat", "write", "fsync", "fdatasync"} <= {name for name, _ in calls}, "the trace is blind"
    return calls


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES)
def test_killed_at_every_call_that_changes_something(template, tmp_path, case):
    """Whichever call the writer dies at: old bytes or new, whole; a retry has one effect; the next write works."""
    require_strace()
    step = CASES[case][0]
    for name, ordinal in _calls(template, tmp_path, step):
        where = f"killed at {name} number {ordinal}"
        crashed = tmp_path / f"{name}-{ordinal}"
        shutil.copytree(template, crashed)
        killed = run_traced(
            crashed, tmp_path / "log", ["begin"], step, ["end"], inject=f"{name}:signal=KILL:when={ordinal}"
        )
        assert killed.code == 137, f"not {where}"
        assert len(killed.answers) == 1, f"acknowledged before {where}"
        _check_retry_then_write(crashed, case, where)
        shutil.rmtree(crashed)


def _check_retry_then_write(crashed: Path, case: str, where: str) -> None:
    step, path, old, new = CASES[case]
    other = crashed.with_name("other")
    shutil.copytree(crashed, other)
    try:
        _check_state(crashed, case, where)
        was_new = _bytes(Workbench(crashed), path) == new
        assert do_again(crashed, step) is was_new, where
        bench = Workbench(crashed)
        assert _bytes(bench, path) == new, where
        assert bench.versions(path) == ([2, 1] if old else []), where
        assert (bench.version(path, 2) if old else None) == old, where
        assert do_again(crashed, step) is True, where
        assert _bytes(bench, path) == new, where
        _check_write_then_retry(other, case, where)
    finally:
        shutil.rmtree(other)


def _check_state(crashed: Path, case: str, where: str) -> None:
    step, path, old, new = CASES[case]
    bench = Workbench(crashed)
    seen = _bytes(bench, path)
    assert seen in (old, new), where
    assert set(bench.names()) <= {"a/log.md", path}, where
    for number in bench.versions(path):
        assert bench.version(path, number) in (b"oldest\n", OLD), where
    if step[0] == "append" and len(step) == 5:
        expected = METADATA if seen == new else {}
        assert bench.store.metadata(SCOPE, DocumentPath(path))[0] == expected, where


def _check_write_then_retry(crashed: Path, case: str, where: str) -> None:
    """Someone else writes the document first; the retry still has one effect."""
    step, path, _, new = CASES[case]
    bench = Workbench(crashed)
    seen = _bytes(bench, path)
    bench.append(path, b"between\n", seconds=5)
    assert bench.read(path) == (seen or b"") + b"between\n", where
    replayed = do_again(crashed, step)
    assert replayed is (seen == new), where
    if step[0] == "append":
        assert bench.read(path).count(b"entry\n") == 1, where


def do_again(data_dir: Path, step: list) -> bool:
    """Do the step again as a server that was just started would; return whether it was a replay."""
    bench = Workbench(data_dir)
    request = RequestKey(step[-1] if step[0] == "delete" else step[3], "f" * 64)
    if step[0] == "delete":
        return bench.put(step[1], None, request=request).replayed
    metadata = step[4] if len(step) == 5 else None
    return bench.append(step[1], step[2].encode(), request=request, metadata=metadata).replayed


def test_an_acknowledged_write_survives_a_kill(tmp_path):
    """Each entry that a writer had printed an answer for before it was killed is in the document."""
    _prepare(tmp_path / "data")
    steps = [["append", "a/log.md", f"entry {number}\n"] for number in range(400)]
    process = start(tmp_path / "data", *steps)
    acknowledged = 0
    while acknowledged < 60 and process.stdout.readline():
        acknowledged += 1
    process.kill()
    acknowledged += len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    lines = Workbench(tmp_path / "data").read("a/log.md").decode().splitlines()
    assert lines[0] == "old"
    assert lines[1:] == [f"entry {number}" for number in range(len(lines) - 1)]
    assert acknowledged <= len(lines) - 1 <= acknowledged + 1


def test_what_a_killed_writer_left_is_swept(template, tmp_path):
    """Its temporary is in no listing, and goes when it is old and its writer is dead; a live writer's stays."""
    shutil.copytree(template, tmp_path / "data")
    calls = _calls(template, tmp_path, ["append", "a/log.md", "entry\n"])
    name, ordinal = next(call for call in calls if call[0].startswith("rename"))
    killed = run_traced(
        tmp_path / "data",
        tmp_path / "log",
        ["append", "a/log.md", "entry\n"],
        inject=f"{name}:signal=KILL:when={ordinal}",
    )
    assert killed.code == 137
    bench = Workbench(tmp_path / "data")
    (left,) = [file for file in bench.files() if file.endswith(".tmp")]
    assert bench.names() == ["a/log.md"]
    assert bench.store.sweep(threading.Event()) == 0, "it may belong to a writer that has just begun"
    os.utime(bench.documents / left, (time.time() - 90, time.time() - 90))
    holder = os.open(bench.documents / left, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    assert bench.store.sweep(threading.Event()) == 0, "its writer lives"
    os.close(holder)
    assert bench.store.sweep(threading.Event()) == 1
    assert bench.files() == ["a/log.md"]


def test_the_writer_runs_without_strace_too(template, tmp_path):
    """The program that these tests kill does what it says when nobody kills it."""
    shutil.copytree(template, tmp_path / "data")
    outcome = run(tmp_path / "data", ["append", "a/log.md", "entry\n", "r"], ["read", "a/log.md"])
    assert outcome.answers[1] == {"ack": NEW.decode()}
