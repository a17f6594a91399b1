"""Threads or asyncio: the same store behind `grpc.server` with a thread pool and behind `grpc.aio`, measured in turns.

Each server has three methods without interceptors: an empty one, Read and Write by the service's own use cases.

- threads: `grpc.server`, every call on a thread of the pool
- asyncio: `grpc.aio`, reads on the event loop itself, writes (which wait for the disk) on an executor
- asyncio, executor: `grpc.aio`, reads on the executor too, so that a slow disk can't stop the loop

What it finds decides the model of `ironclaw_memory.server`.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from bench import corpus, report
from bench.caller import call_repeatedly
from bench.index_cost import NullIndex, NullRecorder
from bench.processes import ServerProcess, worker
from bench.reference import announce, loopback_settings, register_methods, wait_for_end
from bench.rig import FULL, QUICK, Rig
from bench.sample import take_turns
from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.memory.changes import DocumentChanges
from ironclaw_memory.memory.profile import ProfileZone
from ironclaw_memory.memory.read import Reader
from ironclaw_memory.memory.write import Writer
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.server import MAX_REFLECTIONS, SPARE_THREADS, transport_options
from ironclaw_memory.services import messages
from ironclaw_memory.settings import Settings
from ironclaw_memory.store.datadir import open_data_dir
from ironclaw_memory.store.documents import DocumentStore, StoreLimits

SCOPE = corpus.SeededScope("model", 100)

Serve = Callable[[Any], Any]


class Handlers:
    """The three methods as plain blocking functions.

    Args:
        settings: where the data are.
    """

    def __init__(self, settings: Settings) -> None:
        store = DocumentStore(open_data_dir(settings.data_dir), StoreLimits())
        policy = PromptWritePolicy(Scanner(), ())
        self._reader = Reader(store)
        self._writer = Writer(DocumentChanges(store, NullIndex(), policy, settings.document_bytes), ProfileZone(store))

    @staticmethod
    def _call() -> Call:
        return Call(SCOPE.scope, None, None, "bench", Deadline.after(10.0), NullRecorder())

    def empty(self, _request: Any) -> wire.ReadResponse:
        """Do nothing."""
        return wire.ReadResponse()

    def read(self, request: wire.ReadRequest) -> wire.ReadResponse:
        """Read a document."""
        return messages.read_response(self._reader.read(self._call(), request.path))

    def write(self, request: wire.WriteRequest) -> wire.WriteResponse:
        """Write one."""
        return messages.write_response(self._writer.write(self._call(), messages.write_arguments(request)))

    def table(self) -> dict[str, tuple[Serve, type[Any]]]:
        """Return the methods by name, each with its request's class."""
        return {
            "Tree": (self.empty, wire.ReadRequest),
            "Read": (self.read, wire.ReadRequest),
            "Write": (self.write, wire.WriteRequest),
        }


def register(server: Any, handlers: Handlers, adapt: Callable[[str, Serve], Any]) -> None:
    """Give a server the three methods, each adapted to the server's kind."""
    methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        name: grpc.unary_unary_rpc_method_handler(
            adapt(name, serve),
            request_deserializer=request.FromString,
            response_serializer=lambda response: response.SerializeToString(),
        )
        for name, (serve, request) in handlers.table().items()
    }
    register_methods(server, methods)


def serve_threads(settings: Settings) -> None:
    """Serve with `grpc.server` until SIGTERM."""
    server = grpc.server(ThreadPoolExecutor(_threads(settings)), options=transport_options(settings))
    register(server, Handlers(settings), lambda _name, serve: lambda request, _context: serve(request))
    port = server.add_insecure_port(settings.listen)
    server.start()
    announce(f"127.0.0.1:{port}")
    wait_for_end()
    server.stop(None).wait()


def serve_asyncio(settings: Settings, *, inline: frozenset[str]) -> None:
    """Serve with `grpc.aio` until SIGTERM, the methods named by `inline` on the event loop itself."""
    pool = ThreadPoolExecutor(_threads(settings))

    def adapt(name: str, serve: Serve) -> Callable[[Any, Any], Awaitable[Any]]:
        async def here(request: Any, _context: Any) -> Any:
            return serve(request)

        async def on_executor(request: Any, _context: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(pool, serve, request)

        return here if name in inline else on_executor

    async def run() -> None:
        server = grpc.aio.server(options=transport_options(settings))
        register(server, Handlers(settings), adapt)
        port = server.add_insecure_port(settings.listen)
        await server.start()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        announce(f"127.0.0.1:{port}")
        await ended.wait()
        await server.stop(None)

    asyncio.run(run())


def _threads(settings: Settings) -> int:
    return settings.max_in_flight + MAX_REFLECTIONS + SPARE_THREADS


MODELS: dict[str, Callable[[Settings], None]] = {
    "threads": serve_threads,
    "asyncio": partial(serve_asyncio, inline=frozenset({"Tree", "Read"})),
    "asyncio, executor": partial(serve_asyncio, inline=frozenset({"Tree"})),
}


def compare(rig: Rig) -> None:
    """Measure the models in turns and print what came out."""
    with ExitStack() as running:
        servers = {}
        for model in MODELS:
            data_dir = corpus.new_data_dir(rig.folder / model)
            corpus.seed_scope(data_dir, SCOPE)
            arguments = ("-m", "bench.server_model", "--serve", model, "--data-dir", str(data_dir))
            servers[model] = running.enter_context(ServerProcess(*arguments))
        reads, writes = partial(corpus.reads, SCOPE), partial(corpus.writes, SCOPE)
        for concurrency in rig.plan.concurrency:
            for method, prepare in (("Tree", reads), ("Read", reads), ("Write", writes)):
                subjects = {m: rig.calls(server, method, prepare, concurrency) for m, server in servers.items()}
                _print(method, concurrency, take_turns(subjects, rig.plan.rounds))


def _print(method: str, concurrency: int, samples: Any) -> None:
    header = ("", "calls/s", "p50", "p99", "server CPU", "of threads")
    rows = [
        (model, *map(report.figure, (s.rate, s.p50_us, s.p99_us, s.server_us)), f"{s.over(samples['threads']):.2f}")
        for model, s in samples.items()
    ]
    shown = "empty handler" if method == "Tree" else method
    report.print_table(f"{shown}, {concurrency} in flight (microseconds)", header, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models, or serve one of them."""
    parser = argparse.ArgumentParser(prog="python -m bench.server_model", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rougher figures")
    parser.add_argument("--folder", type=Path, help="where to put the data (default: the current folder)")
    parser.add_argument("--serve", choices=list(MODELS), help=argparse.SUPPRESS)
    parser.add_argument("--data-dir", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.serve:
        MODELS[chosen.serve](loopback_settings(chosen.data_dir))
        return
    report.print_machine()
    with (
        tempfile.TemporaryDirectory(prefix=".bench-", dir=chosen.folder or Path.cwd()) as folder,
        worker(call_repeatedly) as caller,
    ):
        compare(Rig(QUICK if chosen.quick else FULL, Path(folder), caller))


if __name__ == "__main__":
    main()
