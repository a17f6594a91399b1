"""Holds each tenant to its rates of calls and of bytes to be written, before anything is looked up.

A bucket refills steadily and holds one second's worth, so short bursts pass. A request larger than the bucket passes
when the bucket is full and leaves a debt that must be paid off first. Buckets are this process's own: each of several
workers gives an equal share of the limit, and a tenant with one connection, which stays with one worker, gets one
share.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc

from ironclaw_memory.contract.faults import RateLimited
from ironclaw_memory.interceptors.around import Around, Behaviour, Handler, behaviour_of, with_behaviour
from ironclaw_memory.interceptors.call import CALLER

CALLS: Final = "calls_per_second"
WRITE_BYTES: Final = "write_bytes_per_second"
MAX_TENANTS: Final = 10_000
"""Buckets kept; the tenant that called longest ago goes first, and starts afresh with a full one."""

ROUNDING: Final = 1e-6
"""A caller that waited exactly as long as it was told must pass."""


class Buckets:
    """One token bucket a tenant.

    Args:
        rate: what the limit is called in refusals.
        limit: tokens a second for all processes together; 0 for no limit.
        share: which part of the limit is this process's, above 0 and at most 1.
        now: a clock in seconds.
    """

    def __init__(self, rate: str, limit: float, share: float, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._limit = limit
        self._refill = limit * share
        self._full = max(1.0, self._refill)
        self._now = now
        self._lock = threading.Lock()
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # guarded by _lock: level, and when

    def take(self, tenant: str, tokens: int) -> None:
        """Take tokens when the bucket has at least one, or is full; it may go below zero by it.

        Raises:
            RateLimited: it has none; nothing was taken.
        """
        if not self._limit:
            return
        with self._lock:
            now = self._now()
            level, then = self._levels.pop(tenant, (self._full, now))
            level = min(self._full, level + (now - then) * self._refill)
            enough = level + ROUNDING >= min(tokens, self._full)
            self._levels[tenant] = (level - tokens if enough else level, now)
            if len(self._levels) > MAX_TENANTS:
                self._levels.popitem(last=False)
        if not enough:
            raise RateLimited(self._rate, self._limit, (min(tokens, self._full) - level) / self._refill)


class Rates(Around):
    """Counts calls, and the bytes of requests that carry text to be stored.

    Args:
        methods: full names of the methods that are counted.
        writing: those among them whose requests' bytes are counted too.
        calls: a bucket of calls.
        write_bytes: a bucket of bytes.
    """

    def __init__(self, methods: frozenset[str], writing: frozenset[str], calls: Buckets, write_bytes: Buckets) -> None:
        super().__init__(methods)
        self._writing = writing
        self._calls = calls
        self._write_bytes = write_bytes

    def enter(self, method: str, context: grpc.ServicerContext) -> None:
        """Count the call."""
        del method, context
        self._calls.take(CALLER.get().scope.tenant, 1)

    def wrap(self, method: str, handler: Handler) -> Handler:
        """Count the requests' bytes as well, which are not parsed yet here."""
        if method not in self._writing:
            return super().wrap(method, handler)
        weigh = self._weigh_each if handler.request_streaming else self._weigh
        return super().wrap(method, with_behaviour(handler, _weighed(weigh, behaviour_of(handler))))

    def _weigh(self, request: bytes) -> bytes:
        self._write_bytes.take(CALLER.get().scope.tenant, len(request))
        return request

    def _weigh_each(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        tenant = CALLER.get().scope.tenant
        for request in requests:
            self._write_bytes.take(tenant, len(request))
            yield request


def _weighed(weigh: Callable[[Any], Any], inner: Behaviour) -> Behaviour:
    return lambda request, context: inner(weigh(request), context)
