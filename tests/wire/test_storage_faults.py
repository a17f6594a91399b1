"""A disk that is full or broken: callers get the reason that says so, the old bytes stay, and it heals by itself."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.caller import ADMIN, Caller, Refusal
from tests.server_process import run_server, wait_until
from tests.wire.folder import documents_folder
from tests.wire.refusals import MARKER, check_form, check_silence, refused

SCOPE = {"tenant": "t", "user": "alice"}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(mount)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        assert not os.environ.get("CI"), made.stderr
        pytest.skip("this user may not mount a file system")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def fill(file):
    """Write into `file` until the disk is full."""
    with file.open("wb", buffering=0) as filler:
        try:
            while filler.write(b"\0" * 65536):
                pass
        except OSError:
            return


def test_full_disk(small_disk):
    """On a full disk writes are refused and change nothing, reads go on, and freed space is used at once."""
    with run_server(small_disk / "data") as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.write("n.md", "before")
        fill(small_disk / "filler")
        with refused("STORAGE_FULL", hides=(small_disk,)):
            caller.write("n.md", MARKER * 4000)
        assert caller.read("n.md") == "before"
        assert caller.tree() == ["n.md"]
        assert [p.name for p in documents_folder(server, caller).iterdir()] == ["n.md"]
        (small_disk / "filler").unlink()
        caller.write("n.md", "after")
        assert caller.read("n.md") == "after"
        server.terminate()
        assert server.wait() == 0


@pytest.fixture
def trail_elsewhere(small_disk, tmp_path):
    """Keeps the audit trail off the small disk: the kernel remounts no disk on which a file is open for writing."""
    events = small_disk / "data" / "events"
    events.mkdir(mode=0o700, parents=True)
    events.parent.chmod(0o700)
    (tmp_path / "events").mkdir(mode=0o700)
    subprocess.run(["mount", "--bind", str(tmp_path / "events"), str(events)], check=True)
    yield
    subprocess.run(["umount", str(events)], check=True)


def test_read_only_disk(small_disk, trail_elsewhere):
    """A disk that became read-only refuses writes as unavailable, with a delay, and heals when it is writable again."""
    with run_server(small_disk / "data") as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.write("n.md", "before")
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
        try:
            with refused("STORAGE_UNAVAILABLE", hides=(small_disk,)) as caught:
                caller.write("n.md", MARKER)
            assert caught[0].retry_seconds
            assert caller.read("n.md") == "before"
        finally:
            subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        caller.write("n.md", "after")
        assert caller.read("n.md") == "after"


def test_safety_events_that_cannot_be_kept(tmp_path):
    """Without a record of it a prompt file isn't emptied; ordinary facts are stored all the same."""
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.write("BOOTSTRAP.md", "Hello")
        spoil(server.data_dir / "events")
        with refused("PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE", hides=(tmp_path,)) as caught:
            caller.call("Write", {"target": "bootstrap"})
        assert caught[0].retry_seconds
        assert caller.read("BOOTSTRAP.md") == "Hello"
        caller.append("memory", "likes tea")
        caller.append("notes/n.md", "also fine")


def spoil(folder):
    """Make every file in the folder, and any that may follow, impossible to write."""
    wait_until(folder.is_dir, 5, "there is a folder of events")
    for file in [p for p in folder.rglob("*") if p.is_file()]:
        file.unlink()
        file.mkdir()
        (file / "in-the-way").touch()
    folder.rename(folder.with_name("events-moved"))
    folder.write_text("a file where the folder was")


def test_history_that_cannot_be_kept(tmp_path):
    """When the previous content can't be kept, it isn't replaced."""
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.write("n.md", "one")
        history = documents_folder(server, caller).with_name("history")
        if history.exists():
            history.rename(history.with_name("history-moved"))
        history.write_text("a file where the folder was")
        with pytest.raises(Refusal) as raised:
            caller.write("n.md", MARKER)
        check_form(raised.value)
        check_silence(raised.value, tmp_path)
        assert raised.value.code in {"UNAVAILABLE", "FAILED_PRECONDITION"}
        assert (documents_folder(server, caller) / "n.md").read_text() == "one"
        history.unlink()
        caller.write("n.md", "two")
        assert caller.call(f"{ADMIN}/ListVersions", {"path": "n.md"})["versions"]
