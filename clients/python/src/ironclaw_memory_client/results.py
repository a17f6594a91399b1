"""What calls return: small frozen values with the wire's names, free of protobuf.

Sizes are in bytes of UTF-8, hashes are SHA-256 as 64 hex digits, times are aware and in UTC. An enum's value is its
name on the wire in lower case without the prefix; one that this client doesn't know yet is `unknown_` and its number.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from .scope import Scope


@dataclass(frozen=True, slots=True)
class Advisory:
    """What makes a stored text poor memory. Nothing was refused for it.

    Attributes:
        code: `reads_as_instruction`, `short_lived_artifact`, `near_duplicate`, `multiple_matches` or `contains_secret`.
        message: one sentence that says what would be better, fit for a model.
        line: the existing line that the new text resembles; only with `near_duplicate`.
        count: how many occurrences there were; only with `multiple_matches`.
    """

    code: str
    message: str
    line: str | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did; it is on the disk.

    Attributes:
        status: `written`, `patched` or `cleared`.
        path: the relative path that was written.
        append: True when text was added, False when it was replaced; None unless `written`.
        replacements: how many occurrences were changed; None unless `patched`.
        message: a sentence for the model; None unless `cleared`.
        content_length: size of the resulting document.
        content_sha256: hash of the resulting document, fit for a later `expected_sha256`.
        advisories: what makes the text poor memory.
        replayed: True when an earlier try with the same request id had made this change.
    """

    status: str
    path: str
    append: bool | None
    replacements: int | None
    message: str | None
    content_length: int
    content_sha256: str
    advisories: tuple[Advisory, ...]
    replayed: bool


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A document.

    Attributes:
        path: the path that was read.
        content: the text, whole.
        word_count: how many words white space separates.
        content_sha256: hash of the content.
        size_bytes: size of the content.
        updated_at: when the document was last changed.
        version: how many kept versions precede this content.
    """

    path: str
    content: str
    word_count: int
    content_sha256: str
    size_bytes: int
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document that matched.

    Attributes:
        content: the passages that matched.
        score: relative to the best hit, which has 1.0.
        path: the document's relative path.
        is_hybrid_match: True when words and meaning both found it.
    """

    content: str
    score: float
    path: str
    is_hybrid_match: bool


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first.

    Attributes:
        query: the query as it was used.
        results: the hits.
        search_scope: where was searched.
        external_services_searched: whether anything left the service.
        documents_searched: how many documents were open to the search; tells an empty scope from no match.
    """

    query: str
    results: tuple[SearchHit, ...]
    search_scope: str
    external_services_searched: bool
    documents_searched: int


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A folder or a document.

    Attributes:
        name: the last segment of its path, without a trailing slash.
        is_folder: tells folders from documents.
        expanded: True for a folder that the depth reached into, even where it is empty.
        children: what is in an expanded folder, folders first.
    """

    name: str
    is_folder: bool
    expanded: bool
    children: tuple[TreeEntry, ...]


@dataclass(frozen=True, slots=True)
class TreeResult:
    """What is in a folder.

    Attributes:
        entries: folders first, then documents, each sorted by name.
        truncated: True when the tree was larger than an answer may be.
    """

    entries: tuple[TreeEntry, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class ProfileSetResult:
    """The profile holds the given facts.

    Attributes:
        status: `ok`.
        replayed: True when an earlier try with the same request id had made this change.
    """

    status: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as a model API wants it.

    Attributes:
        id: the tool's name, such as `ironclaw.memory.write`.
        description: one sentence.
        input_schema_json: the JSON Schema of the arguments, as text.
        output_schema_json: the JSON Schema of the result, as text.
        prompt: tells the model when and how to use the tool.
        writes: True when the tool changes documents.
    """

    id: str
    description: str
    input_schema_json: str
    output_schema_json: str
    prompt: str
    writes: bool


@dataclass(frozen=True, slots=True)
class ToolCatalogue:
    """The tools of the service.

    Attributes:
        tools: write, read, search, tree, profile_set.
        guidance: text for the system prompt: what is worth remembering, and how to put it.
    """

    tools: tuple[Tool, ...]
    guidance: str


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a tool call failed, for the model.

    Attributes:
        kind: `input` when the model can mend the call, `operation` when this call is over.
        reason: such as `PATCH_NO_MATCH`.
        message: one sentence without document text.
    """

    kind: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class InvokeResult:
    """What goes back to the model.

    Attributes:
        output_json: the result by the tool's output schema; empty when `error` is set.
        advisories: what makes a stored text poor memory.
        error: why the call failed; None when it succeeded.
    """

    output_json: str
    advisories: tuple[Advisory, ...]
    error: ToolError | None

    def for_model(self) -> str:
        """Return the text of the model's tool result: `output_json`, or the error as a JSON object."""
        if self.error is None:
            return self.output_json
        error = {"kind": self.error.kind, "reason": self.error.reason, "message": self.error.message}
        return json.dumps({"error": error})


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """What a document held before a change.

    Attributes:
        version: 1 for the first content that was kept; never given twice.
        content_sha256: hash of that content.
        size_bytes: size of that content.
        kept_at: when the content was replaced.
        reason: `replaced` or `deleted`.
        replaced_by: what the credential of that change writes as: `user`, `agent`, `tool` or `import`; `unspecified`
            where callers had no credentials.
    """

    version: int
    content_sha256: str
    size_bytes: int
    kept_at: datetime
    reason: str
    replaced_by: str


@dataclass(frozen=True, slots=True)
class VersionContent:
    """A version's content.

    Attributes:
        path: the document's relative path.
        version: the number that was asked for.
        content: the text, whole.
        content_sha256: hash of the content.
        size_bytes: size of the content.
    """

    path: str
    version: int
    content: str
    content_sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The document after a restore.

    Attributes:
        path: the document's relative path.
        version: how many kept versions precede the restored content.
        content_length: size of the document.
        content_sha256: hash of the document.
        replayed: True when an earlier try with the same request id had made this change.
    """

    path: str
    version: int
    content_length: int
    content_sha256: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """The document is gone from reads, search and tree.

    Attributes:
        kept_version: the number under which the last content was kept; None when nothing was kept.
        replayed: True when an earlier try with the same request id had made this change.
    """

    kept_version: int | None
    replayed: bool


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """A document that can't be searched, and in a few words why."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class ScopeStats:
    """How much a scope holds, and how well it can be searched.

    Attributes:
        documents: how many documents there are.
        size_bytes: their sizes added up.
        document_limit: the most documents that the scope may have.
        size_limit_bytes: the most bytes that its documents may have.
        indexed_documents: how many of them a search can find.
        passages: how many passages they were cut into.
        index_size_bytes: what the index takes on the server's disk.
        index_age: since the index was last known to equal the files; None before the first search.
        problems: the documents that can't be searched.
    """

    documents: int
    size_bytes: int
    document_limit: int
    size_limit_bytes: int
    indexed_documents: int
    passages: int
    index_size_bytes: int
    index_age: timedelta | None
    problems: tuple[DocumentProblem, ...]


@dataclass(frozen=True, slots=True)
class SnippetScope:
    """Where a snippet's document lies; an agent or project that is None is the scope without one."""

    tenant_id: str
    user_id: str
    agent_id: str | None
    project_id: str | None


@dataclass(frozen=True, slots=True)
class MemorySnippet:
    """A passage as it stands in its document; nothing makes it fit for a prompt.

    Attributes:
        scope: where the document lies.
        relative_path: the document's path.
        text: the passage, at most 512 bytes.
    """

    scope: SnippetScope
    relative_path: str
    text: str


@dataclass(frozen=True, slots=True)
class LongTermLane:
    """What the scope knows.

    Attributes:
        snippets: MEMORY.md in at most 4 chunks, then the passages that match, best first.
        standing_lines_omitted: how many lines of MEMORY.md found no room.
    """

    snippets: tuple[MemorySnippet, ...]
    standing_lines_omitted: int


@dataclass(frozen=True, slots=True)
class ShortTermLane:
    """What the active thread recorded: the passages that match, best first."""

    snippets: tuple[MemorySnippet, ...]


@dataclass(frozen=True, slots=True)
class ContextSnippet:
    """A passage in its envelope, at most 512 bytes.

    Attributes:
        lane: `short_term` or `long_term`.
        relative_path: the document's path.
        text: the passage with its envelope.
    """

    lane: str
    relative_path: str
    text: str


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """How reading a lane went.

    Attributes:
        lane: `short_term` or `long_term`.
        failed: True when the lane, or a part of it, couldn't be read.
        reason: why, such as `STORAGE_UNAVAILABLE`; empty unless it failed.
    """

    lane: str
    failed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """What to put into the prompt.

    Attributes:
        snippets: the parts of the block, short-term first.
        block: the snippets, one after another, at most 4,096 bytes; empty when there is nothing.
        dropped_snippets: how many passages were withheld because they try to instruct the model.
        lanes: whether each lane could be read.
        standing_lines_omitted: how many lines of MEMORY.md found no room.
    """

    snippets: tuple[ContextSnippet, ...]
    block: str
    dropped_snippets: int
    lanes: tuple[LaneStatus, ...]
    standing_lines_omitted: int


@dataclass(frozen=True, slots=True)
class InteractionMessage:
    """One message of an exchange, for `record_interaction`.

    Attributes:
        role: `user`, `assistant`, `system` or `tool`.
        content: what was said.
        name: the speaker's name, if there is one.
    """

    role: str
    content: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class RecordResult:
    """What was recorded.

    Attributes:
        recorded: False when there was no thread, no run id or no message.
        path: the record's path; empty when nothing was recorded.
        turns_since_curation: distinct runs since the last curation, background runs left out.
        curation_due: True when it is time to call `claim_curation`.
    """

    recorded: bool
    path: str
    turns_since_curation: int
    curation_due: bool


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """The human's profile: the JSON file's bytes, None when there is none."""

    document: bytes | None


@dataclass(frozen=True, slots=True)
class CurationClaim:
    """The right to tidy MEMORY.md, and the work.

    Attributes:
        claimed: False when nothing is due, someone else holds the lease, or there is no MEMORY.md; then the rest is
            empty.
        lease_id: goes into `complete_curation`.
        document: the text of MEMORY.md.
        document_sha256: its hash.
        prompt: tells the model what to do.
        report_schema_json: the JSON Schema of the report, as text.
        max_model_calls: how many model calls the curation may take.
        expires_at: when the lease ends; None without one.
    """

    claimed: bool
    lease_id: str
    document: str
    document_sha256: str
    prompt: str
    report_schema_json: str
    max_model_calls: int
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class CurationReport:
    """What became of the lines of the old text, for `complete_curation`.

    Attributes:
        kept: lines that stand as they were.
        merged: lines that went into another.
        rewritten: lines whose wording changed.
        superseded: lines that a newer one corrects.
        conflicts: what the user should settle, a sentence each.
    """

    kept: int = 0
    merged: int = 0
    rewritten: int = 0
    superseded: int = 0
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CurationResult:
    """What came of a curation.

    Attributes:
        outcome: `rewritten`, `unchanged`, `conflict`, `refused` or `abandoned`.
        content_sha256: hash of MEMORY.md as it is now; empty when there is none.
    """

    outcome: str
    content_sha256: str


@dataclass(frozen=True, slots=True)
class SafetyFacts:
    """What the safety check found.

    Attributes:
        policy_version: version of the table of protected paths.
        protected_class: the class of the path, such as `memory_md`.
        severity: `none`, `low`, `medium`, `high` or `critical`.
        findings: how many rules matched.
        rule_ids: which rules, worst first.
        rules_version: version of the rules.
        allowance: why a text passed that would be refused otherwise; empty for none.
    """

    policy_version: str
    protected_class: str
    severity: str
    findings: int
    rule_ids: tuple[str, ...]
    rules_version: str
    allowance: str


@dataclass(frozen=True, slots=True)
class CurationFacts:
    """What came of a curation, in numbers.

    Attributes:
        outcome: `rewritten`, `unchanged`, `conflict`, `refused` or `abandoned`.
        kept, merged, rewritten, superseded: what the curator says became of so many lines.
        conflicts: how many matters were left to the user.
        lines_before, lines_after: lines of the text; None when it wasn't looked at.
    """

    outcome: str
    kept: int
    merged: int
    rewritten: int
    superseded: int
    conflicts: int
    lines_before: int | None
    lines_after: int | None


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One record of the audit trail. It never holds a text, a query, a path or a credential.

    Attributes:
        kind: what happened, such as `written`; `unspecified` for a kind that is newer than the service's list.
        time: when it was recorded, with zone UTC.
        scope: whose memory it is about.
        source: the surface that asked, such as `memory_service.write`.
        operation: the way in of a change or a check, such as `append`.
        principal: public name of the credential that was used; empty without credentials.
        source_class: `user`, `agent`, `tool` or `import`; empty without credentials.
        correlation_id: the call's.
        path_hash: keyed hash of the document's path: equal for equal paths. Empty when it isn't about one document.
        content_hash: keyed hash of the document's new content: equal for equal contents of one scope.
        size_bytes, version: of the document afterwards; None where it doesn't apply.
        documents: how many were found, indexed or erased; None where it doesn't apply.
        reason: of a refusal.
        credential: public id of a credential that was refused.
        safety, curation: None for other events.
        file, sequence: the record's place in the trail.
    """

    kind: str
    time: datetime
    scope: Scope
    source: str
    operation: str
    principal: str
    source_class: str
    correlation_id: str
    path_hash: str
    content_hash: str
    size_bytes: int | None
    version: int | None
    documents: int | None
    reason: str
    credential: str
    safety: SafetyFacts | None
    curation: CurationFacts | None
    file: str
    sequence: int


@dataclass(frozen=True, slots=True)
class WatchedEvent:
    """A message of a watch.

    Attributes:
        event: what happened; None where only the place is told, as in the first message.
        cursor: where a later watch goes on; keep it with what you did about the event.
    """

    event: MemoryEvent | None
    cursor: str
