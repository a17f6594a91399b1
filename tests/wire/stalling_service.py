"""A service that takes each tool call for one of `profile_set`, and refuses, stalls or answers it as a test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw.memory.v1 import memory_service_pb2_grpc

STALL_SECONDS = 60.0


@dataclass
class StallingService(memory_service_pb2_grpc.MemoryServiceServicer):
    """What it did.

    Attributes:
        refusals: how many tool calls are refused before one is answered.
        stalls: whether a tool call isn't answered at all.
        address: where it listens.
        request_ids: of each tool call, in order.
        began: set when a tool call has arrived.
        given_up: set when its caller no longer waits.
    """

    refusals: int = 0
    stalls: bool = False
    address: str = ""
    request_ids: list[str] = field(default_factory=list)
    began: threading.Event = field(default_factory=threading.Event)
    given_up: threading.Event = field(default_factory=threading.Event)

    def ListTools(self, request, context):  # noqa: N802
        """Leave hosts to the catalogue that they have."""
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "no catalogue")

    def InvokeTool(self, request, context):  # noqa: N802
        """Refuse, stall or answer."""
        del request
        self.request_ids.append(dict(context.invocation_metadata())["x-ironclaw-request-id"])
        if self.stalls:
            context.add_callback(self.given_up.set)
            self.began.set()
            self.given_up.wait(STALL_SECONDS)
        elif self.refusals > 0:
            self.refusals -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "not yet")
        return wire.InvokeToolResponse(output_json='{"status": "ok"}')


@contextmanager
def stalling_service(*, refusals: int = 0, stalls: bool = False) -> Iterator[StallingService]:
    """Serve on loopback for the block."""
    service = StallingService(refusals, stalls)
    server = grpc.server(ThreadPoolExecutor(4))
    memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(service, server)
    service.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield service
    finally:
        service.given_up.set()
        server.stop(None).wait()
