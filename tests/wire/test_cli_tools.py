"""The shell commands as a person and a script meet them: a child process against a real server."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from ironclaw_memory.cli import main
from tests.caller import new_tenant
from tests.server_process import environment

WRITTEN = "User drinks green tea."


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


def run(*arguments: str | bytes, env: dict[str, str], stdin: bytes = b"") -> Outcome:
    """Run one command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "ironclaw_memory", *arguments],
        input=stdin,
        capture_output=True,
        env=env,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def settings(server) -> dict[str, str]:
    """The environment of a person who set the server and a tenant of their own."""
    return environment({"IRONCLAW_MEMORY_SERVER": server.address, "IRONCLAW_MEMORY_TENANT": new_tenant()})


@pytest.fixture
def memory(settings) -> Callable[..., Outcome]:
    """Run a command in that environment."""
    return lambda *arguments, stdin=b"": run(*arguments, env=settings, stdin=stdin)


@pytest.fixture
def parsed(settings) -> Callable[..., Outcome]:
    """Run a command in this process, which is quicker where only its arguments and its exit matter."""

    def run_here(*arguments: str) -> Outcome:
        done = CliRunner().invoke(main, arguments, env=settings)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Outcome(done.exit_code, done.stdout, done.stderr)

    return run_here


@pytest.fixture
def closed_address() -> Iterator[str]:
    """An address on which nobody listens, held so that nobody will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def silent_address() -> Iterator[str]:
    """An address that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_what_is_written_can_be_read_found_and_listed(memory):
    """The commands say in a line what they did, and show what is there."""
    assert memory("write", WRITTEN, "--target", "memory") == Outcome(0, "Written MEMORY.md, 23 bytes.\n", "")
    assert memory("read", "MEMORY.md") == Outcome(0, WRITTEN + "\n", "")
    assert memory("search", "green tea") == Outcome(0, f"1.00  MEMORY.md\n      {WRITTEN}\n", "")
    assert memory("tree") == Outcome(0, "└── MEMORY.md\n", "")


def test_a_tree_is_drawn(memory):
    """Opened folders show what is in them, with bars to the next of their level."""
    for path in ("a/b/one.md", "a/two.md", "three.md"):
        memory("write", "x", "-t", path)
    drawn = ["├── a/", "│   ├── b/", "│   └── two.md", "└── three.md"]
    assert memory("tree", "--depth", "2").out.splitlines() == drawn
    assert memory("tree", "a/b").out.splitlines() == ["└── one.md"]


def test_nothing_there_is_said_on_standard_error(memory):
    """An empty answer leaves standard output empty for scripts, and is no failure."""
    assert memory("tree") == Outcome(0, "", "Nothing here.\n")
    assert memory("search", "tea") == Outcome(0, "", "Nothing found.\n")


def test_json_is_the_tools_output_on_one_line(memory):
    """`--json` prints what the tool returned to a model, and nothing else."""
    written = memory("write", "one\ntwo", "--target", "notes.md", "--json")
    assert json.loads(written.out) == {"status": "written", "path": "notes.md", "append": True, "content_length": 8}
    assert written.out.count("\n") == 1
    assert json.loads(memory("read", "notes.md", "--json").out)["content"] == "one\ntwo\n"
    assert json.loads(memory("tree", "--json").out) == ["notes.md"]
    assert json.loads(memory("search", "two", "--json").out)["result_count"] == 1
    assert json.loads(memory("profile-set", "--locale", "zh-CN", "--json").out) == {"status": "ok"}


def test_replace_patch_and_their_messages(memory):
    """A replace stores standard input byte for byte; a patch tells its count, and advises on standard error."""
    assert memory("write", "-", "-t", "n.md", "--replace", stdin=b"tea\r\ntea").out == "Written n.md, 8 bytes.\n"
    first = memory("write", "-t", "n.md", "--old", "tea", "--new", "- milk")
    assert first.out == "Patched n.md, 1 replacement, 11 bytes.\n"
    assert first.err.startswith("Advice: ")
    memory("write", "-t", "n.md", "--replace", "a a a")
    assert memory("write", "-t", "n.md", "--old", "a", "--new", "b", "--all").out.startswith(
        "Patched n.md, 3 replacements"
    )
    assert memory("read", "n.md").out == "b b b"
    assert memory("write", "-t", "bootstrap").out == "BOOTSTRAP.md cleared.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["- User drinks tea.", "-t", "n.md"],
        ["-t", "n.md", "- User drinks tea."],
        ["-t", "n.md", "--", "- User drinks tea."],
    ],
)
def test_a_list_item_is_text_and_no_option(memory, arguments):
    """The commonest line of a memory file begins with a dash, wherever it stands on the command line."""
    memory("write", *arguments)
    assert memory("read", "n.md").out == "- User drinks tea.\n"


def test_metadata_is_laid_over_the_document(memory):
    """`--metadata` takes a JSON object that the document keeps: one that isn't indexed isn't found."""
    memory("write", WRITTEN, "-t", "n.md", "--metadata", '{"skip_indexing": true}')
    assert memory("read", "n.md").out == WRITTEN + "\n"
    assert memory("search", "green tea").out == ""


def test_the_scope_comes_from_options_before_the_environment(memory, settings):
    """An agent's memory is its own, whether the agent is named by an option or a variable."""
    memory("write", "x", "-t", "n.md", "--agent", "coder", "--project", "apollo")
    assert memory("tree").out == ""
    named = settings | {"IRONCLAW_MEMORY_AGENT": "coder", "IRONCLAW_MEMORY_PROJECT": "apollo"}
    assert run("tree", env=named).out == "└── n.md\n"
    assert run("tree", "--user", "bob", env=named).out == ""


def test_the_daily_log_takes_a_time_zone(memory):
    """Without a target the entry goes to the daily log of the zone's date."""
    written = memory("write", "x", "--timezone", "Pacific/Kiritimati")
    assert written.out.startswith("Written daily/")


REFUSALS = [
    (("read", "missing.md"), "NOT_FOUND"),
    (("read", "../x"), "INVALID_PATH"),
    (("write", " "), "INVALID_ARGUMENTS"),
    (("write", "-t", "missing.md", "--old", "a", "--new", "b"), "NOT_FOUND"),
    (("write", "x", "-t", "threads/x.md"), "RESERVED_NAMESPACE"),
    (("read", "x", "--user", "a/b"), "SCOPE_INVALID"),
    (("profile-set", "--timezone", "Mars/Olympus"), "INVALID_ARGUMENTS"),
]


@pytest.mark.parametrize(("arguments", "reason"), REFUSALS, ids=[r[1] for r in REFUSALS])
def test_a_refusal_is_one_line_with_its_reason(parsed, arguments, reason):
    """Exit code 1, nothing on standard output even for a script, and `REASON: sentence` on standard error."""
    refused = parsed(*arguments, "--json")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"{reason}: ")
    assert refused.err.count("\n") == 1


MISUSES = [
    ("write",),
    ("write", "x", "--old", "a", "--new", "b"),
    ("write", "--old", "a", "--new", "b", "--replace"),
    ("write", "x", "--all"),
    ("write", "x", "--metadata", "{"),
    ("write", "x", "--metadata", "[]"),
    ("write", "x", "--metadata", "[" * 100_000),
    ("write", "\udcff"),
    ("read", "\udcff"),
    ("read",),
    ("read", "a.md", "--deadline", "0"),
    ("search", "x", "--limit", "0"),
    ("tree", "--depth", "many"),
    ("profile-set",),
    ("write", "--nonsense"),
]


@pytest.mark.parametrize("arguments", MISUSES, ids=[str(n) for n in range(len(MISUSES))])
def test_wrong_usage_is_exit_code_2(parsed, arguments):
    """What can be told wrong without asking the server is said with the usage."""
    misused = parsed(*arguments)
    assert (misused.code, misused.out) == (2, "")
    assert "Error: " in misused.err


def test_standard_input_must_be_text(memory):
    """Bytes that aren't UTF-8 are refused here instead of being stored changed."""
    misused = memory("write", "-", stdin=b"\xff\xfe")
    assert misused.code == 2
    assert "isn't valid UTF-8" in misused.err


def test_a_server_that_isnt_there_is_exit_code_3(closed_address):
    """An unreachable server is told apart from a refusal, by code and by a line that names it."""
    failed = run("read", "a.md", "--server", closed_address, env=environment())
    assert (failed.code, failed.out) == (3, "")
    assert failed.err.startswith(f"UNAVAILABLE: {closed_address} can't be reached: ")


def test_a_deadline_that_passes_is_exit_code_3(silent_address):
    """Time that runs out is the server's trouble or the network's, not a refusal."""
    failed = run("read", "a.md", "--server", silent_address, "--deadline", "0.3", env=environment())
    assert failed.code == 3
    assert failed.err.startswith("DEADLINE_EXCEEDED: ")


def test_output_is_utf8_in_any_locale(settings):
    """A locale without the text's letters doesn't make a command fail or change what it prints."""
    plain = settings | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    run("write", "用户喜欢绿茶。", "-t", "笔记.md", env=settings)
    assert run("read", "笔记.md", env=settings).out == "用户喜欢绿茶。\n"
    assert run("tree", env=plain).out == "└── 笔记.md\n"
    assert json.loads(run("search", "tea", "--json", env=plain).out)["query"] == "tea"


HOSTILE = "one\x1b]0;owned\x07\rtwo\u009b2Jthree\x7f\n\tfour"


def on_terminal(*arguments: str, env: dict[str, str]) -> str:
    """Run a command whose standard output is a terminal, and return what the terminal got."""
    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "ironclaw_memory", *arguments], stdout=slave, env=env) as command:
        os.close(slave)
        got = b""
        try:
            while part := os.read(master, 65_536):
                got += part
        except OSError:  # how Linux says that the other end was closed
            pass
        assert command.wait(60) == 0
    os.close(master)
    return got.decode().replace("\r\n", "\n")


def test_stored_text_cant_drive_a_terminal(memory, settings):
    """On a terminal, control characters show as replacement characters; tab and newline stay."""
    memory("write", "-", "-t", "n.md", "--replace", stdin=HOSTILE.encode())
    expected = "one\ufffd]0;owned\ufffd\ufffdtwo\ufffd2Jthree\ufffd\n\tfour\n"
    assert on_terminal("read", "n.md", env=settings) == expected
    assert "\x1b" not in on_terminal("search", "three", env=settings)
    assert json.loads(on_terminal("read", "n.md", "--json", env=settings))["content"] == HOSTILE
    assert "\u009b" not in on_terminal("read", "n.md", "--json", env=settings)


def test_a_pipe_gets_the_document_byte_for_byte(memory):
    """Into a pipe nothing is added, replaced or translated."""
    memory("write", "-", "-t", "n.md", "--replace", stdin=HOSTILE.encode())
    assert memory("read", "n.md").out == HOSTILE


def test_output_that_cant_be_written_is_said_in_a_sentence(memory, settings):
    """A full disk behind standard output fails the command without a traceback."""
    memory("write", "x", "-t", "n.md")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ironclaw_memory", "read", "n.md"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=settings,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"Error: The output can't be written: No space left on device.\n"


def test_a_reader_that_goes_away_leaves_no_traceback(memory, settings):
    """`read | head -1` ends quietly when the document is longer than the pipe."""
    memory("write", "-", "-t", "n.md", "--replace", stdin=b"x y z\n" * 50_000)
    command = [sys.executable, "-m", "ironclaw_memory", "read", "n.md"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=settings) as reading:
        assert reading.stdout.readline() == b"x y z\n"
        reading.stdout.close()
        assert reading.stderr.read() == b""
