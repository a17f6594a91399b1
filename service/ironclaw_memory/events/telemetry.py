"""Sends the records of the trail to an OpenTelemetry collector, as log records, beside the files.

A copy for dashboards and alarms, and nothing to rely on: what the collector doesn't take in time is dropped here, while
the files have it. Nothing waits for the network, neither calls nor, for more than a moment, the stop of the server.

Needs the extra `otel`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import structlog

from ..contract.events import ChangeKind
from ..contract.safety import EventKind

SCOPE_NAME: Final = "ironclaw_memory.audit"
PREFIX: Final = "ironclaw."
FLUSH_SECONDS: Final = 2.0
"""How long a stopping server tries to get rid of what is waiting."""

ALARMING: Final = frozenset({EventKind.REJECTED.value, EventKind.WARNED.value, ChangeKind.CREDENTIAL_REFUSED.value})
"""Kinds that are sent with severity WARN; the others are INFO."""

_log = structlog.get_logger(__name__)


class TelemetryMissing(Exception):
    """The extra `otel` isn't installed. The message is for the operator."""


class Telemetry:
    """An observer of the trail.

    Args:
        exporter: where log records go, as OpenTelemetry's SDK has it.
        version: of the service, for the resource.
    """

    def __init__(self, exporter: Any, version: str = "") -> None:
        from opentelemetry._logs import SeverityNumber  # noqa: PLC0415  # an extra
        from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415

        _hear_of_troubles()
        resource = Resource.create({"service.name": "ironclaw-memory", "service.version": version})
        self._provider = LoggerProvider(resource, shutdown_on_exit=False)
        self._provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        self._logger = self._provider.get_logger(SCOPE_NAME)
        self._severities = {True: SeverityNumber.WARN, False: SeverityNumber.INFO}

    def __call__(self, members: Mapping[str, Any], time: datetime) -> None:
        """Queue a record; never raises, and drops the oldest when the collector is too slow."""
        kind = members["kind"]
        severity = self._severities[kind in ALARMING]
        try:
            self._logger.emit(
                timestamp=round(time.timestamp() * 1_000_000) * 1_000,
                severity_number=severity,
                severity_text=severity.name,
                body=kind,
                event_name=f"{PREFIX}memory.{kind}",
                attributes=flatten(members, PREFIX),
            )
        except Exception as error:  # the trail has the record; its copy isn't worth a call
            _log.warning("telemetry_failed", error=type(error).__name__)

    def close(self) -> None:
        """Send what is waiting, for two seconds at most."""
        closing = threading.Thread(target=self._provider.shutdown, name="telemetry-close", daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)


def connect_telemetry(endpoint: str, version: str) -> Telemetry:
    """Return an observer that sends over OTLP/gRPC; it connects when there is something to send.

    Args:
        endpoint: `http://HOST:PORT` sends in the clear, `https://HOST:PORT` with TLS.
        version: of the service.

    Raises:
        TelemetryMissing: the extra `otel` isn't installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter  # noqa: PLC0415  # an extra
    except ImportError:
        raise TelemetryMissing("otlp_endpoint needs the extra 'otel': pip install 'ironclaw-memory[otel]'") from None
    return Telemetry(OTLPLogExporter(endpoint, insecure=endpoint.startswith("http://")), version)


def flatten(members: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return members as attributes: those within others by dotted names, and none that are absent."""
    flat: dict[str, Any] = {}
    for name, value in members.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.")
        elif value is not None:
            flat[prefix + name] = value
    return flat


class _Troubles(logging.Handler):
    """Tells in our own log, once a minute at most, that OpenTelemetry has a problem; its words may name hosts."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last = float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        if record.created - self._last >= 60:  # seconds
            self._last = record.created
            _log.warning("telemetry_trouble", source=record.name)


def _hear_of_troubles() -> None:
    library = logging.getLogger("opentelemetry")
    library.propagate = False
    if not any(isinstance(handler, _Troubles) for handler in library.handlers):
        library.addHandler(_Troubles())
