"""A file system that refuses: the caller hears which of three outcomes it is, and the operator why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ironclaw_memory.contract.path import DocumentPath
from tests.crash.processes import calls_between_marks, changing_calls, own_mount, require_strace, run, run_traced
from tests.crash.test_kill import METADATA, NEW, OLD
from tests.store.workbench import SCOPE, Workbench

STEP = ["append", "a/log.md", "entry\n", "r", METADATA]
ERRORS = {
    "openat": "EMFILE",
    "write": "ENOSPC",
    "pwrite64": "ENOSPC",
    "fsync": "EIO",
    "fdatasync": "EIO",
    "renameat": "EROFS",
    "mkdirat": "EDQUOT",
    "unlinkat": "EIO",
    "ftruncate": "EIO",
}
REFUSED = {"StorageFull", "StorageUnavailable"}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A data directory with one document that has one version."""
    folder = tmp_path_factory.mktemp("template") / "data"
    bench = Workbench(folder)
    bench.put("a/log.md", b"oldest\n")
    bench.put("a/log.md", OLD)
    return folder


@pytest.mark.timeout(300)
def test_every_call_of_a_write_may_fail(template, tmp_path):
    """Whichever call fails, once: acknowledged and new, refused and old without a trace, or unknown and new."""
    require_strace()
    shutil.copytree(template, tmp_path / "dry")
    dry = run_traced(tmp_path / "dry", tmp_path / "log", ["begin"], STEP, ["end"])
    seen = set()
    for name, ordinal in changing_calls(dry.trace):
        where = f"{ERRORS[name]} at {name} number {ordinal}"
        folder = tmp_path / f"{name}-{ordinal}"
        shutil.copytree(template, folder)
        outcome = run_traced(
            folder,
            tmp_path / "log",
            ["begin"],
            STEP,
            ["problem"],
            ["versions", "a/log.md"],
            ["append", "a/other.md", "x\n"],
            ["problem"],
            STEP,
            inject=f"{name}:error={ERRORS[name]}:when={ordinal}",
        )
        assert outcome.trace.count("(INJECTED)") == 1, f"no {where}"
        seen.add(_check(Workbench(folder), outcome.answers, where))
    assert seen == {"ack", "OutcomeUnknown", *REFUSED}


def _check(bench: Workbench, answers: list, where: str) -> str:
    _, first, problem, versions, other, no_problem, again = answers
    result = first.get("fault", "ack")
    assert result in {"ack", "OutcomeUnknown", *REFUSED}, where
    if result != "ack":
        assert problem["ack"], where
    assert versions["ack"] == ([1] if result in REFUSED else [2, 1]), where
    assert "ack" in other, where
    assert no_problem["ack"] is None, where
    # The same request again: done once, whatever the first answer was.
    assert again["ack"]["replayed"] is (result not in REFUSED), where
    assert bench.read("a/log.md") == NEW, where
    assert bench.versions("a/log.md") == [2, 1], where
    assert bench.version("a/log.md", 2) == OLD, where
    assert bench.store.metadata(SCOPE, DocumentPath("a/log.md"))[0] == METADATA, where
    assert [name for name in bench.files() if name.endswith(".tmp")] == [], where
    return result


def test_a_failed_folder_flush_is_neither_success_nor_failure(template, tmp_path):
    """After the rename the outcome is unknown; the retry writes new bytes instead of flushing again, and succeeds."""
    require_strace()
    step = ["replace", "a/log.md", "entirely new\n"]
    shutil.copytree(template, tmp_path / "data")
    shutil.copytree(template, tmp_path / "dry")
    calls = changing_calls(run_traced(tmp_path / "dry", tmp_path / "log", ["begin"], step, ["end"]).trace)
    renamed = next(index for index, (name, _) in enumerate(calls) if name.startswith("rename"))
    ordinal = next(number for name, number in calls[renamed:] if name == "fsync")
    outcome = run_traced(
        tmp_path / "data",
        tmp_path / "log",
        step,
        ["read", "a/log.md"],
        ["problem"],
        ["begin"],
        step,
        ["end"],
        ["problem"],
        inject=f"fsync:error=EIO:when={ordinal}",
    )
    assert outcome.trace.count("(INJECTED)") == 1
    first, read, problem, _, again, _, no_problem = outcome.answers
    assert first == {"fault": "OutcomeUnknown"}
    assert read == {"ack": "entirely new\n"}
    assert problem == {"ack": "the disk reports input/output errors"}
    assert "ack" in again
    assert any(name.startswith("rename") for name, _ in changing_calls(outcome.trace)), "it only flushed again"
    assert no_problem == {"ack": None}


def _opening_call(trace: str) -> tuple[str, int]:
    """Return name and ordinal of the call that opens the document: by its name, or by its whole path in one call."""
    calls = calls_between_marks(trace)
    return next((name, number) for name, number, rest in calls if '"log.md"' in rest or '"a/log.md"' in rest)


@pytest.mark.parametrize("error", ["EACCES", "EIO", "EMFILE"])
def test_an_unreadable_document_is_never_taken_for_an_empty_one(template, tmp_path, error):
    """When the old bytes can't be opened, an append fails and they stay, and a read says that it failed."""
    require_strace()
    for step in (["append", "a/log.md", "entry\n"], ["read", "a/log.md"]):
        folder = tmp_path / step[0]
        shutil.copytree(template, folder)
        shutil.copytree(template, tmp_path / "dry")
        dry = run_traced(tmp_path / "dry", tmp_path / "log", ["begin"], step, ["end"])
        shutil.rmtree(tmp_path / "dry")
        name, number = _opening_call(dry.trace)
        inject = f"{name}:error={error}:when={number}"
        outcome = run_traced(folder, tmp_path / "log", ["begin"], step, ["end"], inject=inject)
        assert outcome.trace.count("(INJECTED)") == 1
        assert outcome.answers[1] == {"fault": "StorageUnavailable"}
        assert Workbench(folder).read("a/log.md") == OLD


def test_a_failed_flush_is_not_tried_again(template, tmp_path):
    """When the temporary's flush fails, that file is given up: one flush, no rename, the old bytes."""
    require_strace()
    shutil.copytree(template, tmp_path / "data")
    outcome = run_traced(
        tmp_path / "data",
        tmp_path / "log",
        ["begin"],
        ["append", "a/log.md", "entry\n"],
        ["end"],
        inject="fsync:error=EIO:when=1+",
    )
    assert outcome.answers[1] == {"fault": "StorageUnavailable"}
    names = [name for name, _ in changing_calls(outcome.trace)]
    assert names.count("fsync") == 1
    assert not any(name.startswith("rename") for name in names)
    assert Workbench(tmp_path / "data").read("a/log.md") == OLD


def test_what_a_write_flushes_and_when(template, tmp_path):
    """The temporary, the version and the request id are flushed before the rename, the folder right after it."""
    require_strace()
    shutil.copytree(template, tmp_path / "data")
    step = ["append", "a/log.md", "entry\n", "r"]
    names = [name for name, _ in changing_calls(run_traced(tmp_path / "data", tmp_path / "log", ["begin"], step).trace)]
    (renamed,) = [index for index, name in enumerate(names) if name.startswith("rename")]
    assert names[:renamed].count("fdatasync") == 2
    assert "fsync" in names[:renamed]
    assert max(index for index, name in enumerate(names[:renamed]) if name == "write") < names.index("fsync")
    assert names[renamed + 1] == "fsync"


def test_a_new_document_is_flushed_up_to_the_root(template, tmp_path):
    """A document in new folders flushes each of them and `documents/`, after its rename."""
    require_strace()
    shutil.copytree(template, tmp_path / "data")
    step = ["append", "x/y/new.md", "entry\n"]
    names = [name for name, _ in changing_calls(run_traced(tmp_path / "data", tmp_path / "log", ["begin"], step).trace)]
    (renamed,) = [index for index, name in enumerate(names) if name.startswith("rename")]
    assert names[renamed + 1 : renamed + 4] == ["fsync"] * 3


def test_a_full_disk_refuses_and_keeps_what_is_there(tmp_path):
    """On a full disk nothing is lost, deleting works, and with room again so does writing."""
    before = own_mount(tmp_path, "size=2m")
    big = "x" * 60_000
    outcome = run(
        tmp_path / "data",
        ["append", "a/log.md", "old\n"],
        ["append", "a/other.md", big],
        ["probe"],
        ["fill", 0],
        ["append", "a/log.md", big],
        ["read", "a/log.md"],
        ["problem"],
        ["probe"],
        ["names"],
        ["versions", "a/log.md"],
        ["empty"],
        ["append", "a/log.md", "entry\n"],
        ["read", "a/log.md"],
        ["problem"],
        ["delete", "a/other.md"],
        ["usage"],
        before=before,
    )
    answers = [answer.get("ack", answer.get("fault")) for answer in outcome.answers]
    assert answers[4:10] == ["StorageFull", "old\n", "the disk is full", "StorageFull", ["a/log.md", "a/other.md"], []]
    assert answers[12:14] == ["old\nentry\n", None]
    assert answers[15] == [1, 10]


def test_a_full_disk_with_a_little_room_leaves_no_half_documents(tmp_path):
    """A write that only partly fits leaves neither a torn file nor its temporary behind."""
    before = own_mount(tmp_path, "size=2m")
    outcome = run(
        tmp_path / "data",
        ["append", "a/log.md", "old\n"],
        ["fill", 20_000],
        ["append", "a/log.md", "x" * 60_000],
        ["read", "a/log.md"],
        ["replace", "b/new.md", "y" * 60_000],
        ["names"],
        ["append", "a/log.md", "entry\n"],
        ["read", "a/log.md"],
        before=before,
    )
    answers = [answer.get("ack", answer.get("fault")) for answer in outcome.answers]
    assert answers[2:6] == ["StorageFull", "old\n", "StorageFull", ["a/log.md"]]
    assert answers[7] == "old\nentry\n", "what room there is was not given back"


def test_a_disk_without_inodes_refuses(tmp_path):
    """Running out of inodes is a full disk too."""
    before = own_mount(tmp_path, "size=2m,nr_inodes=40")
    outcome = run(
        tmp_path / "data",
        *[["append", f"{number}.md", "x\n"] for number in range(40)],
        ["read", "0.md"],
        ["problem"],
        before=before,
    )
    answers = [answer.get("fault", "ack") for answer in outcome.answers]
    assert answers[0] == "ack"
    assert answers[39] == "StorageFull"
    assert outcome.answers[40:] == [{"ack": "x\n"}, {"ack": "the disk is full"}]


def test_a_read_only_disk_refuses_writes_and_serves_reads(tmp_path):
    """Reads go on, writes say that the storage is unavailable, and the operator hears why until it is over."""
    before = own_mount(tmp_path, "size=4m")
    outcome = run(
        tmp_path / "data",
        ["append", "a/log.md", "old\n"],
        ["remount", "ro"],
        ["append", "a/log.md", "entry\n"],
        ["read", "a/log.md"],
        ["problem"],
        ["probe"],
        ["remount", "rw"],
        ["probe"],
        ["problem"],
        ["append", "a/log.md", "entry\n"],
        ["read", "a/log.md"],
        before=before,
    )
    answers = [answer.get("ack", answer.get("fault")) for answer in outcome.answers]
    assert answers[2:6] == ["StorageUnavailable", "old\n", "the file system is read-only", "StorageUnavailable"]
    assert answers[7:9] == [None, None]
    assert answers[10] == "old\nentry\n"
