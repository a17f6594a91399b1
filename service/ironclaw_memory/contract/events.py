"""What the audit trail is told of besides safety findings: documents changed or looked for, and callers refused.

Values only. What of them is written down, and how, is `events/record.py`'s to say: never a path, a text or a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class ChangeKind(StrEnum):
    """What happened. What came of a curation is a safety finding, `EventKind.CURATED`, and not told twice."""

    WRITTEN = "written"
    DELETED = "deleted"
    INDEXED = "indexed"
    SEARCHED = "searched"
    ERASED = "erased"
    CREDENTIAL_REFUSED = "credential_refused"


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """One thing that happened.

    Attributes:
        kind: what.
        source: the surface that asked, such as `memory_service.write`.
        operation: the way in of a change, such as `append`; empty where there is only one.
        path: the document's path; the trail holds only its keyed hash. None when it isn't about one document.
        sha256: hash of the document afterwards, in hex; the trail holds only a keyed hash of it. Empty without one.
        size_bytes: size of the document afterwards.
        version: how many kept versions precede it.
        documents: how many documents it is about: found, indexed anew, or erased.
        reason: why a credential was refused, as an `ErrorInfo.reason`; empty otherwise.
        credential: public id of the credential that was refused, such as a key id; never the credential.
    """

    kind: ChangeKind
    source: str = ""
    operation: str = ""
    path: str | None = None
    sha256: str = ""
    size_bytes: int | None = None
    version: int | None = None
    documents: int | None = None
    reason: str = ""
    credential: str = ""


class ChangeRecorder(Protocol):
    """Where use cases leave their events; bound to one call by the interceptor."""

    def note(self, event: ChangeEvent) -> None:
        """Take note of the event. Never raises and doesn't wait for the disk: a loss is counted and logged."""


class NothingNoted:
    """A recorder that forgets, for calls that no trail covers."""

    def note(self, event: ChangeEvent) -> None:
        """Forget the event."""


NOTHING_NOTED: ChangeRecorder = NothingNoted()
