"""Health as orchestrators ask for it: liveness under the empty name, readiness under each service's name.

Liveness doesn't depend on the disk or on load, or a full disk would have every process killed. Readiness turns
NOT_SERVING while writes can't be served, and for good once the server drains.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import structlog
from grpc_health.v1 import health, health_pb2

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

log = structlog.get_logger("ironclaw_memory.health")


class EndingHealthServicer(health.HealthServicer):
    """The standard servicer, whose open watches end when the server drains instead of holding up its stop."""

    def __init__(self) -> None:
        super().__init__(experimental_thread_pool=ThreadPoolExecutor(2, thread_name_prefix="health"))
        self._open_watches = threading.Lock()
        self._watches: set[Callable[[Any], None]] = set()  # guarded by _open_watches

    def Watch(  # noqa: N802
        self, request: Any, context: grpc.ServicerContext, send_response_callback: Callable[[Any], None] | None = None
    ) -> Any:
        """Stream the status of a service as it changes, until the caller leaves or the server drains."""
        if send_response_callback is not None:
            watch = send_response_callback
            with self._open_watches:
                self._watches.add(watch)
            context.add_callback(lambda: self._forget(watch))
        return super().Watch(request, context, send_response_callback)

    def _forget(self, watch: Callable[[Any], None]) -> None:
        with self._open_watches:
            self._watches.discard(watch)

    def end_watches(self) -> None:
        """Close every open watch."""
        with self._open_watches:
            watches = tuple(self._watches)
        for watch in watches:
            watch(None)


class HealthState:
    """Decides what the servicer answers.

    Args:
        services: full names of the services whose readiness follows the storage.
        problem: tells why writes can't be served now; None when they can.
        probe: tries the storage; raises when it can't be written.
        interval_seconds: how often a problem is looked for and, while there is one, the storage tried again.
    """

    def __init__(
        self,
        services: tuple[str, ...],
        problem: Callable[[], str | None],
        probe: Callable[[], None],
        interval_seconds: float = 0.5,
    ) -> None:
        self.servicer = EndingHealthServicer()
        self._services = services
        self._problem = problem
        self._probe = probe
        self._interval_seconds = interval_seconds
        self._stopped = threading.Event()
        self._shown: str | None = None
        self._watcher = threading.Thread(target=self._watch, name="health-watch", daemon=True)

    def start(self) -> None:
        """Answer SERVING for every name, and begin to watch the storage."""
        for name in ("", *self._services, health.SERVICE_NAME):
            self.servicer.set(name, SERVING)
        self._watcher.start()

    def drain(self) -> None:
        """Answer NOT_SERVING for every name, for good."""
        self._stopped.set()
        self.servicer.enter_graceful_shutdown()

    def _watch(self) -> None:
        while not self._stopped.wait(self._interval_seconds):
            self._show(self._find_problem())

    def _find_problem(self) -> str | None:
        if self._problem() is not None:
            try:
                self._probe()  # clears the problem when the storage has come back
            except Exception as error:  # whatever it is, the storage isn't well
                log.debug("storage probe failed", error=type(error).__name__)
        return self._problem()

    def _show(self, problem: str | None) -> None:
        if problem == self._shown:
            return
        self._shown = problem
        status = SERVING if problem is None else NOT_SERVING
        for name in self._services:
            self.servicer.set(name, status)
        log.warning("readiness changed", serving=problem is None, problem=problem)
