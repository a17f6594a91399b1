"""What a safety event says on paper: a finding, less the path, plus whose it was, when, and in which order.

The one place that decides what leaves the process. Neither the text, nor the match, nor the path, nor a credential is
in a record, and there is no field that could carry one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from ..contract.safety import SafetyFinding
from ..contract.scope import Scope

FORMAT: Final = 1
"""Version of the record's layout; a reader refuses one that it doesn't know."""


def hash_path(path: str, key: bytes) -> str:
    """Return the HMAC-SHA-256 of the path in hex. Keyed, because `MEMORY.md` is easily guessed."""
    return hmac.new(key, path.encode("utf-8"), hashlib.sha256).hexdigest()


def describe(
    finding: SafetyFinding, *, scope: Scope, correlation_id: str, key: bytes, time: datetime, sequence: int
) -> dict[str, Any]:
    """Return the event's record.

    Args:
        finding: the outcome of the check.
        scope: whose document it was.
        correlation_id: ties the event to the call's other traces.
        key: the data directory's, for the path's hash.
        time: when the event was recorded, with a zone.
        sequence: its place in its file, from 1.
    """
    record = {
        "format": FORMAT,
        "sequence": sequence,
        "time": format_time(time),
        "kind": finding.kind.value,
        "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "project": scope.project},
        "operation": finding.operation.value,
        "source": finding.source,
        "policy_version": finding.policy_version,
        "class": finding.protected_class,
        "path_hash": hash_path(finding.path, key),
        "reason": finding.reason.value if finding.reason else None,
        "severity": finding.severity.value,
        "findings": finding.findings,
        "rule_ids": list(finding.rule_ids),
        "rules_version": finding.rules_version,
        "allowance": finding.allowance.value if finding.allowance else None,
        "correlation_id": correlation_id,
    }
    return record if finding.curation is None else record | {"curation": asdict(finding.curation)}


def format_time(time: datetime) -> str:
    """Return `time` as RFC 3339 in UTC with microseconds, such as `2026-12-01T08:04:23.000001Z`."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def encode_line(record: dict[str, Any]) -> bytes:
    """Return the record as one line of ASCII JSON with its newline; no value can break the line."""
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
