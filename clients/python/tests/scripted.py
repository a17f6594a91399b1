"""A service whose answers a test writes down beforehand: for failures that a healthy server can't be made to show."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2, message_factory
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from ironclaw.memory.v1 import admin_service_pb2, lifecycle_service_pb2, memory_service_pb2

SILENCE = object()
"""An answer that never comes: the server waits until the caller gives up."""

SERVICES = (
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
    lifecycle_service_pb2.DESCRIPTOR.services_by_name["MemoryLifecycleService"],
    admin_service_pb2.DESCRIPTOR.services_by_name["MemoryAdminService"],
)


@dataclass
class Refusal:
    """A failure as the service sends it; without a reason, as anything else on the way would."""

    code: grpc.StatusCode
    reason: str = ""
    message: str = "No."
    retry_after: float | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    domain: str = "memory.ironclaw"

    def status(self) -> Any:
        """Return what `abort_with_status` takes."""
        details: list[Message] = []
        if self.reason:
            details.append(
                error_details_pb2.ErrorInfo(
                    reason=self.reason, domain=self.domain, metadata={"kind": "input", **self.metadata}
                )
            )
        if self.fields:
            violations = [
                error_details_pb2.BadRequest.FieldViolation(field=name, description=text)
                for name, text in self.fields.items()
            ]
            details.append(error_details_pb2.BadRequest(field_violations=violations))
        if self.retry_after is not None:
            delay = duration_pb2.Duration()
            delay.FromMilliseconds(round(self.retry_after * 1000))
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        packed = []
        for detail in details:
            box = any_pb2.Any()
            box.Pack(detail)
            packed.append(box)
        return rpc_status.to_status(status_pb2.Status(code=self.code.value[0], message=self.message, details=packed))


@dataclass
class Seen:
    """One try as the server got it."""

    method: str
    request: Any
    metadata: dict[str, str | bytes]
    seconds_left: float


@dataclass
class Script:
    """What the server answers, one entry a try, and what it saw."""

    target: str
    answers: list[Any] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def play(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        """Answer one try."""
        metadata = {pair.key: pair.value for pair in context.invocation_metadata()}
        self.seen.append(Seen(method, request, metadata, context.time_remaining()))
        answer = self.answers.pop(0)
        if answer is SILENCE:
            given_up = threading.Event()
            context.add_callback(given_up.set)
            given_up.wait()
        if isinstance(answer, Refusal):
            context.abort_with_status(answer.status())
        return answer


def _handlers(script: Script) -> Iterator[grpc.GenericRpcHandler]:
    for service in SERVICES:
        methods = {}
        for method in service.methods:
            request = message_factory.GetMessageClass(method.input_type)

            def answer(message: Any, context: grpc.ServicerContext, name: str = method.name) -> Any:
                return script.play(name, message, context)

            methods[method.name] = grpc.unary_unary_rpc_method_handler(
                answer, request_deserializer=request.FromString, response_serializer=lambda m: m.SerializeToString()
            )
        yield grpc.method_handlers_generic_handler(service.full_name, methods)


@contextlib.contextmanager
def serve_script(port: int = 0, credentials: grpc.ServerCredentials | None = None) -> Iterator[Script]:
    """Serve a script on loopback until the block ends; on any free port unless told which."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=[("grpc.so_reuseport", int(port > 0))])
    address = f"127.0.0.1:{port}"
    bound = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    script = Script(target=f"127.0.0.1:{bound}")
    server.add_generic_rpc_handlers(list(_handlers(script)))
    server.start()
    try:
        yield script
    finally:
        server.stop(None).wait()
