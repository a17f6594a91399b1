"""Replays recorded tool calls against a running server and says which succeeded, and why the others didn't.

    python bench/replay_traces.py DIR [--server 127.0.0.1:50051]

A trace is a JSON file `{"source": ..., "calls": [{"tool": ..., "arguments": {...}}]}`. Each runs in a fresh scope, so
any server will do; without `--server` one is started on a temporary folder. This is no benchmark of speed and asserts
nothing: a call that an agent got wrong is refused here as well, and the table shows it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from ironclaw.memory.v1 import memory_service_pb2, memory_service_pb2_grpc

CALL_SECONDS = 30.0


@dataclass
class Outcome:
    """How one trace went.

    Attributes:
        name: the file's name.
        succeeded: how many calls had an output.
        failures: how many failed, by tool and reason.
    """

    name: str
    succeeded: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        """How many calls the trace has."""
        return self.succeeded + self.failures.total()

    def row(self) -> str:
        """Return the outcome as a line of the table."""
        why = ", ".join(f"{count} x {reason}" for reason, count in sorted(self.failures.items()))
        return f"| {self.name} | {self.succeeded} of {self.calls} | {why or '-'} |"


def replay(trace: dict[str, Any], name: str, channel: grpc.Channel) -> Outcome:
    """Run a trace's calls in order, in a scope that nobody else uses."""
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    metadata = (("x-ironclaw-tenant-id", f"replay-{uuid.uuid4().hex}"), ("x-ironclaw-user-id", "replay"))
    outcome = Outcome(name)
    for call in trace["calls"]:
        reason = _invoke(stub, call, metadata)
        if reason is None:
            outcome.succeeded += 1
        else:
            outcome.failures[f"{call['tool'].rpartition('.')[2]} {reason}"] += 1
    return outcome


def _invoke(stub: Any, call: dict[str, Any], metadata: tuple[tuple[str, str], ...]) -> str | None:
    """Return None when the tool answered, else why not."""
    request = memory_service_pb2.InvokeToolRequest(
        tool_id=call["tool"], arguments_json=json.dumps(call["arguments"], ensure_ascii=False)
    )
    try:
        answer = stub.InvokeTool(request, metadata=metadata, timeout=CALL_SECONDS)
    except grpc.RpcError as error:
        return str(error.code().name)
    return str(answer.error.reason) if answer.HasField("error") else None


def replay_folder(folder: Path, channel: grpc.Channel) -> Iterator[Outcome]:
    """Replay every trace file of a folder, in the order of their names."""
    for file in sorted(folder.glob("*.json")):
        yield replay(json.loads(file.read_text(encoding="utf-8")), file.name, channel)


@contextmanager
def temporary_server() -> Iterator[str]:
    """Run a server on a temporary folder and yield its address."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ironclaw_memory", "serve", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(Path(folder) / "data"), "--log-level", "error"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            ready = process.stdout.readline()
            try:
                yield ready.partition(" is ready on ")[2].split()[0]
            finally:
                process.terminate()


def print_table(folder: Path, address: str) -> int:
    """Replay the folder against a server and print the table; return how many traces there were."""
    print("| trace | succeeded | the others |\n|---|---|---|")
    count = 0
    with grpc.insecure_channel(address) as channel:
        for outcome in replay_folder(folder, channel):
            print(outcome.row())
            count += 1
    return count


def main() -> int:
    """Read the command line and replay; the exit code is 1 when there was nothing to replay."""
    parser = argparse.ArgumentParser(description="Replay recorded tool calls against a memory server.")
    parser.add_argument("folder", type=Path, help="folder of trace files")
    parser.add_argument("--server", help="address of a running server; without it one is started for the replay")
    arguments = parser.parse_args()
    if arguments.server:
        return 0 if print_table(arguments.folder, arguments.server) else 1
    with temporary_server() as address:
        return 0 if print_table(arguments.folder, address) else 1


if __name__ == "__main__":
    sys.exit(main())
