"""What passes between the use cases and the store: what a document is now, and what it shall become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from .path import DocumentPath

Metadata = Mapping[str, Any]
"""A JSON object: the five keys that mean something (contract 2.7) and any other, kept as they are."""

NOTHING: Metadata = MappingProxyType({})


class StoredDocument(NamedTuple):
    """A document as one read saw it.

    Attributes:
        content: its bytes, whole.
        sha256: 64 hex digits over `content`.
        version: how many kept versions precede it.
        updated_at: the file's modification time, with zone UTC.
    """

    content: bytes
    sha256: str
    version: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Before:
    """What a change starts from; read under the document's lock.

    Attributes:
        content: the bytes; None when there is no document.
        sha256: 64 hex digits; empty when there is no document.
        version: how many kept versions precede it.
        own_metadata: what was set on the document itself.
        inherited_metadata: what the nearest ancestor folder's `.config` document says.
    """

    content: bytes | None
    sha256: str
    version: int
    own_metadata: Metadata
    inherited_metadata: Metadata


@dataclass(frozen=True, slots=True)
class Change:
    """What the document shall become.

    Attributes:
        content: the new bytes, whole; None deletes the document.
        metadata: the document's own metadata from now on, whole; None leaves it alone.
        keep_version: whether the bytes that are replaced are kept as a version.
        purge_versions: on a delete, whether the kept versions go too.
        source_class: what the caller's credential writes as, kept with the version that this change replaces; empty
            where callers have no credentials.
        result: a JSON object that is remembered with the request id and handed back on a replay.
    """

    content: bytes | None
    metadata: Metadata | None = None
    keep_version: bool = True
    purge_versions: bool = False
    source_class: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)


Decide = Callable[[Before], Change]
"""Turns what is there into what shall be, or raises a Fault. Run under the document's lock, once a try, without I/O on
the document; it may run again when someone edits the file by hand meanwhile."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The idempotency key of a change.

    Attributes:
        request_id: what the host sent as `x-ironclaw-request-id`.
        fingerprint: 64 hex digits over the operation and its arguments; tells a retry from a reuse.
    """

    request_id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Committed:
    """A change that is durable, or one that an earlier try of the same request had made.

    Attributes:
        sha256: hash of the document after the change; empty after a delete.
        size_bytes: its size; 0 after a delete.
        version: how many kept versions precede it.
        result: `Change.result`, from this try or from the first one.
        replayed: True when nothing was written because the request id had been done before.
        changed: whether the document's bytes differ from before.
    """

    sha256: str
    size_bytes: int
    version: int
    result: Mapping[str, Any]
    replayed: bool = False
    changed: bool = True


VersionReason = Literal["replaced", "deleted"]


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One kept version: what the document held before a change.

    Attributes:
        version: 1 for the first that was kept; grows by one each time and is never given twice.
        sha256: 64 hex digits over its content.
        size_bytes: size of its content.
        kept_at: when it was replaced, with zone UTC.
        reason: whether a change or a deletion replaced it.
        replaced_by: the source class of the credential whose change that was: who wrote what came next; empty where
            callers had no credentials.
    """

    version: int
    sha256: str
    size_bytes: int
    kept_at: datetime
    reason: VersionReason
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class DocumentStat:
    """What a walk sees of a document without opening it. Equal stats mean: nobody touched the file in between."""

    path: DocumentPath
    size_bytes: int
    modified_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A line of a tree: a document, or a folder with what is in it.

    Attributes:
        name: the last segment, without a trailing slash.
        is_folder: whether this is a folder.
        children: folders first, then documents, each sorted; None where the depth ended or for a document.
    """

    name: str
    is_folder: bool
    children: tuple[TreeEntry, ...] | None = None
