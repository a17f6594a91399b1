"""The stdio transport as a process: what it prints, how it ends, and the server that it starts with --data-dir."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from ironclaw_memory.cli import main
from tests.caller import new_tenant
from tests.server_process import environment, wait_until
from tests.wire.mcp_host import command, error, over_stdio, run_to_its_end
from tests.wire.stalling_service import STALL_SECONDS, stalling_service

STOP_SECONDS = 40.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(tool: str, arguments: dict[str, object], number: int = 2) -> dict[str, object]:
    """Return a tool call as a message."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for sockets, whose paths may not be long: pytest's own are."""
    with tempfile.TemporaryDirectory(prefix="mcp-") as folder:
        yield Path(folder)


class RawHost:
    """A host that writes and reads lines itself.

    Attributes:
        process: the child.
    """

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command(*arguments), **pipes, env=environment(env))

    def send(self, *messages: dict[str, object] | bytes) -> None:
        """Write messages, a line each; bytes as they are."""
        for message in messages:
            self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, object]:
        """Read a line, which must be a message."""
        return json.loads(self.process.stdout.readline())

    def open(self) -> dict[str, object]:
        """Shake hands, and return the answer."""
        self.send(INITIALIZE)
        answer = self.receive()
        self.send(INITIALIZED)
        return answer

    def end(self) -> tuple[int, bytes, str]:
        """Close standard input and wait for the end; return the exit code and what was left on the standard streams."""
        out, err = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, out, err.decode()


@contextmanager
def raw_host(*arguments: str, env: dict[str, str] | None = None) -> Iterator[RawHost]:
    """Run the command for the block, and end it for certain."""
    host = RawHost(*arguments, env=env)
    try:
        yield host
    finally:
        host.process.kill()
        host.process.wait()
        for stream in (host.process.stdin, host.process.stdout, host.process.stderr):
            stream.close()


@pytest.fixture
def options(server) -> tuple[str, ...]:
    """The shared server, in a tenant of its own."""
    return ("--server", server.address, "--tenant", new_tenant())


def test_it_ends_when_standard_input_does(options):
    """Nothing but messages is printed, and the end of standard input is an orderly one."""
    with raw_host(*options) as host:
        assert host.open()["result"]["serverInfo"]["name"] == "ironclaw-memory"
        host.send(call("ironclaw_memory_tree", {}))
        assert host.receive()["result"]["content"] == [{"type": "text", "text": "[]"}]
        assert host.end() == (0, b"", "")


def test_what_isnt_a_message_ends_nothing(options):
    """Garbage, empty lines, a message in pieces and one after another in a piece: the session goes on."""
    message = json.dumps(call("ironclaw_memory_read", {"path": "绿.md"}, 7), ensure_ascii=False).encode()
    with raw_host(*options) as host:
        host.open()
        host.send(b"nonsense\n", b"\xff\xfe\n", b"\n", b"{}\n", b"[1, 2]\n", message[:70])
        host.send(message[70:], b"\n", message.replace(b'"id": 7', b'"id": 8') + b"\n" + message + b"\n")
        answers = [host.receive() for _ in range(3)]
        assert sorted(answer["id"] for answer in answers) == [7, 7, 8]
        assert all("NOT_FOUND" in answer["result"]["content"][0]["text"] for answer in answers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_the_host_still_holds_the_pipe(number):
    """Also with a call in flight, which is cancelled; the exit code is 0."""
    with stalling_service(stalls=True) as service:
        arguments = ("--server", service.address, "--deadline", str(STALL_SECONDS))
        with raw_host(*arguments) as host:
            host.open()
            host.send(call("ironclaw_memory_profile_set", {"locale": "de"}))
            assert service.began.wait(STALL_SECONDS)
            host.process.send_signal(number)
            assert host.process.wait(STOP_SECONDS) == 0
            assert service.given_up.wait(STALL_SECONDS / 2)
            assert b"Traceback" not in host.process.stderr.read()


def test_a_host_that_stops_reading_ends_it(options):
    """A broken pipe is the host's end, not a fault."""
    with raw_host(*options) as host:
        host.open()
        host.process.stdout.close()
        host.send(call("ironclaw_memory_tree", {}))
        assert host.process.wait(STOP_SECONDS) == 0
        assert host.process.stderr.read() == b""


def family(host: RawHost) -> list[psutil.Process]:
    """Return the processes that the command started."""
    return psutil.Process(host.process.pid).children(recursive=True)


def test_a_data_folder_is_served_without_a_server(tmp_path, scratch):
    """One command is enough: it starts a server of its own, which is gone with it and leaves no socket behind."""
    with raw_host("--data-dir", str(tmp_path / "data"), env={"TMPDIR": str(scratch)}) as host:
        host.open()
        host.send(call("ironclaw_memory_write", {"target": "memory", "content": "User likes tea."}))
        assert host.receive()["result"]["structuredContent"]["path"] == "MEMORY.md"
        (started,) = family(host)
        (folder,) = scratch.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        host.process.terminate()
        assert host.process.wait(STOP_SECONDS) == 0
        assert not started.is_running()
        assert list(scratch.iterdir()) == []
    (document,) = (tmp_path / "data").rglob("MEMORY.md")
    assert document.read_text() == "User likes tea.\n"


def test_a_signal_while_the_server_starts_leaves_nothing_behind(tmp_path, scratch):
    """A host that changes its mind at once is obeyed at once."""
    with raw_host("--data-dir", str(tmp_path / "data"), env={"TMPDIR": str(scratch)}) as host:
        wait_until(lambda: list(scratch.iterdir()), STOP_SECONDS, "the socket's folder")
        host.process.terminate()
        assert host.process.wait(STOP_SECONDS) == 0
        assert list(scratch.iterdir()) == []


def test_a_killed_host_takes_its_server_along(tmp_path, scratch):
    """However this process ends, no server stays behind."""
    with raw_host("--data-dir", str(tmp_path / "data"), env={"TMPDIR": str(scratch)}) as host:
        host.open()
        (started,) = family(host)
        host.process.kill()
        wait_until(lambda: not started.is_running(), STOP_SECONDS, "the server's end")


@pytest.mark.asyncio
async def test_two_hosts_share_a_data_folder(tmp_path, scratch):
    """Each with a server of its own: what one notes the other reads."""
    data, env = ("--data-dir", str(tmp_path / "data")), {"TMPDIR": str(scratch)}
    async with over_stdio(*data, env=env) as one, over_stdio(*data, env=env) as other:
        await one.call_tool("ironclaw_memory_write", {"target": "n.md", "content": "from one"})
        await other.call_tool("ironclaw_memory_write", {"target": "n.md", "content": "from other"})
        read = await one.call_tool("ironclaw_memory_read", {"path": "n.md"})
    assert read.structured_content["content"] == "from one\nfrom other\n"


@pytest.mark.asyncio
async def test_the_private_server_is_configured_by_the_environment(tmp_path, scratch):
    """Settings hold there too, but for how it listens."""
    env = {"IRONCLAW_MEMORY_DOCUMENT_BYTES": "1024", "IRONCLAW_MEMORY_LISTEN": "0.0.0.0:1"}
    async with over_stdio("--data-dir", str(tmp_path / "data"), env=env | {"TMPDIR": str(scratch)}) as client:
        large = await client.call_tool("ironclaw_memory_write", {"target": "n.md", "content": "x" * 2000})
    assert error(large)["reason"] == "DOCUMENT_TOO_LARGE"


def test_a_folder_that_cant_be_served_is_said(tmp_path):
    """Exit code 2, the server's own line, and nothing on standard output."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "VERSION").write_text("nonsense\n")
    (data / "tenants").write_text("in the way")
    with raw_host("--data-dir", str(data)) as host:
        code, out, err = host.end()
    assert (code, out) == (2, b"")
    assert "can't be served" in err
    assert "Traceback" not in err


MISUSES = [
    (("--data-dir", "d", "--server", "127.0.0.1:1"), {}, "leave out"),
    (("--data-dir", "d"), {"IRONCLAW_MEMORY_DOCUMENT_BYTES": "many"}, "document_bytes"),
    (("--server", "memory.example:1"), {"IRONCLAW_MEMORY_TOKEN": "secret"}, "in the clear"),
    ((), {"IRONCLAW_MEMORY_TOKEN": "secret, with spaces"}, "printable ASCII"),
    (("--json",), {}, "No such option"),
]


@pytest.mark.parametrize(("arguments", "env", "said"), MISUSES, ids=[said for _, _, said in MISUSES])
def test_wrong_usage_is_exit_code_2(arguments, env, said):
    """What can't work is said before a host is spoken to."""
    refused = run_to_its_end(*arguments, env=env)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert "secret" not in refused.stderr


def test_a_folder_too_deep_for_a_socket_is_said(tmp_path):
    """The system's own words for it would tell nobody what to do."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    refused = run_to_its_end("--data-dir", str(tmp_path / "data"), env={"TMPDIR": str(deep)})
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "TMPDIR" in refused.stderr
    assert list(deep.iterdir()) == []


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    """The package is optional, and its lack isn't a traceback."""
    monkeypatch.setattr("ironclaw_memory.cli.mcp.find_spec", lambda _name: None)
    refused = CliRunner().invoke(main, ["mcp"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "pip install 'ironclaw-memory[mcp]'" in refused.stderr
