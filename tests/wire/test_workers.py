"""Several processes behind one port, and several servers on one data folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psutil
import pytest

from tests.caller import Caller, Refusal
from tests.server_process import run_server, wait_until

SCOPE = {"tenant": "t", "user": "alice"}
APPENDS = 200


def workers_of(server):
    """Return the processes of the server that hold connections of clients, by id, with how many they hold."""
    port = int(server.address.rpartition(":")[2])
    family = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children(recursive=True)]
    found = {}
    for process in family:
        try:
            connections = process.net_connections(kind="tcp")
        except psutil.NoSuchProcess:
            continue
        held = [c for c in connections if c.laddr and c.laddr.port == port and c.status == psutil.CONN_ESTABLISHED]
        if held:
            found[process.pid] = len(held)
    return found


def test_both_workers_serve(tmp_path):
    """With two workers and many connections both serve, from the same documents."""
    with run_server(tmp_path / "data", workers=2) as server, ExitStack() as open_channels:
        callers = [Caller(open_channels.enter_context(server.channel()), SCOPE) for _ in range(40)]
        callers[0].append("n.md", "fact")
        assert {caller.read("n.md") for caller in callers} == {"fact\n"}
        assert len(workers_of(server)) == 2, "40 connections all went to one process"


def test_request_ids_across_workers(tmp_path):
    """A retry over another connection finds the first try, whichever worker it lands on."""
    with run_server(tmp_path / "data", workers=2) as server:
        answers = []
        for _ in range(20):
            with server.channel() as channel:
                answers.append(Caller(channel, SCOPE).append("n.md", "fact", request_id="r1"))
        assert [answer["replayed"] for answer in answers] == [False] + [True] * 19
        with server.channel() as channel:
            assert Caller(channel, SCOPE).read("n.md") == "fact\n"


def test_sigterm_ends_all_workers(tmp_path):
    """After SIGTERM no process of the server is left."""
    with run_server(tmp_path / "data", workers=2) as server:
        family = psutil.Process(server.process.pid).children(recursive=True)
        assert len(family) >= 2
        server.terminate()
        assert server.wait() == 0
        _, alive = psutil.wait_procs(family, timeout=5)
        assert not alive, [process.cmdline() for process in alive]


def test_killed_worker_is_replaced(tmp_path):
    """A worker that dies is replaced, and calls are served meanwhile and after."""
    with run_server(tmp_path / "data", workers=2) as server:
        with ExitStack() as open_channels:
            callers = [Caller(open_channels.enter_context(server.channel()), SCOPE) for _ in range(40)]
            for caller in callers:
                caller.tree()
            victim, other = sorted(workers_of(server))
        psutil.Process(victim).kill()

        def append_somewhere():
            try:
                with server.channel() as channel:
                    return Caller(channel, SCOPE, seconds=5).append("n.md", "fact", request_id="r1")
            except Refusal as refusal:
                return None if refusal.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"} else pytest.fail(str(refusal))

        wait_until(append_somewhere, 20, "the other worker serves")

        def replaced():
            with ExitStack() as channels:
                try:
                    for _ in range(20):
                        Caller(channels.enter_context(server.channel()), SCOPE, seconds=2).tree()
                except Refusal:
                    return False
                return len(set(workers_of(server)) - {victim}) == 2

        wait_until(replaced, 30, "a new worker serves beside the old one")
        assert psutil.pid_exists(other)


def test_main_process_killed_leaves_no_orphans(tmp_path):
    """When the main process is killed its workers end too: none goes on holding the port."""
    with run_server(tmp_path / "data", workers=2) as server:
        workers = server.crash()
        assert len(workers) >= 2
        _, alive = psutil.wait_procs(workers, timeout=20)
        assert not alive, [process.cmdline() for process in alive]


def test_two_servers_append_to_one_document(tmp_path):
    """Two servers on one data folder, each with 200 appends to one document: 400 lines, none torn, none twice."""
    with (
        run_server(tmp_path / "data") as one, run_server(tmp_path / "data") as two,
        one.channel() as channel_one, two.channel() as channel_two,
    ):  # fmt: skip
        callers = {"one": Caller(channel_one, SCOPE), "two": Caller(channel_two, SCOPE)}

        def append_all(name):
            for number in range(APPENDS):
                callers[name].append("n.md", f"{name} {number}")

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(append_all, callers))
        lines = callers["one"].read("n.md").splitlines()
        assert lines == callers["two"].read("n.md").splitlines()
        for name in callers:
            assert [line for line in lines if line.startswith(name)] == [f"{name} {n}" for n in range(APPENDS)]
        assert len(lines) == 2 * APPENDS
