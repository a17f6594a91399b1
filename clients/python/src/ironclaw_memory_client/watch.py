"""A watch as both clients keep it: what to ask for, where it stands, and when to try again. Pure; nobody waits here.

A watch is meant to outlive connections and servers. When one ends, the next try sends the cursor of the last message,
so nothing is missed and nothing comes twice. The tries are counted anew with each message: what is bounded is how long
a service may be away, not how often.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import grpc

from ironclaw.memory.v1 import event_service_pb2 as wire

from . import conversion, results
from .credentials import credential_metadata
from .failure import error_of
from .options import CallOptions, Defaults
from .retry import Tries
from .scope import Metadata, call_metadata

_PREFIX = "EVENT_KIND_"


class Watch:
    """One watch and its place.

    Args:
        defaults: what the client was made with; its deadline isn't a watch's.
        options: of the call.
        cursor: where to go on; empty for from now on.
        whole_tenant: whether all scopes of the tenant are meant.
        kinds: which kinds of event; none for all.

    Raises:
        ValueError: there is no such kind of event.
    """

    def __init__(
        self, defaults: Defaults, options: CallOptions, *, cursor: str, whole_tenant: bool, kinds: Iterable[str]
    ) -> None:
        self._defaults = defaults
        self._options = options
        self._request = wire.WatchEventsRequest(
            cursor=cursor, whole_tenant=whole_tenant, kinds=[_kind_name(kind) for kind in kinds]
        )
        self._expires_at = time.monotonic() + options.get("deadline", math.inf)
        self._tries = self._fresh_tries()

    def request(self) -> wire.WatchEventsRequest:
        """Return the request of the next try."""
        return self._request

    def metadata(self) -> Metadata:
        """Return the metadata of the next try; a token that is called for is asked anew."""
        scope = self._options.get("scope", self._defaults.scope)
        metadata = call_metadata(scope, correlation_id=self._options.get("correlation_id"))
        return metadata + credential_metadata(self._defaults.token)

    def seconds_left(self) -> float | None:
        """Return what is left of the caller's time; None without a deadline."""
        return None if math.isinf(self._expires_at) else max(0.0, self._expires_at - time.monotonic())

    def take(self, message: wire.WatchEventsResponse) -> results.WatchedEvent:
        """Note the place of a message and return what it tells."""
        self._request.cursor = message.cursor
        self._tries = self._fresh_tries()
        return conversion.to_watched_event(message)

    def delay_after(self, failure: grpc.RpcError) -> float:
        """Return the seconds to wait before the next try.

        Raises:
            MemoryServiceError: there shall be none.
        """
        error = error_of(failure)
        delay = self._tries.delay_after(error, time.monotonic())
        if delay is None:
            raise error from failure
        return delay

    def _fresh_tries(self) -> Tries:
        return Tries(self._defaults.retry, self._expires_at, changes=False, conditional=False)


def _kind_name(kind: str) -> str:
    name = _PREFIX + kind.upper()
    if name not in wire.EventKind.keys() or kind == "unspecified":  # noqa: SIM118  # not a mapping
        raise ValueError(f"{kind!r} is no kind of event")
    return name
