"""From the service's answers to the client's values. One function a message; nothing is lost or made up on the way."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.timestamp_pb2 import Timestamp

from ironclaw.memory.v1 import admin_service_pb2 as admin
from ironclaw.memory.v1 import advisory_pb2 as advisory
from ironclaw.memory.v1 import event_service_pb2 as events
from ironclaw.memory.v1 import lifecycle_service_pb2 as lifecycle
from ironclaw.memory.v1 import memory_service_pb2 as memory

from . import results
from .scope import Scope


def enum_name(enum: EnumTypeWrapper, value: int, prefix: str) -> str:
    """Return a value's name without its prefix; enums are open, so a newer server may send a number without a name."""
    if value not in enum.values():
        return f"unknown_{value}"
    return str(enum.Name(value)).removeprefix(prefix).lower()


def _time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)


def to_advisory(message: advisory.Advisory) -> results.Advisory:
    """Convert an advisory."""
    return results.Advisory(
        code=enum_name(advisory.AdvisoryCode, message.code, "ADVISORY_CODE_"),
        message=message.message,
        line=message.line if message.HasField("line") else None,
        count=message.count if message.HasField("count") else None,
    )


def to_write_result(answer: memory.WriteResponse) -> results.WriteResult:
    """Convert the answer of Write."""
    return results.WriteResult(
        status=enum_name(memory.WriteStatus, answer.status, "WRITE_STATUS_"),
        path=answer.path,
        append=answer.append if answer.HasField("append") else None,
        replacements=answer.replacements if answer.HasField("replacements") else None,
        message=answer.message if answer.HasField("message") else None,
        content_length=answer.content_length,
        content_sha256=answer.content_sha256,
        advisories=tuple(map(to_advisory, answer.advisories)),
        replayed=answer.replayed,
    )


def to_read_result(answer: memory.ReadResponse) -> results.ReadResult:
    """Convert the answer of Read."""
    return results.ReadResult(
        path=answer.path,
        content=answer.content,
        word_count=answer.word_count,
        content_sha256=answer.content_sha256,
        size_bytes=answer.size_bytes,
        updated_at=_time(answer.updated_at),
        version=answer.version,
    )


def to_search_result(answer: memory.SearchResponse) -> results.SearchResult:
    """Convert the answer of Search."""
    return results.SearchResult(
        query=answer.query,
        results=tuple(results.SearchHit(r.content, r.score, r.path, r.is_hybrid_match) for r in answer.results),
        search_scope=answer.search_scope,
        external_services_searched=answer.external_services_searched,
        documents_searched=answer.documents_searched,
    )


def to_tree_result(answer: memory.TreeResponse) -> results.TreeResult:
    """Convert the answer of Tree."""
    return results.TreeResult(tuple(map(_tree_entry, answer.entries)), answer.truncated)


def _tree_entry(entry: memory.TreeEntry) -> results.TreeEntry:
    """Convert an entry and what is below it: at most 10 levels."""
    return results.TreeEntry(
        name=entry.name,
        is_folder=entry.kind == memory.TREE_ENTRY_KIND_FOLDER,
        expanded=entry.expanded,
        children=tuple(map(_tree_entry, entry.children)),
    )


def to_profile_set_result(answer: memory.ProfileSetResponse) -> results.ProfileSetResult:
    """Convert the answer of ProfileSet."""
    status = enum_name(memory.ProfileSetStatus, answer.status, "PROFILE_SET_STATUS_")
    return results.ProfileSetResult(status, answer.replayed)


def to_tool_catalogue(answer: memory.ListToolsResponse) -> results.ToolCatalogue:
    """Convert the answer of ListTools."""
    return results.ToolCatalogue(tuple(map(_tool, answer.tools)), answer.guidance)


def _tool(tool: memory.Tool) -> results.Tool:
    return results.Tool(
        id=tool.id,
        description=tool.description,
        input_schema_json=tool.input_schema_json,
        output_schema_json=tool.output_schema_json,
        prompt=tool.prompt,
        writes=tool.writes,
    )


def to_invoke_result(answer: memory.InvokeToolResponse) -> results.InvokeResult:
    """Convert the answer of InvokeTool."""
    error = answer.error
    return results.InvokeResult(
        output_json=answer.output_json,
        advisories=tuple(map(to_advisory, answer.advisories)),
        error=results.ToolError(error.kind, error.reason, error.message) if answer.HasField("error") else None,
    )


def to_document_version(version: admin.DocumentVersion) -> results.DocumentVersion:
    """Convert one version of a listing."""
    return results.DocumentVersion(
        version=version.version,
        content_sha256=version.content_sha256,
        size_bytes=version.size_bytes,
        kept_at=_time(version.kept_at),
        reason=enum_name(admin.VersionReason, version.reason, "VERSION_REASON_"),
        replaced_by=enum_name(admin.SourceClass, version.replaced_by, "SOURCE_CLASS_"),
    )


def to_version_content(answer: admin.ReadVersionResponse) -> results.VersionContent:
    """Convert the answer of ReadVersion."""
    return results.VersionContent(
        path=answer.path,
        version=answer.version,
        content=answer.content,
        content_sha256=answer.content_sha256,
        size_bytes=answer.size_bytes,
    )


def to_restore_result(answer: admin.RestoreVersionResponse) -> results.RestoreResult:
    """Convert the answer of RestoreVersion."""
    return results.RestoreResult(
        path=answer.path,
        version=answer.version,
        content_length=answer.content_length,
        content_sha256=answer.content_sha256,
        replayed=answer.replayed,
    )


def to_delete_result(answer: admin.DeleteDocumentResponse) -> results.DeleteResult:
    """Convert the answer of DeleteDocument."""
    return results.DeleteResult(answer.kept_version or None, answer.replayed)


def to_scope_stats(answer: admin.GetScopeStatsResponse) -> results.ScopeStats:
    """Convert the answer of GetScopeStats."""
    return results.ScopeStats(
        documents=answer.documents,
        size_bytes=answer.size_bytes,
        document_limit=answer.document_limit,
        size_limit_bytes=answer.size_limit_bytes,
        indexed_documents=answer.indexed_documents,
        passages=answer.passages,
        index_size_bytes=answer.index_size_bytes,
        index_age=answer.index_age.ToTimedelta() if answer.HasField("index_age") else None,
        problems=tuple(results.DocumentProblem(problem.path, problem.problem) for problem in answer.problems),
    )


def _snippet(snippet: lifecycle.MemorySnippet) -> results.MemorySnippet:
    scope = snippet.scope
    place = results.SnippetScope(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        agent_id=scope.agent_id if scope.HasField("agent_id") else None,
        project_id=scope.project_id if scope.HasField("project_id") else None,
    )
    return results.MemorySnippet(place, snippet.relative_path, snippet.text)


def to_long_term_lane(answer: lifecycle.ReadLongTermResponse) -> results.LongTermLane:
    """Convert the answer of ReadLongTerm."""
    return results.LongTermLane(tuple(map(_snippet, answer.snippets)), answer.standing_lines_omitted)


def to_short_term_lane(answer: lifecycle.ReadShortTermResponse) -> results.ShortTermLane:
    """Convert the answer of ReadShortTerm."""
    return results.ShortTermLane(tuple(map(_snippet, answer.snippets)))


def _lane(value: int) -> str:
    return enum_name(lifecycle.ContextLane, value, "CONTEXT_LANE_")


def to_retrieved_context(answer: lifecycle.RetrieveContextResponse) -> results.RetrievedContext:
    """Convert the answer of RetrieveContext."""
    return results.RetrievedContext(
        snippets=tuple(results.ContextSnippet(_lane(s.lane), s.relative_path, s.text) for s in answer.snippets),
        block=answer.block,
        dropped_snippets=answer.dropped_snippets,
        lanes=tuple(results.LaneStatus(_lane(status.lane), status.failed, status.reason) for status in answer.lanes),
        standing_lines_omitted=answer.standing_lines_omitted,
    )


def to_record_result(answer: lifecycle.RecordInteractionResponse) -> results.RecordResult:
    """Convert the answer of RecordInteraction."""
    return results.RecordResult(
        recorded=answer.recorded,
        path=answer.path,
        turns_since_curation=answer.turns_since_curation,
        curation_due=answer.curation_due,
    )


def to_profile_document(answer: lifecycle.ProfileReadResponse) -> results.ProfileDocument:
    """Convert the answer of ProfileRead."""
    return results.ProfileDocument(answer.document if answer.HasField("document") else None)


def to_curation_claim(answer: lifecycle.ClaimCurationResponse) -> results.CurationClaim:
    """Convert the answer of ClaimCuration."""
    return results.CurationClaim(
        claimed=answer.claimed,
        lease_id=answer.lease_id,
        document=answer.document,
        document_sha256=answer.document_sha256,
        prompt=answer.prompt,
        report_schema_json=answer.report_schema_json,
        max_model_calls=answer.max_model_calls,
        expires_at=_time(answer.expires_at) if answer.HasField("expires_at") else None,
    )


def to_curation_result(answer: lifecycle.CompleteCurationResponse) -> results.CurationResult:
    """Convert the answer of CompleteCuration."""
    outcome = enum_name(lifecycle.CurationOutcome, answer.outcome, "CURATION_OUTCOME_")
    return results.CurationResult(outcome, answer.content_sha256)


def to_watched_event(message: events.WatchEventsResponse) -> results.WatchedEvent:
    """Convert a message of WatchEvents."""
    return results.WatchedEvent(_event(message.event) if message.HasField("event") else None, message.cursor)


def _event(event: events.MemoryEvent) -> results.MemoryEvent:
    return results.MemoryEvent(
        kind=enum_name(events.EventKind, event.kind, "EVENT_KIND_"),
        time=_time(event.time),
        scope=_event_scope(event.scope),
        source=event.source,
        operation=event.operation,
        principal=event.principal,
        source_class=event.source_class,
        correlation_id=event.correlation_id,
        path_hash=event.path_hash,
        content_hash=event.content_hash,
        size_bytes=event.size_bytes if event.HasField("size_bytes") else None,
        version=event.version if event.HasField("version") else None,
        documents=event.documents if event.HasField("documents") else None,
        reason=event.reason,
        credential=event.credential,
        safety=_safety(event.safety) if event.HasField("safety") else None,
        curation=_curation(event.curation) if event.HasField("curation") else None,
        file=event.file,
        sequence=event.sequence,
    )


def _event_scope(scope: events.EventScope) -> Scope:
    return Scope(
        tenant=scope.tenant_id,
        user=scope.user_id,
        agent=scope.agent_id if scope.HasField("agent_id") else None,
        project=scope.project_id if scope.HasField("project_id") else None,
    )


def _safety(facts: events.SafetyFacts) -> results.SafetyFacts:
    return results.SafetyFacts(
        policy_version=facts.policy_version,
        protected_class=facts.protected_class,
        severity=facts.severity,
        findings=facts.findings,
        rule_ids=tuple(facts.rule_ids),
        rules_version=facts.rules_version,
        allowance=facts.allowance,
    )


def _curation(facts: events.CurationFacts) -> results.CurationFacts:
    return results.CurationFacts(
        outcome=facts.outcome,
        kept=facts.kept,
        merged=facts.merged,
        rewritten=facts.rewritten,
        superseded=facts.superseded,
        conflicts=facts.conflicts,
        lines_before=facts.lines_before if facts.HasField("lines_before") else None,
        lines_after=facts.lines_after if facts.HasField("lines_after") else None,
    )
