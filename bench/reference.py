"""What the service is compared with: gRPC servers whose handler does nothing.

`python -m bench.reference bare` is `grpc.server` with the service's thread pool and channel options, no interceptor,
and a `Read` that parses its request and answers an empty message. `python -m bench.reference surrounded` is the
service's own server, interceptors and all, with that handler in place of its own; what is between the two is the
interceptors'.
"""

from __future__ import annotations

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw_memory.logs import set_up_logs
from ironclaw_memory.server import MAX_REFLECTIONS, SPARE_THREADS, Server, transport_options
from ironclaw_memory.settings import Settings

SERVICE_NAME = "ironclaw.memory.v1.MemoryService"


def register_methods(server: Any, methods: dict[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
    """Give a server these methods of `MemoryService`, by the two calls that generated code makes."""
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE_NAME, methods),))
    server.add_registered_method_handlers(SERVICE_NAME, methods)


def register_empty(server: Any) -> None:
    """Give a server the handler that does nothing, in the place of Read."""

    def answer(request: wire.ReadRequest, context: grpc.ServicerContext) -> wire.ReadResponse:
        del request, context
        return wire.ReadResponse()

    handler = grpc.unary_unary_rpc_method_handler(
        answer,
        request_deserializer=wire.ReadRequest.FromString,
        response_serializer=wire.ReadResponse.SerializeToString,
    )
    register_methods(server, {"Read": handler})


class SurroundedServer(Server):
    """The service's own server without its services."""

    @staticmethod
    def _register(server: grpc.Server, *_parts: Any) -> None:
        register_empty(server)


def serve_bare(settings: Settings) -> None:
    """Serve the empty handler and nothing around it until SIGTERM."""
    pool = ThreadPoolExecutor(settings.max_in_flight + MAX_REFLECTIONS + SPARE_THREADS)
    server = grpc.server(pool, options=transport_options(settings))
    register_empty(server)
    port = server.add_insecure_port(settings.listen)
    server.start()
    announce(f"127.0.0.1:{port}")
    wait_for_end()
    server.stop(None).wait()


def serve_surrounded(settings: Settings) -> None:
    """Serve the empty handler inside the service's interceptors until SIGTERM."""
    set_up_logs(settings.log_level)
    server = SurroundedServer(settings)
    announce(server.start())
    server.run()


def loopback_settings(data_dir: Path) -> Settings:
    """Return the service's defaults on a free port of loopback."""
    return Settings.model_validate({"listen": "127.0.0.1:0", "data_dir": data_dir})


def announce(address: str) -> None:
    """Tell the parent where we listen."""
    print(f"reference is ready on {address}", flush=True)


def wait_for_end() -> None:
    """Return at SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait()


KINDS = {"bare": serve_bare, "surrounded": serve_surrounded}

if __name__ == "__main__":
    KINDS[sys.argv[1]](loopback_settings(Path(sys.argv[2])))
