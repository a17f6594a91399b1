"""The assembly page: which parts there are, how they are joined, and the server's life: start, run, drain, stop.

Threads rather than asyncio: the store blocks in fsync, and measured with it (`bench/server_model.py`) a hop to an
executor costs an asyncio server more than the loop saves. The store knows neither, so the choice stays open.
"""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from ironclaw.memory.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
)

from ironclaw_memory.addresses import check_exposure, reserve_port
from ironclaw_memory.catalog import load_catalog
from ironclaw_memory.events.safety_log import SafetyLog
from ironclaw_memory.health import HealthState
from ironclaw_memory.index.search import SearchIndex
from ironclaw_memory.interceptors.admission import Admission
from ironclaw_memory.interceptors.deadline import Deadlines
from ironclaw_memory.interceptors.errors import Errors
from ironclaw_memory.interceptors.parsing import Parsing
from ironclaw_memory.interceptors.safety_events import SafetyEvents
from ironclaw_memory.interceptors.scope import Scoping
from ironclaw_memory.memory.changes import DocumentChanges
from ironclaw_memory.memory.history import Historian
from ironclaw_memory.memory.profile import ProfileWriter, ProfileZone
from ironclaw_memory.memory.read import Reader
from ironclaw_memory.memory.search import Searcher
from ironclaw_memory.memory.tree import Lister
from ironclaw_memory.memory.write import Writer
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.services.admin_service import MemoryAdminServicer
from ironclaw_memory.services.memory_service import MemoryServicer
from ironclaw_memory.settings import Settings
from ironclaw_memory.store.datadir import open_data_dir
from ironclaw_memory.store.documents import DocumentStore, StoreLimits

SERVICES: Final = (
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
    admin_service_pb2.DESCRIPTOR.services_by_name["MemoryAdminService"],
)
SERVICE_NAMES: Final = tuple(service.full_name for service in SERVICES)
SCOPED: Final = frozenset(f"/{s.full_name}/{m.name}" for s in SERVICES for m in s.methods)
HEALTH: Final = frozenset(f"/{health.SERVICE_NAME}/{name}" for name in ("Check", "Watch"))
REFLECTION: Final = frozenset({f"/{reflection.SERVICE_NAME}/ServerReflectionInfo"})

SPARE_THREADS: Final = 8
"""Beyond the calls in flight: so that a refusal and a health check always find a thread at once."""

MAX_REFLECTIONS: Final = 4
"""A reflection stream holds a thread for as long as its caller likes."""

log = structlog.get_logger("ironclaw_memory.server")


@dataclass(frozen=True)
class Parts:
    """What the assembly made and the server's life needs."""

    store: DocumentStore
    index: SearchIndex
    events: SafetyEvents
    admission: Admission
    health: HealthState


def transport_options(settings: Settings) -> list[tuple[str, int]]:
    """Return the channel arguments of the server; each bounds what one peer can cost."""
    return [
        ("grpc.so_reuseport", int(settings.workers > 1)),  # else two servers would silently share a port
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.max_metadata_size", 8192),
        ("grpc.absolute_max_metadata_size", 16384),
        ("grpc.max_concurrent_streams", 256),
        ("grpc.keepalive_time_ms", 60_000),  # finds dead peers within minutes instead of hours
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),  # the key that core reads; not min_recv_...
        ("grpc.server_handshake_timeout_ms", 5_000),
    ]


class Server:
    """One process's server.

    Args:
        settings: how to run; `listen` may be overridden by `start`.

    Raises:
        DataDirError: the data folder can't be used.
        ListenError: the address may not or can't be served.
    """

    def __init__(self, settings: Settings) -> None:
        check_exposure(settings.listen)
        self._settings = settings
        self._stop_asked = threading.Event()
        self._sweeper_stop = threading.Event()
        self._pool = ThreadPoolExecutor(
            settings.max_in_flight + MAX_REFLECTIONS + SPARE_THREADS, thread_name_prefix="call"
        )
        self._server, self._parts = self._assemble()
        self.address = ""

    def _assemble(self) -> tuple[grpc.Server, Parts]:
        settings = self._settings
        data_dir = open_data_dir(settings.data_dir)
        store = DocumentStore(data_dir, _limits(settings))
        index = SearchIndex(store)
        policy = PromptWritePolicy(Scanner(), settings.protected_paths)
        changes = DocumentChanges(store, index, policy, settings.document_bytes)
        sink = SafetyLog(data_dir.path / "events", data_dir.key(), max_bytes=settings.safety_log_bytes)
        parts = Parts(
            store=store,
            index=index,
            events=SafetyEvents(sink, SCOPED),
            admission=Admission(settings.max_in_flight, SCOPED),
            health=HealthState(SERVICE_NAMES, store.problem, store.probe),
        )
        server = grpc.server(
            self._pool,
            interceptors=[
                Errors(SCOPED | REFLECTION),
                Deadlines(settings.default_deadline_seconds, settings.max_deadline_seconds, SCOPED),
                Scoping(SCOPED, HEALTH | REFLECTION),
                parts.admission,
                Admission(MAX_REFLECTIONS, REFLECTION),
                parts.events,
                Parsing(SCOPED),
            ],
            options=transport_options(settings),
        )
        self._register(server, store, index, changes)
        health_pb2_grpc.add_HealthServicer_to_server(parts.health.servicer, server)
        reflection.enable_server_reflection((*SERVICE_NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server, parts

    @staticmethod
    def _register(server: grpc.Server, store: DocumentStore, index: SearchIndex, changes: DocumentChanges) -> None:
        memory = MemoryServicer(
            writer=Writer(changes, ProfileZone(store)),
            reader=Reader(store),
            searcher=Searcher(index),
            lister=Lister(store),
            profiles=ProfileWriter(changes),
            catalog=load_catalog(),
        )
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(memory, server)
        admin_service_pb2_grpc.add_MemoryAdminServiceServicer_to_server(
            MemoryAdminServicer(Historian(store, changes)), server
        )

    def start(self) -> str:
        """Begin to serve and return the address, with the port that was taken.

        Raises:
            ListenError: the address is in use or can't be bound.
        """
        self.address = reserve_port(self._server, self._settings.listen)
        self._server.start()
        self._parts.health.start()
        threading.Thread(target=self._sweep, name="sweep", daemon=True).start()
        log.info("serving", address=self.address)
        return self.address

    def _sweep(self) -> None:
        removed = self._parts.store.sweep(self._sweeper_stop)
        if removed:
            log.info("stale temporary files removed", files=removed)

    def run(self) -> None:
        """Serve until SIGTERM, SIGINT or `ask_to_stop`, then drain and stop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.ask_to_stop())
        self._stop_asked.wait()
        self.drain()
        self.stop()

    def ask_to_stop(self) -> None:
        """Let `run` go on to its end; safe in a signal handler and from any thread."""
        self._stop_asked.set()

    def drain(self) -> None:
        """Tell the world: health turns NOT_SERVING, and for the drain delay calls are still served."""
        log.info("draining", delay_seconds=self._settings.drain_delay_seconds)
        self._parts.health.drain()
        time.sleep(self._settings.drain_delay_seconds)

    def stop(self) -> None:
        """Close the port, let the calls in flight finish, commits included, and let go of everything."""
        self._sweeper_stop.set()
        self._parts.admission.close()
        self._parts.health.servicer.end_watches()
        stopped = self._server.stop(self._settings.grace_seconds)
        stopped.wait()
        # The call of a client that gave up ends at once, its commit doesn't: wait for what is really running.
        if not self._parts.admission.wait_until_idle(self._settings.grace_seconds):
            log.warning("calls were still running when the grace ended")
        self._parts.index.close()
        self._parts.events.close()
        self._pool.shutdown(wait=False)
        log.info("stopped")


def _limits(settings: Settings) -> StoreLimits:
    return StoreLimits(
        document_bytes=settings.document_bytes,
        scope_documents=settings.scope_documents,
        scope_bytes=settings.scope_bytes,
        version_count=settings.version_count,
        version_bytes=settings.version_bytes,
        version_age_days=settings.version_age_days,
        request_hours=settings.request_hours,
    )
