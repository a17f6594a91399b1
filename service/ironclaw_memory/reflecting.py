"""Server reflection, so that tools such as grpcurl and ghz need no proto files.

The library's servicer speaks v1alpha only and doesn't find methods by their full name, which the protocol allows and
ghz asks for; both are made up for here. v1 has the same messages under another name.
"""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha import reflection, reflection_pb2

V1: Final = "grpc.reflection.v1.ServerReflection"
SERVICE_NAMES: Final = (reflection.SERVICE_NAME, V1)
METHOD: Final = "ServerReflectionInfo"
METHODS: Final = frozenset(f"/{name}/{METHOD}" for name in SERVICE_NAMES)


class MethodFindingPool:
    """The pool of all descriptors, which also finds a file by the full name of a method in it."""

    def __init__(self) -> None:
        self._pool = descriptor_pool.Default()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:  # noqa: N802  # the pool's own name
        """Return the file that defines a message, enum, service, field or method.

        Raises:
            KeyError: there is no such thing.
        """
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            service = self._pool.FindServiceByName(symbol.rpartition(".")[0])
            if symbol.rpartition(".")[2] not in service.methods_by_name:
                raise
            return service.file


def add_reflection(server: grpc.Server, service_names: tuple[str, ...]) -> None:
    """Let the server describe these services, and reflection itself, in both versions of the protocol."""
    names = (*service_names, *SERVICE_NAMES)
    servicer = reflection.ReflectionServicer(names, pool=MethodFindingPool())
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for name in SERVICE_NAMES:
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {METHOD: handler}),))
