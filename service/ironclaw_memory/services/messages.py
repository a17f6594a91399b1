"""Between the wire's messages and the contract's values; no rule is applied here but presence."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from google.protobuf import json_format, struct_pb2, timestamp_pb2

from ironclaw.memory.v1 import admin_service_pb2 as admin
from ironclaw.memory.v1 import advisory_pb2
from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw_memory.contract.advisories import Advisory
from ironclaw_memory.contract.arguments import (
    ProfileSetArguments,
    SearchArguments,
    TreeArguments,
    WriteArguments,
)
from ironclaw_memory.contract.document import TreeEntry, VersionInfo
from ironclaw_memory.contract.faults import Fault, InvalidArguments
from ironclaw_memory.contract.results import SEARCH_SCOPE, ReadResult, SearchResult, WriteResult
from ironclaw_memory.memory.stats import ScopeStats

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def given_fields(message: Any, *names: str) -> dict[str, Any]:
    """Return the named fields that the sender set, so that the others take the model's defaults."""
    return {name: getattr(message, name) for name in names if message.HasField(name)}


def write_arguments(request: wire.WriteRequest) -> WriteArguments:
    """Return a write's arguments."""
    fields = given_fields(
        request,
        "target",
        "append",
        "old_string",
        "new_string",
        "replace_all",
        "timezone",
        "expected_sha256",
        "must_not_exist",
    )
    if request.HasField("metadata"):
        fields["metadata"] = struct_to_json(request.metadata)
    return WriteArguments(content=request.content, **fields)


def struct_to_json(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Return the JSON object, with whole numbers as integers: a Struct has doubles only, but a person wrote `30`.

    Raises:
        InvalidArguments: it holds a number that JSON doesn't have.
    """
    try:
        value = json_format.MessageToDict(struct)
    except ValueError:
        raise InvalidArguments("metadata holds a number that JSON doesn't have.", field="metadata") from None
    return {key: _whole(inner) for key, inner in value.items()}


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return value


def search_arguments(request: wire.SearchRequest) -> SearchArguments:
    """Return a search's arguments."""
    fields = given_fields(request, "limit", "min_score")
    return SearchArguments(query=request.query, path_prefix=request.path_prefix, **fields)


def tree_arguments(request: wire.TreeRequest) -> TreeArguments:
    """Return a tree's arguments."""
    return TreeArguments(**given_fields(request, "path", "depth"))


def profile_arguments(request: wire.ProfileSetRequest) -> ProfileSetArguments:
    """Return the facts to set."""
    return ProfileSetArguments(**given_fields(request, "timezone", "locale", "location"))


def write_response(result: WriteResult) -> wire.WriteResponse:
    """Return the answer to a write."""
    return wire.WriteResponse(
        status=f"WRITE_STATUS_{result.status.name}",
        path=result.path,
        append=result.append,
        replacements=result.replacements,
        message=result.message,
        content_length=result.content_length,
        content_sha256=result.content_sha256,
        advisories=advisory_messages(result.advisories),
        replayed=result.replayed,
    )


def advisory_messages(advisories: Iterable[Advisory]) -> list[advisory_pb2.Advisory]:
    """Return the remarks on a write."""
    return [
        advisory_pb2.Advisory(
            code=f"ADVISORY_CODE_{advisory.code.name}",
            message=advisory.message,
            line=advisory.line,
            count=advisory.count,
        )
        for advisory in advisories
    ]


def read_response(result: ReadResult) -> wire.ReadResponse:
    """Return the answer to a read."""
    return wire.ReadResponse(
        path=result.path,
        content=result.content,
        word_count=result.word_count,
        content_sha256=result.content_sha256,
        size_bytes=result.size_bytes,
        updated_at=timestamp(result.updated_at),
        version=result.version,
    )


def search_response(result: SearchResult) -> wire.SearchResponse:
    """Return the answer to a search."""
    return wire.SearchResponse(
        query=result.query,
        results=[
            wire.SearchResult(content=hit.content, score=hit.score, path=hit.path, is_hybrid_match=hit.is_hybrid_match)
            for hit in result.results
        ],
        result_count=len(result.results),
        search_scope=SEARCH_SCOPE,
        external_services_searched=False,
        documents_searched=result.documents_searched,
    )


def tree_messages(entries: Iterable[TreeEntry]) -> list[wire.TreeEntry]:
    """Return the lines of a tree."""
    return [
        wire.TreeEntry(
            name=entry.name,
            kind=wire.TREE_ENTRY_KIND_FOLDER if entry.is_folder else wire.TREE_ENTRY_KIND_DOCUMENT,
            expanded=entry.children is not None,
            children=tree_messages(entry.children or ()),
        )
        for entry in entries
    ]


def tool_error(fault: Fault) -> wire.ToolError:
    """Return a failure as the model is told it."""
    return wire.ToolError(kind=fault.kind.value, reason=fault.reason.value, message=fault.message)


def version_message(version: VersionInfo) -> admin.DocumentVersion:
    """Return the description of a kept version."""
    return admin.DocumentVersion(
        version=version.version,
        content_sha256=version.sha256,
        size_bytes=version.size_bytes,
        kept_at=timestamp(version.kept_at),
        reason=f"VERSION_REASON_{version.reason.upper()}",
        replaced_by=f"SOURCE_CLASS_{version.replaced_by.upper()}" if version.replaced_by else None,
    )


def stats_response(stats: ScopeStats, document_limit: int, size_limit_bytes: int) -> admin.GetScopeStatsResponse:
    """Return the description of a scope."""
    response = admin.GetScopeStatsResponse(
        documents=stats.documents,
        size_bytes=stats.size_bytes,
        document_limit=document_limit,
        size_limit_bytes=size_limit_bytes,
        indexed_documents=stats.indexed_documents,
        passages=stats.passages,
        index_size_bytes=stats.index_size_bytes,
        problems=[admin.DocumentProblem(path=path.text, problem=problem) for path, problem in stats.problems],
    )
    if stats.index_age_seconds is not None:
        response.index_age.FromMilliseconds(int(stats.index_age_seconds * 1000))
    return response


@lru_cache(maxsize=4096)
def timestamp(moment: datetime) -> timestamp_pb2.Timestamp:
    """Return a moment as the wire has it; not to be changed, since the next caller gets the same."""
    since = moment - _EPOCH
    return timestamp_pb2.Timestamp(seconds=since.days * 86_400 + since.seconds, nanos=since.microseconds * 1_000)
