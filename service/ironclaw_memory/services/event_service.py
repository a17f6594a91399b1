"""`MemoryEventService`: the audit trail, live."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import grpc

from ironclaw.memory.v1 import event_service_pb2 as wire
from ironclaw.memory.v1 import event_service_pb2_grpc as stubs
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.grant import Permission
from ironclaw_memory.events.watches import Watches
from ironclaw_memory.interceptors.call import current_call
from ironclaw_memory.services import event_messages as messages

RECHECK_SECONDS: Final = 1.0
"""How long a watch outlives its credential at most."""

PATIENCE_SECONDS: Final = 1.0
"""How long a stopping server lets a watch end by itself, before it cancels one that is stuck in a slow caller."""


class MemoryEventServicer(stubs.MemoryEventServiceServicer):
    """Serves `ironclaw.memory.v1.MemoryEventService`; each method is documented in the proto."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._changed = threading.Condition()
        self._streams: set[grpc.ServicerContext] = set()  # guarded by _changed

    def end_watches(self) -> None:
        """End every watch: one that waits for events at once, one whose caller doesn't read after a moment."""
        self._watches.end()
        with self._changed:
            self._changed.wait_for(lambda: not self._streams, PATIENCE_SECONDS)
            for stream in self._streams:
                stream.cancel()

    def WatchEvents(  # noqa: N802
        self, request: wire.WatchEventsRequest, context: grpc.ServicerContext
    ) -> Iterator[wire.WatchEventsResponse]:
        """Stream events until the caller leaves."""
        call = current_call()
        if request.whole_tenant:
            call.require(Permission.EVENTS)
        wanted = messages.wanted(call, request)
        with self._counted(context):
            for seen in self._watches.follow(request.cursor, wanted, _Check(call)):
                yield messages.watch_response(seen)

    @contextmanager
    def _counted(self, stream: grpc.ServicerContext) -> Iterator[None]:
        with self._changed:
            self._streams.add(stream)
        try:
            yield
        finally:
            with self._changed:
                self._streams.discard(stream)
                self._changed.notify_all()


class _Check:
    """Ends a watch whose caller left, ran out of time, or lost its credential."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._proven_at = time.monotonic()

    def __call__(self) -> None:
        self._call.deadline.check()
        now = time.monotonic()
        if now - self._proven_at >= RECHECK_SECONDS:
            self._call.recheck()
            self._proven_at = now
