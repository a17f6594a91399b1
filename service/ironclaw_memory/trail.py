"""The audit trail as a server runs it: its parts by the settings, from the mending at the start to the last anchor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ironclaw_memory import __version__
from ironclaw_memory.contract.events import ChangeEvent, ChangeKind
from ironclaw_memory.contract.faults import Fault
from ironclaw_memory.events.audit_log import AuditLog
from ironclaw_memory.events.keeper import Keeper
from ironclaw_memory.events.mending import mend_files
from ironclaw_memory.events.telemetry import Telemetry, TelemetryMissing, connect_telemetry
from ironclaw_memory.settings import Settings, SettingsError
from ironclaw_memory.store.datadir import EVENTS_FOLDER, DataDir


@dataclass(frozen=True)
class Trail:
    """What records, what keeps the records safe, and what copies them.

    Attributes:
        log: takes events.
        keeper: syncs and anchors.
        telemetry: the copy for OpenTelemetry; None where none is wanted.
    """

    log: AuditLog
    keeper: Keeper
    telemetry: Telemetry | None

    def note_refusal(self, method: str, fault: Fault, credential: str) -> None:
        """Record that a credential was refused; there is no scope that could be trusted."""
        event = ChangeEvent(
            ChangeKind.CREDENTIAL_REFUSED, source=method, reason=fault.reason.value, credential=credential
        )
        self.log.recorder(None).note(event)

    def start(self) -> None:
        """Begin to sync and anchor."""
        self.keeper.start()

    def close(self) -> None:
        """Put everything on the disk, anchor it, and send what is left of the copy; once no call is in flight."""
        self.keeper.stop()
        self.log.close()
        if self.telemetry is not None:
            self.telemetry.close()


def open_trail(settings: Settings, data_dir: DataDir) -> Trail:
    """End what dead processes left, and return this process's trail; no file is made before the first event.

    Raises:
        SettingsError: a copy for OpenTelemetry is wanted, but its packages aren't there.
    """
    folder, key = data_dir.path / EVENTS_FOLDER, data_dir.key()
    telemetry = _open_telemetry(settings)
    mend_files(folder, key)
    log = AuditLog(
        folder,
        key,
        max_bytes=settings.audit_file_bytes,
        max_age=timedelta(hours=settings.audit_file_hours),
        muted=frozenset() if settings.audit_searches else frozenset({ChangeKind.SEARCHED}),
        observer=telemetry,
    )
    return Trail(log, Keeper(log, settings.audit_anchor_seconds), telemetry)


def _open_telemetry(settings: Settings) -> Telemetry | None:
    if not settings.otlp_endpoint:
        return None
    try:
        return connect_telemetry(settings.otlp_endpoint, __version__)
    except TelemetryMissing as error:
        raise SettingsError(str(error)) from None
