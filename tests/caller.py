"""Calls by name, from the descriptors alone: what any host sees of the service, without the product's own client.

Every service of the package `ironclaw.memory.v1` whose generated code is there can be called; none is listed by hand.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status

import ironclaw.memory.v1

PACKAGE = "ironclaw.memory.v1"
MEMORY = f"{PACKAGE}.MemoryService"
ADMIN = f"{PACKAGE}.MemoryAdminService"
DOMAIN = "memory.ironclaw"
AXES = ("tenant", "user", "agent", "project", "thread")


def _load_services() -> dict[str, ServiceDescriptor]:
    names = (m.name for m in pkgutil.iter_modules(ironclaw.memory.v1.__path__) if m.name.endswith("_pb2"))
    files = [importlib.import_module(f"{PACKAGE}.{name}").DESCRIPTOR for name in names]
    return {service.full_name: service for file in files for service in file.services_by_name.values()}


SERVICES: dict[str, ServiceDescriptor] = _load_services()
METHODS: dict[str, MethodDescriptor] = {
    f"{service}/{method.name}": method for service, descriptor in SERVICES.items() for method in descriptor.methods
}
ENDLESS_METHODS = frozenset({f"{PACKAGE}.MemoryEventService/WatchEvents"})
"""Streams that go on for as long as their caller likes."""
UNARY_METHODS = {name: m for name, m in METHODS.items() if not m.client_streaming and not m.server_streaming}


class ServiceMissingError(Exception):
    """The generated code has no such service or method, or the server doesn't serve it."""


@dataclass(eq=False)  # not frozen: Python itself sets an exception's traceback
class Refusal(Exception):
    """A call's error, taken apart.

    Attributes:
        code: the status code's name.
        message: the status text.
        reason: of `ErrorInfo`; empty when the status carries none.
        metadata: of `ErrorInfo`.
        fields: the fields that `BadRequest` blames.
        retry_seconds: of `RetryInfo`; None without one.
        details: how many details the status has.
        raw: everything that came over the wire, as text, to search for what shouldn't be there.
    """

    code: str
    message: str
    reason: str = ""
    domain: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    retry_seconds: float | None = None
    details: int = 0
    raw: str = ""

    def __str__(self) -> str:
        return f"{self.code} {self.reason} {list(self.fields)}: {self.message}"

    @property
    def kind(self) -> str:
        """Who can mend it: `input`, `operation` or `unavailable`."""
        return self.metadata.get("kind", "")


def refusal_of(error: grpc.RpcError) -> Refusal:
    """Take apart what a failed call raised."""
    status = rpc_status.from_call(error)
    told = (repr(error), str(status), repr(error.trailing_metadata()), repr(error.initial_metadata()))
    refusal = Refusal(code=error.code().name, message=error.details() or "", raw="\n".join(told))
    for detail in status.details if status else ():
        refusal = _add_detail(refusal, detail)
    return refusal


def _add_detail(refusal: Refusal, detail: Any) -> Refusal:
    refusal = replace(refusal, details=refusal.details + 1)
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    if detail.Unpack(info):
        return replace(refusal, reason=info.reason, domain=info.domain, metadata=dict(info.metadata))
    if detail.Unpack(bad):
        return replace(refusal, fields=tuple(v.field for v in bad.field_violations))
    if detail.Unpack(retry):
        return replace(refusal, retry_seconds=retry.retry_delay.ToTimedelta().total_seconds())
    return refusal


class ToolRefusal(Exception):
    """A tool's in-band error."""

    def __init__(self, kind: str, reason: str, message: str) -> None:
        super().__init__(f"{kind} {reason}: {message}")
        self.kind, self.reason, self.message = kind, reason, message


_numbers = itertools.count(1)


def new_tenant() -> str:
    """Return a tenant id that no other test uses, in this process or beside it."""
    return f"tenant-{os.getpid()}-{next(_numbers)}"


def scope_metadata(scope: Mapping[str, str | None]) -> list[tuple[str, str | bytes]]:
    """Return the metadata of a scope; a value that isn't plain printable ASCII travels in its `-bin` key."""
    return [_metadata_pair(f"x-ironclaw-{axis}-id", value) for axis, value in scope.items() if value is not None]


def _metadata_pair(key: str, value: str) -> tuple[str, str | bytes]:
    plain = value == value.strip(" ") and all(" " <= c <= "~" for c in value)
    return (key, value) if plain else (f"{key}-bin", value.encode("utf-8"))


def message_class(descriptor: Any) -> type[Message]:
    """Return the class of a message's descriptor."""
    return message_factory.GetMessageClass(descriptor)


def as_dict(message: Message) -> dict[str, Any]:
    """Return a message as protobuf JSON with the proto's own field names and the defaults spelled out."""
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


@dataclass(frozen=True)
class Caller:
    """Calls in one scope over one channel."""

    channel: grpc.Channel
    scope: Mapping[str, str | None]
    seconds: float | None = 20.0

    def within(self, **axes: str | None) -> Caller:
        """Return a caller that differs in these axes; None leaves the axis out."""
        return replace(self, scope={**self.scope, **axes})

    def metadata(self, request_id: str | None = None) -> list[tuple[str, str | bytes]]:
        """Return this scope's metadata, and the idempotency key when given."""
        pairs = scope_metadata(self.scope)
        return pairs if request_id is None else [*pairs, ("x-ironclaw-request-id", request_id)]

    def call(
        self,
        rpc: str,
        request: Mapping[str, Any] | Message | None = None,
        *,
        request_id: str | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Make a call and return the answer as protobuf JSON.

        Args:
            rpc: `Write` of the memory service, or `package.Service/Method`.
            request: the message, or its protobuf JSON.
            request_id: the idempotency key.
            seconds: the deadline.

        Raises:
            Refusal: the call failed.
            ServiceMissingError: there is no such method.
        """
        method = method_named(rpc)
        if not isinstance(request, Message):
            request = json_format.ParseDict(dict(request or {}), message_class(method.input_type)())
        body = request.SerializeToString()
        answer = self.send(rpc, body, self.metadata(request_id), seconds=seconds or self.seconds)
        return as_dict(message_class(method.output_type).FromString(answer))

    def send(
        self, rpc: str, body: bytes, metadata: Iterable[tuple[str, str | bytes]], *, seconds: float | None = None
    ) -> bytes:
        """Send bytes as they are and return the answer's; no scope is added.

        Raises:
            Refusal: the call failed.
        """
        name = rpc if "/" in rpc else f"{MEMORY}/{rpc}"
        return exchange(self.channel, name, [body], metadata, seconds=seconds or self.seconds)[0]

    def tool(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool as a model would, `write` or its full id, and return its output.

        Raises:
            ToolRefusal: the tool answered with an error in band.
            Refusal: the call failed.
        """
        tool_id = tool if "." in tool else f"ironclaw.memory.{tool}"
        return self.invoke(tool_id, json.dumps(arguments, ensure_ascii=False))

    def invoke(self, tool_id: str, arguments_json: str) -> Any:
        """Call `InvokeTool` with the arguments as text.

        Raises:
            ToolRefusal: the tool answered with an error in band.
            Refusal: the call failed.
        """
        answer = self.call("InvokeTool", {"tool_id": tool_id, "arguments_json": arguments_json})
        if error := answer.get("error"):
            raise ToolRefusal(error["kind"], error["reason"], error["message"])
        return json.loads(answer["output_json"])

    def write(self, target: str, content: str, **arguments: Any) -> dict[str, Any]:
        """Replace a document, unless `append=True`; `request_id` and `seconds` as in `call`."""
        options = {name: arguments.pop(name) for name in ("request_id", "seconds") if name in arguments}
        return self.call("Write", {"target": target, "content": content, "append": False, **arguments}, **options)

    def append(self, target: str, content: str, **options: Any) -> dict[str, Any]:
        """Append an entry to a document; options as in `call`."""
        return self.call("Write", {"target": target, "content": content}, **options)

    def read(self, path: str) -> str:
        """Return a document's text."""
        return self.call("Read", {"path": path})["content"]

    def tree(self, depth: int = 10) -> list[Any]:
        """Return the whole tree, in the shape of the tool."""
        return self.tool("tree", depth=depth)


def exchange(
    channel: grpc.Channel,
    name: str,
    bodies: Iterable[bytes],
    metadata: Iterable[tuple[str, str | bytes]],
    *,
    seconds: float | None,
) -> list[bytes]:
    """Send bytes to a method of any arity and return the bytes of its answers, of an endless one those of the first.

    An unknown method counts as unary.

    Raises:
        Refusal: the call failed.
    """
    method = METHODS.get(name)
    options: dict[str, Any] = {"timeout": seconds, "metadata": tuple(metadata)}
    try:
        if method is None or not (method.client_streaming or method.server_streaming):
            return [channel.unary_unary(f"/{name}")(*bodies, **options)]
        if not method.client_streaming:
            stream = channel.unary_stream(f"/{name}")(*bodies, **options)
            answers = [next(stream)] if name in ENDLESS_METHODS else list(stream)
            stream.cancel()
            return answers
        if not method.server_streaming:
            return [channel.stream_unary(f"/{name}")(iter(bodies), **options)]
        return list(channel.stream_stream(f"/{name}")(iter(bodies), **options))
    except grpc.RpcError as error:
        raise refusal_of(error) from None


def method_named(rpc: str) -> MethodDescriptor:
    """Return the descriptor of `Method` of the memory service or of `package.Service/Method`.

    Raises:
        ServiceMissingError: there is no such method.
    """
    name = rpc if "/" in rpc else f"{MEMORY}/{rpc}"
    try:
        return METHODS[name]
    except KeyError:
        raise ServiceMissingError(name) from None
