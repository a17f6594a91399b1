"""What an event says on paper: what happened, less the path, plus whose it was and who did it.

The one place that decides what leaves the process. Neither the text, nor the match, nor the query, nor the path, nor a
credential is in a record, and there is no field that could carry one. Paths and contents are told by keyed hashes:
`MEMORY.md` and "User prefers tea" are easily guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from ..contract.events import ChangeEvent
from ..contract.safety import SafetyFinding
from ..contract.scope import Scope

FORMAT: Final = 1
"""Version of the record's layout; a reader refuses one that it doesn't know."""

OPENED, CLOSED, MENDED = "opened", "closed", "mended"
"""Kinds of the records that are about their file: its first, its last, and the last of a file whose process died."""

ENDS: Final = frozenset((CLOSED, MENDED))

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose memory an event is about, and who did it.

    Attributes:
        scope: whose; None when no scope could be trusted.
        correlation_id: ties the event to the call's other traces.
        principal: public name of the credential that was used; empty without credentials.
        source_class: `user`, `agent`, `tool` or `import`, as the credential says; empty without credentials.
    """

    scope: Scope | None
    correlation_id: str = ""
    principal: str = ""
    source_class: str = ""


@lru_cache(maxsize=4096)
def hash_path(path: str, key: bytes) -> str:
    """Return the HMAC-SHA-256 of the path in hex. Keyed, because `MEMORY.md` is easily guessed."""
    return hmac.new(key, path.encode("utf-8"), hashlib.sha256).hexdigest()


def hash_content(sha256: str, scope: Scope | None, key: bytes) -> str:
    """Return the HMAC-SHA-256 in hex of a content's SHA-256 in hex, within its scope; empty for none.

    Keyed, because texts are short and easily guessed; by the scope too, so that who may write in one scope can't find
    out by trying whether another scope has the same text.
    """
    if not sha256:
        return ""
    return hmac.digest(key, _encode([scope_members(scope), sha256]).encode("ascii"), "sha256").hex()


def describe_finding(finding: SafetyFinding, origin: Origin, key: bytes) -> dict[str, Any]:
    """Return what a record says of a safety finding, apart from its place in the trail."""
    record = {
        "kind": finding.kind.value,
        "scope": scope_members(origin.scope),
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
    }
    if finding.curation is not None:
        record["curation"] = asdict(finding.curation)
    return record | _who(origin)


def describe_change(event: ChangeEvent, origin: Origin, key: bytes) -> dict[str, Any]:
    """Return what a record says of a change event, apart from its place in the trail; what is absent is left out."""
    members = {
        "operation": event.operation,
        "source": event.source,
        "path_hash": hash_path(event.path, key) if event.path is not None else "",
        "content_hash": hash_content(event.sha256, origin.scope, key),
        "size_bytes": event.size_bytes,
        "version": event.version,
        "documents": event.documents,
        "reason": event.reason,
        "credential": event.credential,
    }
    told = {name: value for name, value in members.items() if value not in ("", None)}
    return {"kind": event.kind.value, "scope": scope_members(origin.scope)} | told | _who(origin)


def scope_members(scope: Scope | None) -> dict[str, str | None] | None:
    """Return the scope as it stands in a record."""
    if scope is None:
        return None
    return {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "project": scope.project}


def _who(origin: Origin) -> dict[str, str]:
    who = {"principal": origin.principal, "source_class": origin.source_class}
    return {name: value for name, value in who.items() if value} | {"correlation_id": origin.correlation_id}


def format_time(time: datetime) -> str:
    """Return `time` as RFC 3339 in UTC with microseconds, such as `2026-12-01T08:04:23.000001Z`."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def encode_members(members: Mapping[str, Any]) -> bytes:
    """Return members as ASCII JSON, without braces; no value can break the line."""
    return _encode(members)[1:-1].encode("ascii")


def encode_body(sequence: int, time: datetime, members: bytes) -> bytes:
    """Return a record as JSON without its closing brace, ready for the chain.

    Args:
        sequence: its place in its file, from 1.
        time: when it was recorded, with a zone.
        members: the rest, from `encode_members`.
    """
    return b'{"format":%d,"sequence":%d,"time":"%b",%b' % (FORMAT, sequence, format_time(time).encode("ascii"), members)
