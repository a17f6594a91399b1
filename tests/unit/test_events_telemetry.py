"""The copy of the trail for OpenTelemetry: the same events, without waiting for a collector."""

import time

import pytest

from ironclaw_memory.contract.events import ChangeEvent, ChangeKind
from ironclaw_memory.contract.safety import EventKind, Operation, SafetyFinding
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.events import AuditLog
from ironclaw_memory.events.reading import read_records

export = pytest.importorskip("opentelemetry.sdk._logs.export")
telemetry = pytest.importorskip("ironclaw_memory.events.telemetry")

WRITTEN = ChangeEvent(ChangeKind.WRITTEN, "memory_service.write", "append", "notes/tea.md", "ab" * 32, 12, 3)
REJECTED = SafetyFinding(
    EventKind.REJECTED, Operation.WRITE, "memory_service.write", "v1", "memory_md", "MEMORY.md", rule_ids=("a", "b")
)


@pytest.fixture
def exported(tmp_path):
    """Record two events and return what was exported and what stands in the files."""
    exporter = export.InMemoryLogRecordExporter()
    observer = telemetry.Telemetry(exporter, "1.2")
    log = AuditLog(tmp_path / "events", b"k" * 32, observer=observer)
    recorder = log.recorder(Scope("acme", "ada"), "corr", principal="api_key:k1", source_class="tool")
    recorder.note(WRITTEN)
    recorder.record(REJECTED)
    log.close()
    observer.close()
    records = [r for r in read_records((tmp_path / "events",)) if r["kind"] not in {"opened", "closed"}]
    return exporter.get_finished_logs(), records


def test_the_same_events_are_exported(exported):
    """Kind, time and every member that isn't absent arrive, nested ones by dotted names."""
    (written, rejected), records = exported
    assert [one.log_record.body for one in (written, rejected)] == ["written", "rejected"]
    assert [one.log_record.severity_text for one in (written, rejected)] == ["INFO", "WARN"]
    assert written.log_record.event_name == "ironclaw.memory.written"
    attributes = dict(written.log_record.attributes)
    assert attributes["ironclaw.scope.tenant"] == "acme"
    assert "ironclaw.scope.agent" not in attributes
    for name in ("path_hash", "content_hash", "size_bytes", "principal", "source_class", "correlation_id"):
        assert attributes[f"ironclaw.{name}"] == records[0][name]
    assert tuple(rejected.log_record.attributes["ironclaw.rule_ids"]) == ("a", "b")
    assert written.resource.attributes["service.version"] == "1.2"
    seconds = written.log_record.timestamp / 1e9
    assert time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) == records[0]["time"][:19]


def test_no_path_is_exported(exported):
    """What leaves the machine names documents by hashes, as the files do."""
    assert "tea" not in str([dict(one.log_record.attributes) for one in exported[0]])


def test_a_collector_that_isn_t_there_holds_nobody_up(tmp_path):
    """Events are recorded, and the close is over within seconds."""
    observer = telemetry.connect_telemetry("http://127.0.0.1:1", "")
    log = AuditLog(tmp_path / "events", b"k" * 32, observer=observer)
    for _ in range(10):
        log.recorder(Scope("acme", "ada")).note(WRITTEN)
    began = time.monotonic()
    observer.close()
    assert time.monotonic() - began < 10
    assert log.losses == 0
    log.close()


def test_an_observer_that_fails_loses_only_the_copy(tmp_path):
    """A record that can't be exported stays in the trail and raises nothing."""
    observer = telemetry.Telemetry(export.InMemoryLogRecordExporter())
    observer._logger = None
    log = AuditLog(tmp_path / "events", b"k" * 32, observer=observer)
    log.recorder(Scope("acme", "ada")).note(WRITTEN)
    log.close()
    observer.close()
    assert log.losses == 0
    assert [r["kind"] for r in read_records((tmp_path / "events",))] == ["opened", "written", "closed"]
