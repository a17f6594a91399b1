"""The assembly page: which parts there are, how they are joined, and the server's life: start, run, drain, stop.

Threads rather than asyncio: the store blocks in fsync, and measured with it (`bench/server_model.py`) a hop to an
executor costs an asyncio server more than the loop saves. Few of the threads run at once (`call_threads.py`). The store
knows nothing of either but where it waits, so the choice stays open.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc

from ironclaw.memory.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    event_service_pb2,
    event_service_pb2_grpc,
    lifecycle_service_pb2,
    lifecycle_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
)
from ironclaw_memory import reflecting
from ironclaw_memory.addresses import reserve_port
from ironclaw_memory.admittance import describe_admittance, open_authenticator
from ironclaw_memory.catalog import load_catalog, load_curation_guide
from ironclaw_memory.credentials.authenticator import Authenticator
from ironclaw_memory.events.watches import Watches
from ironclaw_memory.health import HealthState
from ironclaw_memory.index.search import IndexSettings, SearchIndex
from ironclaw_memory.interceptors.admission import Admission
from ironclaw_memory.interceptors.deadline import Deadlines
from ironclaw_memory.interceptors.errors import Errors
from ironclaw_memory.interceptors.events import Events
from ironclaw_memory.interceptors.parsing import Parsing
from ironclaw_memory.interceptors.permissions import may_write
from ironclaw_memory.interceptors.rates import CALLS, WRITE_BYTES, Buckets, Rates
from ironclaw_memory.interceptors.refusals import RefusalLog
from ironclaw_memory.interceptors.scope import Scoping
from ironclaw_memory.interceptors.shedding import CountedThreads, Shedding
from ironclaw_memory.memory.changes import DocumentChanges
from ironclaw_memory.memory.context import ContextBuilder
from ironclaw_memory.memory.curation import Curator
from ironclaw_memory.memory.history import Historian
from ironclaw_memory.memory.interactions import InteractionRecorder
from ironclaw_memory.memory.lanes import LaneReader
from ironclaw_memory.memory.profile import ProfileReader, ProfileWriter, ProfileZone
from ironclaw_memory.memory.read import Reader
from ironclaw_memory.memory.search import Searcher
from ironclaw_memory.memory.stats import Statistician
from ironclaw_memory.memory.tree import Lister
from ironclaw_memory.memory.write import Writer
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.recall import RecallGuard
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.services.admin_service import MemoryAdminServicer
from ironclaw_memory.services.event_service import MemoryEventServicer
from ironclaw_memory.services.lifecycle_service import MemoryLifecycleServicer
from ironclaw_memory.services.memory_service import MemoryServicer
from ironclaw_memory.settings import Settings, SettingsError
from ironclaw_memory.stopping import StopRequest
from ironclaw_memory.store.datadir import EVENTS_FOLDER, open_data_dir
from ironclaw_memory.store.documents import DocumentStore, StoreLimits
from ironclaw_memory.tls import CONNECTION_SECONDS, open_certificates
from ironclaw_memory.trail import Trail, open_trail

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

SERVICES: Final = (
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
    lifecycle_service_pb2.DESCRIPTOR.services_by_name["MemoryLifecycleService"],
    admin_service_pb2.DESCRIPTOR.services_by_name["MemoryAdminService"],
    event_service_pb2.DESCRIPTOR.services_by_name["MemoryEventService"],
)
SERVICE_NAMES: Final = tuple(service.full_name for service in SERVICES)
SCOPED: Final = frozenset(f"/{s.full_name}/{m.name}" for s in SERVICES for m in s.methods)
WRITING: Final = frozenset(filter(may_write, SCOPED))
WATCHING: Final = frozenset(m for m in SCOPED if m.endswith("/WatchEvents"))
HEALTH: Final = frozenset(f"/{health.SERVICE_NAME}/{name}" for name in ("Check", "Watch"))
REFLECTION: Final = reflecting.METHODS

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
    trail: Trail
    authenticator: Authenticator
    watches: MemoryEventServicer
    admission: Admission
    health: HealthState


def transport_options(settings: Settings) -> list[tuple[str, int]]:
    """Return the channel arguments of the server; each bounds what one peer can cost."""
    aging = [
        ("grpc.max_connection_age_ms", CONNECTION_SECONDS * 1000),
        ("grpc.max_connection_age_grace_ms", int(settings.max_deadline_seconds * 1000)),
    ]
    return [
        *(aging if settings.tls_certificate else []),
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
        CredentialsError: a file of credentials or certificates can't be used.
        ListenError: the address may not or can't be served.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._certificates = open_certificates(settings)
        self._stop_request = StopRequest()
        self._sweeper_stop = threading.Event()
        self._pool = CountedThreads(settings.max_in_flight + settings.max_watches + MAX_REFLECTIONS + SPARE_THREADS)
        self._server, self._parts = self._assemble()
        self.address = ""

    def _assemble(self) -> tuple[grpc.Server, Parts]:
        settings = self._settings
        authenticator = open_authenticator(settings)  # first: what may not be served leaves no trace
        data_dir = open_data_dir(settings.data_dir)
        store = DocumentStore(data_dir, _limits(settings))
        trail = open_trail(settings, data_dir)
        index = _open_index(settings, store, trail)
        scanner = Scanner()
        policy = PromptWritePolicy(scanner, settings.protected_paths)
        changes = DocumentChanges(
            store,
            index,
            policy,
            settings.document_bytes,
            keeps_versions=settings.version_count > 0,
            strict_sources=frozenset(settings.strict_sources),
        )
        parts = Parts(
            store=store,
            index=index,
            trail=trail,
            authenticator=authenticator,
            watches=MemoryEventServicer(Watches(data_dir.path / EVENTS_FOLDER, data_dir.key())),
            admission=Admission(settings.max_in_flight, SCOPED - WATCHING),
            health=HealthState(SERVICE_NAMES, store.problem, store.probe),
        )
        server = grpc.server(
            cast("ThreadPoolExecutor", self._pool),  # gRPC submits to it and asks for no more
            interceptors=[
                Shedding(settings.max_in_flight, self._pool, SCOPED - WATCHING),
                Errors(SCOPED | REFLECTION),
                Deadlines(settings.default_deadline_seconds, settings.max_deadline_seconds, SCOPED, WATCHING),
                Scoping(SCOPED, HEALTH | REFLECTION, authenticator, RefusalLog(trail.note_refusal)),
                *_rates(settings),
                parts.admission,
                Admission(settings.max_watches, WATCHING),
                Admission(MAX_REFLECTIONS, REFLECTION),
                Events(trail.log, SCOPED),
                Parsing(SCOPED),
            ],
            options=transport_options(settings),
        )
        self._register(server, store, index, changes)
        self._register_lifecycle(server, store, index, changes, scanner)
        event_service_pb2_grpc.add_MemoryEventServiceServicer_to_server(parts.watches, server)
        health_pb2_grpc.add_HealthServicer_to_server(parts.health.servicer, server)
        reflecting.add_reflection(server, (*SERVICE_NAMES, health.SERVICE_NAME))
        return server, parts

    def _register(
        self, server: grpc.Server, store: DocumentStore, index: SearchIndex, changes: DocumentChanges
    ) -> None:
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
            MemoryAdminServicer(
                Historian(store, changes),
                Statistician(store, index),
                document_limit=self._settings.scope_documents,
                size_limit_bytes=self._settings.scope_bytes,
            ),
            server,
        )

    def _register_lifecycle(
        self, server: grpc.Server, store: DocumentStore, index: SearchIndex, changes: DocumentChanges, scanner: Scanner
    ) -> None:
        lanes = LaneReader(store, index)
        turns = self._settings.curation_turns
        lifecycle = MemoryLifecycleServicer(
            lanes=lanes,
            context=ContextBuilder(lanes, RecallGuard(scanner, self._settings.protected_paths)),
            recorder=InteractionRecorder(changes, store, store.curation, turns),
            profiles=ProfileReader(store),
            curator=Curator(store, changes, store.curation, turns),
            guide=load_curation_guide(),
        )
        lifecycle_service_pb2_grpc.add_MemoryLifecycleServiceServicer_to_server(lifecycle, server)

    def start(self) -> str:
        """Begin to serve and return the address, with the port that was taken; called on the main thread.

        From here on SIGTERM and SIGINT let `run` go on: whoever was told the address may end the server at once.

        Raises:
            ListenError: the address is in use or can't be bound.
        """
        self.address = reserve_port(
            self._server, self._settings.listen, self._certificates.credentials() if self._certificates else None
        )
        self._stop_request.heed_signals()
        self._server.start()
        self._parts.health.start()
        self._parts.trail.start()
        threading.Thread(target=self._sweep, name="sweep", daemon=True).start()
        log.info("serving", address=self.address)
        return self.address

    def describe_admittance(self) -> str:
        """Return in a few words who may call."""
        return describe_admittance(self._settings, self._parts.authenticator)

    def _sweep(self) -> None:
        removed = self._parts.store.sweep(self._sweeper_stop)
        if removed:
            log.info("stale temporary files removed", files=removed)

    def run(self) -> None:
        """Serve until SIGTERM, SIGINT or `ask_to_stop`, then drain and stop."""
        self._stop_request.wait()
        self.drain()
        self.stop()

    def ask_to_stop(self) -> None:
        """Let `run` go on to its end; from any thread."""
        self._stop_request.make()

    def drain(self) -> None:
        """Tell the world: health turns NOT_SERVING, and for the drain delay calls are still served."""
        log.info("draining", delay_seconds=self._settings.drain_delay_seconds)
        self._parts.health.drain()
        time.sleep(self._settings.drain_delay_seconds)

    def stop(self) -> None:
        """Close the port, let the calls in flight finish, commits included, and let go of everything."""
        self._sweeper_stop.set()
        self._parts.admission.close()
        self._parts.watches.end_watches()
        self._parts.health.servicer.end_watches()
        stopped = self._server.stop(self._settings.grace_seconds)
        stopped.wait()
        # The call of a client that gave up ends at once, its commit doesn't: wait for what is really running.
        if not self._parts.admission.wait_until_idle(self._settings.grace_seconds):
            log.warning("calls were still running when the grace ended")
        self._parts.index.close()
        self._parts.authenticator.close()
        self._parts.trail.close()
        self._pool.shutdown()
        log.info("stopped")


def _rates(settings: Settings) -> list[Rates]:
    if not settings.tenant_calls_per_second and not settings.tenant_write_bytes_per_second:
        return []
    share = 1 / settings.workers
    calls = Buckets(CALLS, settings.tenant_calls_per_second, share)
    return [Rates(SCOPED, WRITING, calls, Buckets(WRITE_BYTES, settings.tenant_write_bytes_per_second, share))]


def _open_index(settings: Settings, store: DocumentStore, trail: Trail) -> SearchIndex:
    try:
        return SearchIndex(store, IndexSettings(semantic=settings.semantic), indexed=trail.log.note_indexed)
    except ValueError as error:  # the model that the operator insists on can't be loaded
        raise SettingsError(f"semantic: {error}") from None


def _limits(settings: Settings) -> StoreLimits:
    return StoreLimits(
        document_bytes=settings.document_bytes,
        scope_documents=settings.scope_documents,
        scope_bytes=settings.scope_bytes,
        tenant_documents=settings.tenant_documents,
        tenant_bytes=settings.tenant_bytes,
        version_count=settings.version_count,
        version_bytes=settings.version_bytes,
        version_age_days=settings.version_age_days,
        request_hours=settings.request_hours,
    )
