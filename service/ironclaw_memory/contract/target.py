"""The names that a write may give instead of a path (contract 2.1), as a table."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Final

from .path import DocumentPath, parse_document_path, parse_writable_path


class ReservedTarget(StrEnum):
    """Targets that stand for a fixed document."""

    MEMORY = "memory"
    HEARTBEAT = "heartbeat"
    BOOTSTRAP = "bootstrap"
    DAILY_LOG = "daily_log"


RESERVED_PATHS: Final = {
    ReservedTarget.MEMORY: DocumentPath("MEMORY.md"),
    ReservedTarget.HEARTBEAT: DocumentPath("HEARTBEAT.md"),
    ReservedTarget.BOOTSTRAP: DocumentPath("BOOTSTRAP.md"),
}

PROFILE_PATH: Final = DocumentPath("context/profile.json")
"""Where `profile_set` keeps its JSON object, in the scope of the human."""


def daily_log_path(day: date) -> DocumentPath:
    """Return the document of one day's log."""
    return parse_document_path(f"daily/{day.isoformat()}.md")


def fixed_path(target: str) -> DocumentPath:
    """Return the path that a target names, `daily_log` aside, whose path depends on the day.

    Raises:
        InvalidPath, ReservedNamespace: the target is no reserved name and no path that may be written.
    """
    if target in RESERVED_PATHS:
        return RESERVED_PATHS[ReservedTarget(target)]
    return parse_writable_path(target)
