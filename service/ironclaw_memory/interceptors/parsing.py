"""Parses requests inside the handler, where the errors interceptor sees a failure.

Left to gRPC, bytes that aren't the message are answered INTERNAL with a text of the library's; they are the caller's
fault and answered (INVALID_ARGUMENT, REQUEST_MALFORMED).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from ironclaw_memory.contract.faults import RequestMalformed
from ironclaw_memory.interceptors.around import Handler, behaviour_of, with_behaviour

_MALFORMED = "The request isn't the message that this method takes, or its text isn't UTF-8."


class Parsing(grpc.ServerInterceptor):
    """The innermost interceptor: from here outward, requests are bytes.

    Args:
        methods: full names of the methods that it is about; the errors interceptor must cover them.
    """

    def __init__(self, methods: frozenset[str]) -> None:
        self._methods = methods

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the handler with its parsing moved inside."""
        handler = continuation(handler_call_details)
        if handler is None or handler_call_details.method not in self._methods or handler.request_deserializer is None:
            return handler
        parse, inner = handler.request_deserializer, behaviour_of(handler)
        if handler.request_streaming:
            return with_behaviour(
                handler, lambda requests, context: inner(_parse_each(parse, requests), context), parsed_inside=True
            )
        return with_behaviour(
            handler, lambda request, context: inner(_parse(parse, request), context), parsed_inside=True
        )


def _parse(parse: Callable[[bytes], Any], request: bytes) -> Any:
    try:
        return parse(request)
    except (DecodeError, ValueError):  # ValueError: the text of a string field isn't UTF-8
        raise RequestMalformed(_MALFORMED) from None


def _parse_each(parse: Callable[[bytes], Any], requests: Iterator[bytes]) -> Iterator[Any]:
    for request in requests:
        yield _parse(parse, request)
