"""`write`: append, replace, patch and clear, as texts turned into texts; storing them is the choke point's affair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from ironclaw_memory.contract.argument_rules import check_write
from ironclaw_memory.contract.arguments import WriteArguments
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.document import Committed
from ironclaw_memory.contract.faults import DocumentMissing, PatchNoMatch
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.results import WriteResult, WriteStatus
from ironclaw_memory.contract.safety import Operation
from ironclaw_memory.contract.target import RESERVED_PATHS, ReservedTarget, daily_log_path, fixed_path
from ironclaw_memory.memory.changes import DocumentChanges, Edit, EditText, Precondition
from ironclaw_memory.memory.profile import ProfileZone
from ironclaw_memory.safety.advisories import advise

SOURCE = "memory_service.write"


def append_entry(old: str | None, entry: str) -> str:
    """Return the text with the entry on a line of its own: trailing white space off, exactly one newline after it."""
    joint = "\n" if old and not old.endswith("\n") else ""
    return f"{old or ''}{joint}{entry.rstrip()}\n"


def patch_text(old: str | None, old_string: str, new_string: str, *, replace_all: bool) -> tuple[str, int, int]:
    """Return the patched text, how many occurrences changed, and how many there were, counted without overlap.

    Raises:
        DocumentMissing: there is no document to patch.
        PatchNoMatch: the text doesn't occur in it.
    """
    if old is None:
        raise DocumentMissing
    matches = old.count(old_string)
    if not matches:
        raise PatchNoMatch(
            "old_string doesn't occur in the document; read it and copy the exact text.", field="old_string"
        )
    changed = matches if replace_all else 1
    return old.replace(old_string, new_string, changed), changed, matches


class Writer:
    """Writes documents of one scope at a time.

    Args:
        changes: the choke point.
        zones: finds the user's zone for the daily log.
        now: the clock; injected so that midnight can be tested.
    """

    def __init__(
        self, changes: DocumentChanges, zones: ProfileZone, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._changes = changes
        self._zones = zones
        self._now = now

    def write(self, call: Call, arguments: WriteArguments) -> WriteResult:
        """Change one document; durable when this returns.

        Raises:
            Fault: any refusal of contract 2.1; nothing was changed, `OutcomeUnknown` aside.
        """
        check_write(arguments)
        path = self._resolve(call, arguments)
        committed = self._changes.apply(call, path, _edit(path, arguments), arguments.model_dump(mode="json"))
        return _result(committed)

    def _resolve(self, call: Call, arguments: WriteArguments) -> DocumentPath:
        if arguments.target != ReservedTarget.DAILY_LOG:
            return fixed_path(arguments.target)
        return daily_log_path(self._today(arguments.timezone or self._zones.of(call.scope)))

    def _today(self, zone: str) -> date:
        return self._now().astimezone(ZoneInfo(zone)).date()


def _edit(path: DocumentPath, arguments: WriteArguments) -> Edit:
    precondition = Precondition(arguments.expected_sha256, arguments.must_not_exist)
    if arguments.is_bootstrap:
        return Edit(_clear, Operation.WRITE, SOURCE, arguments.metadata, precondition, may_clear=True)
    text, operation = _mode(path, arguments)
    return Edit(text, operation, SOURCE, arguments.metadata, precondition)


def _mode(path: DocumentPath, arguments: WriteArguments) -> tuple[EditText, Operation]:
    if arguments.is_patch:
        return _patching(path, arguments), Operation.PATCH
    if arguments.append or arguments.target == ReservedTarget.DAILY_LOG:
        return _appending(path, arguments.content), Operation.APPEND
    return _replacing(path, arguments.content), Operation.WRITE


def _clear(_old: str | None) -> tuple[str, Mapping[str, Any]]:
    path = RESERVED_PATHS[ReservedTarget.BOOTSTRAP]
    return "", _remember(WriteStatus.CLEARED, path, message="BOOTSTRAP.md cleared.")


def _appending(path: DocumentPath, entry: str) -> EditText:
    def append(old: str | None) -> tuple[str, Mapping[str, Any]]:
        remarks = advise(path, entry, old or "")
        return append_entry(old, entry), _remember(WriteStatus.WRITTEN, path, append=True, advisories=remarks)

    return append


def _replacing(path: DocumentPath, content: str) -> EditText:
    def store(_old: str | None) -> tuple[str, Mapping[str, Any]]:
        remarks = advise(path, content, "")
        return content, _remember(WriteStatus.WRITTEN, path, append=False, advisories=remarks)

    return store


def _patching(path: DocumentPath, arguments: WriteArguments) -> EditText:
    old_string, new_string = arguments.old_string or "", arguments.new_string or ""

    def patch(old: str | None) -> tuple[str, Mapping[str, Any]]:
        text, changed, matches = patch_text(old, old_string, new_string, replace_all=arguments.replace_all)
        remarks = advise(path, new_string, "", matches=matches if matches > changed else 1)
        return text, _remember(WriteStatus.PATCHED, path, replacements=changed, advisories=remarks)

    return patch


def _remember(status: WriteStatus, path: DocumentPath, **particulars: Any) -> Mapping[str, Any]:
    # Length and hash are the store's to say, once it knows what it committed.
    return WriteResult(status, path.text, content_length=0, content_sha256="", **particulars).to_record()


def _result(committed: Committed) -> WriteResult:
    return replace(
        WriteResult.from_record(committed.result, replayed=committed.replayed),
        content_length=committed.size_bytes,
        content_sha256=committed.sha256,
    )
