"""From records of the audit trail to messages. A member that a message has no field for stays in the trail."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ironclaw.memory.v1 import event_service_pb2 as wire
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.events.watches import Seen, Wanted

_PREFIX: Final = "EVENT_KIND_"
_SAME_NAME: Final = ("source", "operation", "principal", "source_class", "correlation_id", "path_hash", "content_hash")
_COUNTS: Final = ("size_bytes", "version", "documents", "sequence")
_REASONS: Final = ("reason", "credential")


def wanted(call: Call, request: wire.WatchEventsRequest) -> Wanted:
    """Return what a request asks to see, within what its credential allows.

    Raises:
        InvalidArguments: it names a kind that doesn't exist.
    """
    known = wire.EventKind.values()
    if any(kind not in known or not kind for kind in request.kinds):
        raise InvalidArguments("kinds holds a value that is no kind of event.", field="kinds")
    kinds = frozenset(wire.EventKind.Name(kind).removeprefix(_PREFIX).lower() for kind in request.kinds)
    return Wanted(call.scope, request.whole_tenant, kinds, call.grant)


def watch_response(seen: Seen) -> wire.WatchEventsResponse:
    """Convert what a watch hands on."""
    event = None if seen.record is None else _event(seen.record, seen.file)
    return wire.WatchEventsResponse(event=event, cursor=seen.cursor)


def _event(record: Mapping[str, Any], file: str) -> wire.MemoryEvent:
    plain = {name: record[name] for name in (*_SAME_NAME, *_COUNTS, *_REASONS) if record.get(name) is not None}
    scope = wire.EventScope(**{f"{axis}_id": value for axis, value in record["scope"].items()})
    event = wire.MemoryEvent(kind=_kind(record["kind"]), scope=scope, file=file, **plain)
    event.time.FromDatetime(datetime.fromisoformat(record["time"]))
    if "policy_version" in record:
        event.safety.CopyFrom(_safety(record))
    if "curation" in record:
        event.curation.CopyFrom(wire.CurationFacts(**record["curation"]))
    return event


def _kind(kind: str) -> str:
    name = _PREFIX + kind.upper()
    return name if name in wire.EventKind.keys() else f"{_PREFIX}UNSPECIFIED"  # noqa: SIM118  # no mapping


def _safety(record: Mapping[str, Any]) -> wire.SafetyFacts:
    return wire.SafetyFacts(
        policy_version=record["policy_version"],
        protected_class=record["class"],
        severity=record["severity"],
        findings=record["findings"],
        rule_ids=record["rule_ids"],
        rules_version=record["rules_version"],
        allowance=record["allowance"] or "",
    )
