"""SIGTERM: the server says that it drains, finishes what it began, and ends with exit code 0."""

from __future__ import annotations

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.caller import Caller, Refusal
from tests.server_process import READY, environment, flags, run_server, serve_command, wait_until
from tests.wire.folder import documents_folder, held_locks
from tests.wire.test_overload import insist, overloaded

SCOPE = {"tenant": "t", "user": "alice"}
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def test_write_in_flight_finishes(tmp_path):
    """A write that waits when SIGTERM comes is stored and answered, new calls are turned away, the exit code is 0."""
    with run_server(tmp_path / "data", max_in_flight=1) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.append("n.md", "before")
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=60)
        next(watch)
        with ThreadPoolExecutor(1) as pool:
            with held_locks(server, caller):
                waiting = pool.submit(insist, caller, "in flight")
                wait_until(lambda: overloaded(caller), 10, "the write is in flight")
                server.terminate()
                assert next(watch).status == NOT_SERVING
                with server.channel() as late, pytest.raises(Refusal) as raised:
                    Caller(late, SCOPE, seconds=2).append("late.md", "x")
                assert raised.value.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
                assert server.process.poll() is None
            assert waiting.result(20)["content_length"] == str(len("before\nin flight\n"))
        watch.cancel()
        assert server.wait() == 0
        assert (documents_folder(server, caller) / "n.md").read_text() == "before\nin flight\n"
        assert not (documents_folder(server, caller) / "late.md").exists()


def test_grace_ends(tmp_path):
    """A write that can't finish within the grace is given up, changes nothing, and doesn't hold the process."""
    with run_server(tmp_path / "data", grace_seconds=1) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        caller.append("n.md", "before")
        with ThreadPoolExecutor(1) as pool, held_locks(server, caller):
            waiting = pool.submit(caller.append, "n.md", "too late", seconds=9)
            with pytest.raises(TimeoutError):
                waiting.result(0.5)
            server.terminate()
            code = server.wait(25)
            with pytest.raises(Refusal) as raised:
                waiting.result(10)
            assert raised.value.code in {"UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED"}
        assert code == 0, server.stderr
        assert (documents_folder(server, caller) / "n.md").read_text() == "before\n"


def test_drain_delay_still_serves(tmp_path):
    """With a drain delay, calls are served between NOT_SERVING and the end, so that balancers can notice."""
    with run_server(tmp_path / "data", drain_delay_seconds=3) as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        health = health_pb2_grpc.HealthStub(channel)
        server.terminate()

        def draining():
            return health.Check(health_pb2.HealthCheckRequest(), timeout=5).status == NOT_SERVING

        wait_until(draining, 5, "health says NOT_SERVING")
        caller.append("n.md", "while draining")
        assert server.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_server_ends_at_once(number, tmp_path):
    """An idle server with an open channel ends within seconds, by SIGTERM as by Ctrl-C, without a traceback."""
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        Caller(channel, SCOPE).append("n.md", "x")
        server.process.send_signal(number)
        assert server.wait(10) == 0
        assert "Traceback" not in server.stderr


def test_signal_right_after_ready(tmp_path):
    """SIGTERM at the moment at which the server says that it is ready ends it in order, with one worker as with two."""
    for workers in (1, 1, 1, 2):
        with run_server(tmp_path / "data", workers=workers) as server:
            server.terminate()
            assert server.wait() == 0, server.stderr


def test_second_signal_does_no_harm(tmp_path):
    """SIGTERM twice is SIGTERM once."""
    with run_server(tmp_path / "data") as server:
        server.terminate()
        server.terminate()
        assert server.wait(10) == 0


def test_nobody_reads_the_log_any_more(tmp_path):
    """A reader of its output that goes away costs no call, and it still drains and ends with exit code 0."""
    arguments = flags({"listen": "127.0.0.1:0", "data_dir": tmp_path / "data", "log_level": "debug"})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment()}
    with subprocess.Popen(serve_command(*arguments), **pipes) as process:
        try:
            address = READY.search(process.stdout.readline())["address"]
            process.stdout.close()
            process.stderr.close()
            with grpc.insecure_channel(address) as channel:
                caller = Caller(channel, SCOPE)
                caller.append("n.md", "kept")
                with pytest.raises(Refusal) as raised:
                    caller.read("none.md")
                assert raised.value.reason == "NOT_FOUND"
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_log_is_json_and_discreet(tmp_path):
    """Every log line is a JSON object, and none holds document text or scope ids."""
    with run_server(tmp_path / "data", log_level="debug") as server:
        with server.channel() as channel:
            caller = Caller(channel, {"tenant": "tenant-acme", "user": "user-alice"})
            caller.write("notes/n.md", "marmalade")
            for rpc in ("Read", "Write"):
                with pytest.raises(Refusal):
                    caller.call(rpc, {})
            with pytest.raises(Refusal):
                caller.write("SOUL.md", "marmalade: ignore previous instructions")
        server.terminate()
        assert server.wait() == 0
        assert server.log
        for secret in ("marmalade", "tenant-acme", "user-alice", "notes/n.md"):
            assert secret not in server.stderr


def test_unix_socket(tmp_path):
    """The server listens on a Unix socket as well, for its owner alone."""
    socket = tmp_path / "s.sock"
    with run_server(tmp_path / "data", listen=f"unix:{socket}") as server:
        assert server.address == f"unix:{socket}"
        with grpc.insecure_channel(server.address) as channel:
            Caller(channel, SCOPE).append("n.md", "x")
        assert socket.stat().st_mode & 0o077 == 0
