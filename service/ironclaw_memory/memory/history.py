"""What was: kept versions, their restoration, and deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ironclaw_memory.contract.argument_rules import check_expected_sha256
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.document import Committed, VersionInfo
from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.path import DocumentPath, parse_document_path
from ironclaw_memory.contract.safety import Operation
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.memory.changes import DocumentChanges, Edit, Precondition
from ironclaw_memory.memory.read import decode_document

DEFAULT_PAGE = 100
MAX_PAGE = 1_000


class VersionStore(Protocol):
    """What history needs of the store."""

    def list_versions(self, scope: Scope, path: DocumentPath) -> tuple[VersionInfo, ...]:
        """See `store.documents.DocumentStore.list_versions`."""

    def read_version(self, scope: Scope, path: DocumentPath, version: int) -> bytes:
        """See `store.documents.DocumentStore.read_version`."""


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Some versions, newest first, and the token that continues the listing; empty at its end."""

    versions: tuple[VersionInfo, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class Restored:
    """A document after its restoration."""

    path: str
    committed: Committed


class Historian:
    """Lists, reads, restores and deletes in one scope at a time."""

    def __init__(self, store: VersionStore, changes: DocumentChanges) -> None:
        self._store = store
        self._changes = changes

    def list_versions(self, call: Call, path: str, page_size: int, page_token: str) -> VersionPage:
        """Return a page of a document's versions.

        The token names the last version shown, so that versions which are added meanwhile neither repeat nor hide any.

        Raises:
            InvalidPath: the path breaks the grammar.
            InvalidArguments: the page size is negative, or the token isn't one of ours.
        """
        checked = parse_document_path(path)
        if page_size < 0:
            raise InvalidArguments("page_size must not be negative.", field="page_size")
        before = _parse_token(page_token)
        versions = [v for v in self._store.list_versions(call.scope, checked) if before is None or v.version < before]
        size = min(page_size or DEFAULT_PAGE, MAX_PAGE)
        token = str(versions[size - 1].version) if len(versions) > size else ""
        return VersionPage(tuple(versions[:size]), token)

    def read_version(self, call: Call, path: str, version: int) -> tuple[str, bytes]:
        """Return the path in its normal form and the content of one version.

        Raises:
            InvalidPath, InvalidArguments: the path breaks the grammar, or the version is 0.
            DocumentMissing: there is no such version.
            DocumentNotText: it isn't UTF-8.
        """
        checked = _check_version(path, version)
        content = self._store.read_version(call.scope, checked, version)
        decode_document(content)
        return checked.text, content

    def restore(self, call: Call, path: str, version: int, expected_sha256: str | None) -> Restored:
        """Make a version current again, through every check that a write passes.

        Raises:
            InvalidArguments: the version is 0, or the expected hash can't be one.
            DocumentMissing: there is no such version.
            Fault: as a write.
        """
        checked = _check_version(path, version)
        check_expected_sha256(expected_sha256)
        text = decode_document(self._store.read_version(call.scope, checked, version))

        def restore(_old: str | None) -> tuple[str, Mapping[str, Any]]:
            return text, {}

        edit = Edit(
            restore,
            Operation.WRITE,
            "memory_admin_service.restore_version",
            precondition=Precondition(expected_sha256),
            may_clear=False,
        )
        arguments = {"path": checked.text, "version": version, "expected_sha256": expected_sha256}
        return Restored(checked.text, self._changes.apply(call, checked, edit, arguments))

    def delete(self, call: Call, path: str, expected_sha256: str | None, *, purge_versions: bool) -> tuple[int, bool]:
        """Delete a document; return the number its content was kept under, 0 for none, and whether this was a replay.

        Raises:
            InvalidArguments: the expected hash can't be one.
            DocumentMissing: there is none.
            DocumentReadOnly, ContentChanged: it may not go.
        """
        checked = parse_document_path(path)
        check_expected_sha256(expected_sha256)
        arguments = {"path": checked.text, "expected_sha256": expected_sha256, "purge_versions": purge_versions}
        committed = self._changes.delete(call, checked, Precondition(expected_sha256), arguments, purge=purge_versions)
        return int(committed.result["kept_version"]), committed.replayed


def _check_version(path: str, version: int) -> DocumentPath:
    checked = parse_document_path(path)
    if version < 1:
        raise InvalidArguments("version must be at least 1.", field="version")
    return checked


def _parse_token(token: str) -> int | None:
    if not token:
        return None
    if not (token.isascii() and token.isdigit() and len(token) <= 19):
        raise InvalidArguments("page_token isn't one that this service gave.", field="page_token")
    return int(token)
