"""Turns what is done before and after a call into a server interceptor that covers calls and streams alike.

A wrapper for unary calls alone would silently let a streaming method through unscoped; here all four kinds share one
path, and a kind that gRPC may add is refused loudly. There are seven of these around each call, so `enter` and `leave`
are plain methods: as context managers they took longer than a read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import grpc

Behaviour = Callable[[Any, grpc.ServicerContext], Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # quoted: generic for the type checker only


class Around(grpc.ServerInterceptor, ABC):
    """Runs the methods it is given between `enter` and `leave`, and passes any other on untouched.

    `intercept_service` is called by gRPC for each call, on its one serving thread, so what it makes is kept by method;
    unknown methods, of which a client can invent any number, are not kept.

    Args:
        methods: full names, with slashes, of the methods that this concern is about.
    """

    def __init__(self, methods: frozenset[str]) -> None:
        self._methods = methods
        self._handlers: dict[str, Handler] = {}

    @abstractmethod
    def enter(self, method: str, context: grpc.ServicerContext) -> Any:
        """Do what comes before the handler of `method`, a full name with slashes; on the call's thread.

        Returns what `leave` needs. What is raised refuses the call, and `leave` isn't run then.
        """

    def leave(self, entered: Any) -> None:
        """Undo it, however the handler ended. `entered` is what `enter` returned."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the method's handler with this concern around it, or None for an unknown method."""
        method: str = handler_call_details.method
        kept = self._handlers.get(method)
        if kept is not None:
            return kept
        handler = continuation(handler_call_details)
        if handler is None or method not in self._methods:
            return handler
        wrapped = self._handlers[method] = self.wrap(method, handler)
        return wrapped

    def wrap(self, method: str, handler: Handler) -> Handler:
        """Return a handler of the same kind that runs between `enter` and `leave`."""
        inner = behaviour_of(handler)
        surround = self.streaming if handler.response_streaming else self.answering
        return with_behaviour(handler, surround(method, inner))

    def answering(self, method: str, inner: Behaviour) -> Behaviour:
        """Surround a method with one answer."""

        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            entered = self.enter(method, context)
            try:
                return inner(request, context)
            finally:
                self.leave(entered)

        return answer

    def streaming(self, method: str, inner: Behaviour) -> Behaviour:
        """Surround a method that answers with a stream."""

        def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            entered = self.enter(method, context)
            try:
                yield from inner(request, context)
            finally:
                self.leave(entered)

        return stream


def behaviour_of(handler: Handler) -> Behaviour:
    """Return the one function of a handler that serves its kind of method."""
    for behaviour in (handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream):
        if behaviour is not None:
            return behaviour
    raise TypeError("a method handler without a behaviour")


def with_behaviour(handler: Handler, behaviour: Behaviour, *, parsed_inside: bool = False) -> Handler:
    """Return a handler of the same kind around another behaviour.

    Args:
        handler: the handler to imitate.
        behaviour: what shall serve the method.
        parsed_inside: whether the behaviour takes the request's bytes and parses them itself.
    """
    make = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }[handler.request_streaming, handler.response_streaming]
    return make(
        behaviour,
        request_deserializer=None if parsed_inside else handler.request_deserializer,
        response_serializer=handler.response_serializer,
    )
