"""`ironclaw-memory audit` on the data folder of a real server: verify, tail and export."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.caller import Caller
from tests.server_process import environment, run_server, start_server

ALICE = {"tenant": "acme", "user": "alice"}


def command(*arguments):
    return [sys.executable, "-m", "ironclaw_memory", "audit", *map(str, arguments)]


def audit(*arguments, code=0, text=None):
    """Run the command; return its output and what it says on the side."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, env=environment(), input=text, timeout=60, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def records(*arguments):
    return [json.loads(line) for line in audit(*arguments)[0].splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data folder of a server that served two tenants and stopped; its log lies beside it."""
    data = tmp_path_factory.mktemp("audit") / "data"
    with run_server(data) as server:
        with server.channel() as channel:
            Caller(channel, ALICE).write("notes/tea.md", "likes tea")
            Caller(channel, ALICE).append("memory", "User prefers tea")
            Caller(channel, {"tenant": "other", "user": "bob"}).write("notes/tea.md", "dislikes tea")
            Caller(channel, ALICE).call("Search", {"query": "tea"})
        server.terminate()
        assert server.wait() == 0
    data.with_name("server.log").write_text(server.stderr)
    return data


def test_verify_accepts_what_was_written(folder):
    """An untouched trail verifies, with the server's own log as anchors, and says up to where they reach."""
    log = folder.with_name("server.log")
    out, err = audit("verify", "--data-dir", folder, "--anchors", log)
    assert "complete, anchored up to record" in out
    assert out.endswith("1 file, 8 records, 0 problems.\n")
    assert err == ""
    (file,) = [json.loads(line) for line in audit("verify", "--data-dir", folder, "--json")[0].splitlines()]
    assert (file["ending"], file["records"], file["anchored"]) == ("closed", 8, 0)


def test_verify_finds_a_change_and_a_cut(folder, tmp_path):
    """Exit code 1 and a sentence for a changed record; a cut end shows against the log from standard input."""
    (file,) = (folder / "events").glob("*.jsonl")
    whole = file.read_bytes()
    try:
        file.write_bytes(whole.replace(b'"size_bytes":9', b'"size_bytes":8'))
        _, err = audit("verify", "--data-dir", folder, code=1)
        assert "a record was changed" in err
        file.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
        out, _ = audit("verify", "--data-dir", folder)
        assert "--anchors LOGFILE would show it" in out
        log = folder.with_name("server.log").read_text()
        _, err = audit("verify", "--data-dir", folder, "--anchors", "-", code=1, text=log)
        assert "the end is missing: an anchor knows record 8" in err
    finally:
        file.write_bytes(whole)


def test_export_chooses_by_tenant_kind_path_and_time(folder):
    """Every restriction holds, and what comes out is the records as JSON lines, in the order of time."""
    everything = records("export", "--data-dir", folder)
    assert [r["time"] for r in everything] == sorted(r["time"] for r in everything)
    assert len(everything) == 8
    assert {r["scope"]["tenant"] for r in records("export", "--data-dir", folder, "--tenant", "acme")} == {"acme"}
    written = records("export", "--data-dir", folder, "--kind", "written", "--path", "notes/tea.md")
    assert [r["scope"]["tenant"] for r in written] == ["acme", "other"]
    middle = everything[4]["time"]
    before = records("export", "--data-dir", folder, "--until", middle)
    after = records("export", "--data-dir", folder, "--since", middle)
    assert before + after == everything
    assert records("export", "--data-dir", folder, "--since", datetime(2999, 1, 1, tzinfo=UTC).isoformat()) == []


def test_nothing_that_is_printed_tells_a_text_or_a_path(folder):
    """The trail names documents and contents by hashes alone."""
    for arguments in (("export",), ("tail", "-n", "99"), ("verify",)):
        out, _ = audit(*arguments, "--data-dir", folder)
        assert "tea" not in out


def test_tail_prints_the_last_and_follows(tmp_path):
    """The last records first, then each that a server adds."""
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, ALICE)
        caller.write("n.md", "one")
        process = subprocess.Popen(
            command("tail", "-n", "1", "-f", "--data-dir", tmp_path / "data", "--kind", "written"),
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        try:
            assert json.loads(process.stdout.readline())["size_bytes"] == 3
            caller.write("n.md", "three")
            assert json.loads(process.stdout.readline())["size_bytes"] == 5
        finally:
            process.kill()
            process.communicate()


def test_a_killed_server_s_trail_is_mended_by_the_next(tmp_path):
    """After SIGKILL and a torn tail, the next server sets the tail aside, says so, and the trail verifies."""
    server = start_server(tmp_path / "data")
    with server.channel() as channel:
        Caller(channel, ALICE).write("n.md", "x")
    server.kill()
    (file,) = (tmp_path / "data" / "events").glob("*.jsonl")
    with file.open("ab") as torn:
        torn.write(b'{"format":1,"sequ')
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        Caller(channel, ALICE).write("n.md", "y")
        assert any(line["event"] == "audit_file_mended" for line in server.log)
    out, _ = audit("verify", "--data-dir", tmp_path / "data")
    assert "its process died, 17 torn bytes set aside" in out
    assert "2 files, 6 records, 0 problems." in out
    assert len(list((tmp_path / "data" / "events").glob("*.torn"))) == 1


def test_wrong_usage_is_said(tmp_path):
    """A folder that is none, a time and a path that aren't end with exit code 2, and nothing is made."""
    _, err = audit("verify", "--data-dir", tmp_path, code=2)
    assert "no data folder" in err
    assert list(tmp_path.iterdir()) == []


def test_times_and_paths_are_checked(folder):
    """What can't be understood is refused before anything is printed."""
    assert "no time" in audit("export", "--data-dir", folder, "--since", "yesterday", code=2)[1]
    assert "--path" in audit("export", "--data-dir", folder, "--path", "../x", code=2)[1]
