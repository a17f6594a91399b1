"""Moving documents that have had their time into history, where `hygiene` metadata ask for it.

Nothing is lost by it: a document is deleted through the choke point, with its content kept as a version, and a version
can be restored. What wouldn't be kept isn't touched. When it runs, and over which scopes, is its caller's affair.

What is looked at, in this order; the first that applies decides:

    the file or its metadata can't be read                held back, since nobody can say whether it may go
    hygiene isn't enabled in the effective metadata       not a candidate, isn't spoken of
    the file is younger than its retention                not a candidate, isn't spoken of
    `retention_days` can't be understood                  held back: a setting in doubt deletes nothing
    a `.config` document                                  held back: its metadata are what the folder lives by
    a protected path                                      held back: what is in every prompt is curated, not aged
    under `threads/` and younger than 30 days             held back, whatever its metadata say
    read_only                                             held back
    skip_versioning, or a store that keeps no versions    held back: moving it would delete it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.document import DocumentStat, Metadata, StoredDocument
from ironclaw_memory.contract.faults import ContentChanged, DocumentMissing, DocumentReadOnly, Fault
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.memory.changes import DocumentChanges, Precondition
from ironclaw_memory.memory.metadata import CONFIG_NAME, is_set
from ironclaw_memory.safety.protected import ProtectedPaths

SOURCE: Final = "hygiene"
DEFAULT_RETENTION_DAYS: Final = 30.0
THREAD_DAYS: Final = 30.0
"""A conversation stays at least this long: the short-term lane serves it, and a run may be recorded again."""

_SECONDS_A_DAY: Final = 86_400.0


class HeldBack(StrEnum):
    """Why a document that has had its time stays where it is."""

    UNREADABLE = "unreadable"
    RETENTION_UNCLEAR = "retention_unclear"
    CONFIG = "config"
    PROTECTED = "protected"
    THREAD = "thread"
    READ_ONLY = "read_only"
    SKIP_VERSIONING = "skip_versioning"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Finding:
    """A document that has had its time.

    Attributes:
        path: which.
        age_days: since it was last changed, by the file's time.
        held_back: why it stays; None when it may go.
    """

    path: DocumentPath
    age_days: float
    held_back: HeldBack | None = None


class AgingStore(Protocol):
    """What hygiene needs of the store, besides the choke point."""

    def list_documents(self, scope: Scope) -> Iterator[DocumentStat]:
        """See `store.documents.DocumentStore.list_documents`."""

    def read_document(self, scope: Scope, path: DocumentPath) -> StoredDocument:
        """See `store.documents.DocumentStore.read_document`."""

    def effective_metadata(self, scope: Scope, path: DocumentPath) -> Metadata:
        """See `store.documents.DocumentStore.effective_metadata`."""


class Hygiene:
    """Finds documents that have had their time, and moves them into history, a scope at a time.

    Args:
        store: lists and reads documents.
        changes: the choke point.
        protected: what never goes.
        keeps_versions: whether the store keeps what a deletion removes.
        now: the wall clock, with zone; file times are compared with it.
    """

    def __init__(
        self,
        store: AgingStore,
        changes: DocumentChanges,
        protected: ProtectedPaths,
        *,
        keeps_versions: bool,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._changes = changes
        self._protected = protected
        self._keeps_versions = keeps_versions
        self._now = now

    def find(self, scope: Scope) -> Iterator[Finding]:
        """Yield what has had its time, in the order of the paths; changes nothing.

        Raises:
            StorageUnavailable: a folder can't be read.
        """
        for stat in sorted(self._store.list_documents(scope), key=lambda stat: stat.path):
            changed_at = datetime.fromtimestamp(stat.modified_ns / 1e9, UTC)
            try:
                finding = self._look_at(scope, stat.path, changed_at)
            except Fault:  # one file that can't be read doesn't hide the others
                finding = Finding(stat.path, self._age_days(changed_at), HeldBack.UNREADABLE)
            if finding is not None:
                yield finding

    def move(self, call: Call, finding: Finding) -> Finding:
        """Move a document into history, and return what came of it: the finding, held back when it has changed since.

        Everything is looked at once more, and the deletion is tied to the content that was looked at: what a host
        writes meanwhile stays.

        Durability: when this returns with nothing held back, the version and the deletion are on the disk.

        Raises:
            Fault: as a deletion.
        """
        try:
            document = self._store.read_document(call.scope, finding.path)
            again = self._look_at(call.scope, finding.path, document.updated_at)
            if again is None:
                return Finding(finding.path, finding.age_days, HeldBack.CHANGED)
            if again.held_back is None:
                unchanged = Precondition(document.sha256)
                self._changes.delete(call, finding.path, unchanged, {}, purge=False, source=SOURCE)
        except (DocumentMissing, ContentChanged):
            return Finding(finding.path, finding.age_days, HeldBack.CHANGED)
        except DocumentReadOnly:
            return Finding(finding.path, finding.age_days, HeldBack.READ_ONLY)
        return again

    def _look_at(self, scope: Scope, path: DocumentPath, changed_at: datetime) -> Finding | None:
        age_days = self._age_days(changed_at)
        metadata = self._store.effective_metadata(scope, path)
        hygiene = metadata.get("hygiene")
        if not isinstance(hygiene, Mapping) or not is_set(hygiene, "enabled"):
            return None
        retention = retention_days(hygiene)
        if age_days <= (DEFAULT_RETENTION_DAYS if retention is None else retention):
            return None
        if retention is None:
            return Finding(path, age_days, HeldBack.RETENTION_UNCLEAR)
        return Finding(path, age_days, self._reason_to_stay(path, age_days, metadata))

    def _age_days(self, changed_at: datetime) -> float:
        return (self._now() - changed_at).total_seconds() / _SECONDS_A_DAY

    def _reason_to_stay(self, path: DocumentPath, age_days: float, metadata: Metadata) -> HeldBack | None:
        keeps = self._keeps_versions and not is_set(metadata, "skip_versioning")
        reasons = (
            (HeldBack.CONFIG, path.segments[-1] == CONFIG_NAME),
            (HeldBack.PROTECTED, self._protected.class_of(path) is not None),
            (HeldBack.THREAD, path.is_in_threads and age_days <= THREAD_DAYS),
            (HeldBack.READ_ONLY, is_set(metadata, "read_only")),
            (HeldBack.SKIP_VERSIONING, not keeps),
        )
        return next((reason for reason, applies in reasons if applies), None)


def retention_days(hygiene: Mapping[str, Any]) -> float | None:
    """Return how long a document stays, in days; None when a hand-edited setting can't be understood."""
    days = hygiene.get("retention_days", DEFAULT_RETENTION_DAYS)
    if isinstance(days, bool) or not isinstance(days, int | float):
        return None
    try:
        days = float(days)
    except OverflowError:
        return math.inf
    return days if days >= 1 else None
