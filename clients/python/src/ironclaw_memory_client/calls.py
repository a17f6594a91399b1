"""Each RPC as a value: which method, what request, how its answer is read, and what it means to repeat it.

Pure, and shared by both clients, which only differ in how they wait. Arguments have the wire's names; None is absent.
A text with a lone surrogate isn't text, and raises UnicodeEncodeError here, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from ironclaw.memory.v1 import admin_service_pb2 as admin
from ironclaw.memory.v1 import lifecycle_service_pb2 as lifecycle
from ironclaw.memory.v1 import memory_service_pb2 as memory

from . import conversion, results
from .tools import tool_id

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """One call, ready to be made.

    Attributes:
        service: which stub it goes through.
        method: the RPC's name.
        request: the message.
        read_answer: from the response message to what the caller gets.
        changes: True when the RPC changes documents, so that it needs a request id to be repeated safely.
        conditional: True for a change with a precondition.
    """

    service: Literal["memory", "lifecycle", "admin"]
    method: str
    request: Message
    read_answer: Callable[[Any], Answer]
    changes: bool = False
    conditional: bool = False


def write_call(  # the fields of WriteRequest
    content: str,
    *,
    target: str | None,
    append: bool | None,
    old_string: str | None,
    new_string: str | None,
    replace_all: bool | None,
    metadata: Mapping[str, object] | None,
    timezone: str | None,
    expected_sha256: str | None,
    must_not_exist: bool,
) -> Call[results.WriteResult]:
    """Describe a Write.

    Raises:
        ValueError: both preconditions are given, or `metadata` can't be put as JSON.
    """
    if expected_sha256 is not None and must_not_exist:
        raise ValueError("expected_sha256 and must_not_exist exclude each other")
    request = memory.WriteRequest(
        target=target,
        content=content,
        append=append,
        old_string=old_string,
        new_string=new_string,
        replace_all=replace_all,
        metadata=None if metadata is None else _struct(metadata),
        timezone=timezone,
        expected_sha256=expected_sha256,
        must_not_exist=True if must_not_exist else None,
    )
    conditional = expected_sha256 is not None or must_not_exist
    return Call("memory", "Write", request, conversion.to_write_result, changes=True, conditional=conditional)


def _struct(value: Mapping[str, object]) -> Struct:
    try:
        return json_format.ParseDict(dict(value), Struct())
    except (json_format.ParseError, TypeError) as error:
        raise ValueError(f"metadata can't be put as JSON: {error}") from None


def read_call(path: str) -> Call[results.ReadResult]:
    """Describe a Read."""
    return Call("memory", "Read", memory.ReadRequest(path=path), conversion.to_read_result)


def search_call(
    query: str, *, limit: int | None, path_prefix: str, min_score: float | None
) -> Call[results.SearchResult]:
    """Describe a Search."""
    request = memory.SearchRequest(query=query, limit=limit, path_prefix=path_prefix, min_score=min_score)
    return Call("memory", "Search", request, conversion.to_search_result)


def tree_call(path: str | None, *, depth: int | None) -> Call[results.TreeResult]:
    """Describe a Tree."""
    return Call("memory", "Tree", memory.TreeRequest(path=path, depth=depth), conversion.to_tree_result)


def profile_set_call(
    *, timezone: str | None, locale: str | None, location: str | None
) -> Call[results.ProfileSetResult]:
    """Describe a ProfileSet."""
    request = memory.ProfileSetRequest(timezone=timezone, locale=locale, location=location)
    return Call("memory", "ProfileSet", request, conversion.to_profile_set_result, changes=True)


def list_tools_call() -> Call[results.ToolCatalogue]:
    """Describe a ListTools."""
    return Call("memory", "ListTools", memory.ListToolsRequest(), conversion.to_tool_catalogue)


def invoke_call(name: str, arguments_json: str) -> Call[results.InvokeResult]:
    """Describe an InvokeTool. Any tool is taken for one that changes: a read under a request id is only a read."""
    request = memory.InvokeToolRequest(tool_id=tool_id(name), arguments_json=arguments_json)
    return Call("memory", "InvokeTool", request, conversion.to_invoke_result, changes=True)


def list_versions_call(path: str, *, page_size: int, page_token: str) -> Call[admin.ListVersionsResponse]:
    """Describe a ListVersions of one page; its answer is the message, for its token."""
    request = admin.ListVersionsRequest(path=path, page_size=page_size, page_token=page_token)
    return Call("admin", "ListVersions", request, lambda page: page)


def read_version_call(path: str, version: int) -> Call[results.VersionContent]:
    """Describe a ReadVersion."""
    request = admin.ReadVersionRequest(path=path, version=version)
    return Call("admin", "ReadVersion", request, conversion.to_version_content)


def restore_version_call(path: str, version: int, *, expected_sha256: str | None) -> Call[results.RestoreResult]:
    """Describe a RestoreVersion."""
    request = admin.RestoreVersionRequest(path=path, version=version, expected_sha256=expected_sha256)
    conditional = expected_sha256 is not None
    return Call("admin", "RestoreVersion", request, conversion.to_restore_result, changes=True, conditional=conditional)


def delete_document_call(path: str, *, expected_sha256: str | None, purge_versions: bool) -> Call[results.DeleteResult]:
    """Describe a DeleteDocument."""
    request = admin.DeleteDocumentRequest(path=path, expected_sha256=expected_sha256, purge_versions=purge_versions)
    conditional = expected_sha256 is not None
    return Call("admin", "DeleteDocument", request, conversion.to_delete_result, changes=True, conditional=conditional)


def get_scope_stats_call() -> Call[results.ScopeStats]:
    """Describe a GetScopeStats."""
    return Call("admin", "GetScopeStats", admin.GetScopeStatsRequest(), conversion.to_scope_stats)


def read_long_term_call(query: str, *, max_snippets: int, context_profile_id: str) -> Call[results.LongTermLane]:
    """Describe a ReadLongTerm."""
    request = lifecycle.ReadLongTermRequest(
        query=query, max_snippets=max_snippets, context_profile_id=context_profile_id
    )
    return Call("lifecycle", "ReadLongTerm", request, conversion.to_long_term_lane)


def read_short_term_call(query: str, *, max_snippets: int, context_profile_id: str) -> Call[results.ShortTermLane]:
    """Describe a ReadShortTerm."""
    request = lifecycle.ReadShortTermRequest(
        query=query, max_snippets=max_snippets, context_profile_id=context_profile_id
    )
    return Call("lifecycle", "ReadShortTerm", request, conversion.to_short_term_lane)


def retrieve_context_call(query: str, *, max_snippets: int, context_profile_id: str) -> Call[results.RetrievedContext]:
    """Describe a RetrieveContext."""
    request = lifecycle.RetrieveContextRequest(
        query=query, max_snippets=max_snippets, context_profile_id=context_profile_id
    )
    return Call("lifecycle", "RetrieveContext", request, conversion.to_retrieved_context)


def record_interaction_call(
    messages: Iterable[results.InteractionMessage],
    *,
    turn_run_id: str,
    metadata: Mapping[str, object] | None,
    background: bool,
) -> Call[results.RecordResult]:
    """Describe a RecordInteraction.

    Raises:
        ValueError: a role isn't one of the four, or `metadata` can't be put as JSON.
    """
    request = lifecycle.RecordInteractionRequest(
        messages=[_message(message) for message in messages],
        turn_run_id=turn_run_id,
        metadata=None if metadata is None else _struct(metadata),
        background=background,
    )
    return Call("lifecycle", "RecordInteraction", request, conversion.to_record_result, changes=True)


def _message(message: results.InteractionMessage) -> lifecycle.InteractionMessage:
    name = f"MESSAGE_ROLE_{message.role.upper()}"
    if name not in lifecycle.MessageRole.keys() or message.role == "unspecified":  # noqa: SIM118  # not a mapping
        raise ValueError(f"{message.role!r} is no role: user, assistant, system or tool")
    return lifecycle.InteractionMessage(role=name, content=message.content, name=message.name)


def profile_read_call() -> Call[results.ProfileDocument]:
    """Describe a ProfileRead."""
    return Call("lifecycle", "ProfileRead", lifecycle.ProfileReadRequest(), conversion.to_profile_document)


def claim_curation_call(*, lease_seconds: int | None, force: bool) -> Call[results.CurationClaim]:
    """Describe a ClaimCuration. Its request id lets a second try find the lease that the first one got."""
    request = lifecycle.ClaimCurationRequest(lease_seconds=lease_seconds, force=force)
    return Call("lifecycle", "ClaimCuration", request, conversion.to_curation_claim, changes=True)


def complete_curation_call(
    lease_id: str, *, content: str | None, report: results.CurationReport | None, abandon: bool
) -> Call[results.CurationResult]:
    """Describe a CompleteCuration. It needs no request id: a second try is known by its lease and arguments."""
    told = report or results.CurationReport()
    request = lifecycle.CompleteCurationRequest(
        lease_id=lease_id,
        content=content,
        report=lifecycle.CurationReport(
            kept=told.kept,
            merged=told.merged,
            rewritten=told.rewritten,
            superseded=told.superseded,
            conflicts=told.conflicts,
        ),
        abandon=abandon,
    )
    return Call("lifecycle", "CompleteCuration", request, conversion.to_curation_result)
