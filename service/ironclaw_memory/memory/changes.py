"""The one choke point through which documents change: write, append, patch, profile, restore, delete.

Whatever the way in, the same questions are asked under the document's lock, in this order: does the precondition hold;
what is the resulting text; may the document change at all; is it small enough; does it satisfy its schema; may a prompt
file hold it. Only then does the store commit, and the index hears of it. A refusal at any step has changed nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.document import Before, Change, Committed, Decide, Metadata, RequestKey
from ironclaw_memory.contract.events import ChangeEvent, ChangeKind
from ironclaw_memory.contract.faults import (
    ContentChanged,
    DocumentMissing,
    DocumentReadOnly,
    DocumentTooLarge,
    OutcomeUnknown,
)
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.safety import Operation
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.memory.metadata import check_overlay, check_schema, is_set, overlay
from ironclaw_memory.memory.read import decode_document
from ironclaw_memory.safety.policy import PromptWritePolicy


class ChangingStore(Protocol):
    """What the choke point needs of the store."""

    def change_document(
        self, scope: Scope, path: DocumentPath, decide: Decide, *, deadline: Deadline, request: RequestKey | None = None
    ) -> Committed:
        """See `store.documents.DocumentStore.change_document`."""


class ChangeListener(Protocol):
    """Who hears of commits: the search index."""

    def note_changed(self, scope: Scope, path: DocumentPath) -> None:
        """Take note that the document, or its metadata, is another now."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must hold before a change.

    Attributes:
        expected_sha256: the hash that the host knows, in hex; None without this condition.
        must_not_exist: whether the change may only create the document.
    """

    expected_sha256: str | None = None
    must_not_exist: bool = False

    def check(self, before: Before) -> None:
        """Return when it holds.

        Raises:
            ContentChanged: it doesn't.
        """
        if self.must_not_exist and before.content is not None:
            raise ContentChanged(before.sha256)
        if self.expected_sha256 is not None and self.expected_sha256.lower() != before.sha256:
            raise ContentChanged(before.sha256)


NO_PRECONDITION = Precondition()

EditText = Callable[[str | None], tuple[str, Mapping[str, Any]]]
"""From the old text, None for no document, to the new one and what to remember of it; raises a Fault to refuse."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change as a use case asks for it.

    Attributes:
        text: what the document shall hold.
        operation: the way in, for the safety event.
        source: the surface that asked, for the safety event.
        metadata: laid over the document's own metadata; None leaves them alone.
        precondition: what must hold.
        may_clear: whether an empty prompt file is meant, as `bootstrap` does.
    """

    text: EditText
    operation: Operation
    source: str
    metadata: Metadata | None = None
    precondition: Precondition = field(default=NO_PRECONDITION)
    may_clear: bool = False


class DocumentChanges:
    """Applies edits and deletions through the choke point.

    Args:
        store: where documents are.
        listener: told of each commit.
        policy: the safety check.
        document_bytes: the most bytes that a document may have.
        keeps_versions: False where the operator wants no history at all.
        strict_sources: source classes of callers whose texts the safety check refuses on the least finding.
    """

    def __init__(
        self,
        store: ChangingStore,
        listener: ChangeListener,
        policy: PromptWritePolicy,
        document_bytes: int,
        *,
        keeps_versions: bool = True,
        strict_sources: frozenset[str] = frozenset(),
    ) -> None:
        self._store = store
        self._listener = listener
        self._policy = policy
        self._document_bytes = document_bytes
        self._keeps_versions = keeps_versions
        self._strict_sources = strict_sources

    def apply(
        self, call: Call, path: DocumentPath, edit: Edit, arguments: Mapping[str, Any], *, scope: Scope | None = None
    ) -> Committed:
        """Make an edit, durably, or refuse it and change nothing.

        Args:
            call: who asks, until when.
            path: which document.
            edit: what to do with it.
            arguments: what the host sent; tells a retry of the same request id from its reuse.
            scope: whose document when it isn't the call's own scope, as with the profile.
        """
        if edit.metadata is not None:
            check_overlay(edit.metadata)
        event = ChangeEvent(ChangeKind.WRITTEN, edit.source, edit.operation.value, path.text)
        return self._commit(
            call, path, lambda before: self._decide(call, path, edit, before), event, arguments, scope or call.scope
        )

    def delete(
        self,
        call: Call,
        path: DocumentPath,
        precondition: Precondition,
        arguments: Mapping[str, Any],
        *,
        purge: bool,
        source: str = "memory_admin_service.delete_document",
    ) -> Committed:
        """Remove a document, keeping its content as a version unless `purge`; `source` is the surface that asked.

        Raises:
            DocumentMissing: there is none.
            DocumentReadOnly: its effective metadata forbids it.
            ContentChanged: the precondition doesn't hold.
        """

        def decide(before: Before) -> Change:
            if before.content is None:
                raise DocumentMissing
            precondition.check(before)
            effective = overlay(before.inherited_metadata, before.own_metadata)
            if is_set(effective, "read_only"):
                raise DocumentReadOnly("The document is read-only.")
            keeps = not purge and self._keeps_versions and not is_set(effective, "skip_versioning")
            kept_version = before.version + 1 if keeps and before.content else 0  # an empty text is no version
            return Change(
                None,
                keep_version=keeps,
                purge_versions=purge,
                source_class=_source_class(call),
                result={"kept_version": kept_version},
            )

        event = ChangeEvent(ChangeKind.DELETED, source, path=path.text)
        return self._commit(call, path, decide, event, arguments, call.scope)

    def _commit(
        self,
        call: Call,
        path: DocumentPath,
        decide: Decide,
        event: ChangeEvent,
        arguments: Mapping[str, Any],
        scope: Scope,
    ) -> Committed:
        request = request_key(call.request_id, event.source, arguments)
        try:
            committed = self._store.change_document(scope, path, decide, deadline=call.deadline, request=request)
        except OutcomeUnknown as fault:  # the change may be there, so the trail must not be silent about it
            call.changes.note(replace(event, reason=fault.reason.value))
            raise
        if not committed.replayed:
            self._listener.note_changed(scope, path)
            call.changes.note(
                replace(event, sha256=committed.sha256, size_bytes=committed.size_bytes, version=committed.version)
            )
        return committed

    def _decide(self, call: Call, path: DocumentPath, edit: Edit, before: Before) -> Change:
        edit.precondition.check(before)
        text, result = edit.text(None if before.content is None else decode_document(before.content))
        content = text.encode("utf-8")
        own = before.own_metadata if edit.metadata is None else overlay(before.own_metadata, edit.metadata)
        effective = overlay(before.inherited_metadata, own)
        # A call may set read_only along with the content it means to seal, or lift it along with a change.
        sealed = is_set(overlay(before.inherited_metadata, before.own_metadata), "read_only")
        if sealed and is_set(effective, "read_only") and content != before.content:
            raise DocumentReadOnly("The document is read-only.")
        if len(content) > self._document_bytes:
            raise DocumentTooLarge(len(content), self._document_bytes)
        check_schema(path, text, effective)
        self._policy.check(
            path,
            text,
            operation=edit.operation,
            source=edit.source,
            recorder=call.safety,
            may_clear=edit.may_clear,
            strict=_source_class(call) in self._strict_sources,
        )
        return Change(
            content,
            metadata=None if edit.metadata is None else own,
            keep_version=self._keeps_versions and not is_set(effective, "skip_versioning"),
            source_class=_source_class(call),
            result=result,
        )


def _source_class(call: Call) -> str:
    """Return what the caller's credential writes as; nothing where it has none, for then nobody vouches for it."""
    return call.source_class.value if call.grant is not None else ""


def request_key(request_id: str | None, operation: str, arguments: Mapping[str, Any]) -> RequestKey | None:
    """Return the idempotency key of a call, or None when the host sent no request id."""
    if request_id is None:
        return None
    canonical = json.dumps([operation, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return RequestKey(request_id, hashlib.sha256(canonical.encode("ascii")).hexdigest())
