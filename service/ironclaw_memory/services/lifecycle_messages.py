"""Between the lifecycle service's messages and the contract's values; no rule is applied here but presence."""

from __future__ import annotations

from collections.abc import Iterable

from ironclaw.memory.v1 import lifecycle_service_pb2 as wire
from ironclaw_memory.catalog import CurationGuide
from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.interaction import Message, Role
from ironclaw_memory.contract.lanes import Context, LaneQuery, LaneReport, Snippet
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.memory.curation import MAX_MODEL_CALLS, Claim, Completed, Completion, Report
from ironclaw_memory.memory.interactions import Interaction, Recorded
from ironclaw_memory.services.messages import struct_to_json, timestamp

LaneRequest = wire.ReadLongTermRequest | wire.ReadShortTermRequest | wire.RetrieveContextRequest

_ROLES = {getattr(wire, f"MESSAGE_ROLE_{role.name}"): role for role in Role}


def lane_query(request: LaneRequest) -> LaneQuery:
    """Return what a turn asks of memory."""
    return LaneQuery(request.query, request.max_snippets, request.context_profile_id)


def snippet_messages(scope: Scope, snippets: Iterable[Snippet]) -> list[wire.MemorySnippet]:
    """Return passages with the scope in which they lie."""
    place = wire.SnippetScope(
        tenant_id=scope.tenant, user_id=scope.user, agent_id=scope.agent, project_id=scope.project
    )
    return [wire.MemorySnippet(scope=place, relative_path=each.path, text=each.text) for each in snippets]


def context_response(context: Context) -> wire.RetrieveContextResponse:
    """Return what goes into the prompt."""
    snippets = [
        wire.ContextSnippet(lane=f"CONTEXT_LANE_{each.lane.name}", relative_path=each.path, text=each.text)
        for each in context.snippets
    ]
    return wire.RetrieveContextResponse(
        snippets=snippets,
        block=context.block,
        dropped_snippets=context.dropped_snippets,
        lanes=[_lane_status(report) for report in context.lanes],
        standing_lines_omitted=context.standing_lines_omitted,
    )


def _lane_status(report: LaneReport) -> wire.LaneStatus:
    return wire.LaneStatus(
        lane=f"CONTEXT_LANE_{report.lane.name}",
        failed=report.failure is not None,
        reason=report.failure.value if report.failure else "",
    )


def interaction(request: wire.RecordInteractionRequest) -> Interaction:
    """Return a turn.

    Raises:
        InvalidArguments: a message has no role that is known, or breaks a rule of messages.
    """
    return Interaction(
        messages=tuple(_message(message) for message in request.messages),
        turn_run_id=request.turn_run_id,
        metadata=struct_to_json(request.metadata) if request.HasField("metadata") else None,
        background=request.background,
    )


def _message(message: wire.InteractionMessage) -> Message:
    role = _ROLES.get(message.role)
    if role is None:
        raise InvalidArguments("A message must have a role: user, assistant, system or tool.", field="messages.role")
    return Message(role, message.content, message.name)


def record_response(recorded: Recorded) -> wire.RecordInteractionResponse:
    """Return what was recorded."""
    return wire.RecordInteractionResponse(
        recorded=bool(recorded.path),
        path=recorded.path,
        turns_since_curation=recorded.turns,
        curation_due=recorded.is_due,
    )


def claim_response(claim: Claim | None, guide: CurationGuide) -> wire.ClaimCurationResponse:
    """Return the lease and the work; nothing but `claimed: false` without a lease."""
    if claim is None:
        return wire.ClaimCurationResponse()
    return wire.ClaimCurationResponse(
        claimed=True,
        lease_id=claim.lease.lease_id,
        document=claim.document,
        document_sha256=claim.lease.document_sha256,
        prompt=guide.prompt,
        report_schema_json=guide.report_schema_json,
        max_model_calls=MAX_MODEL_CALLS,
        expires_at=timestamp(claim.lease.expires_at),
    )


def completion(request: wire.CompleteCurationRequest) -> Completion:
    """Return how a claim shall end.

    Raises:
        InvalidArguments: content or report break their rules.
    """
    report = request.report
    return Completion(
        lease_id=request.lease_id,
        content=request.content if request.HasField("content") else None,
        report=Report(report.kept, report.merged, report.rewritten, report.superseded, tuple(report.conflicts)),
        abandon=request.abandon,
    )


def complete_response(completed: Completed) -> wire.CompleteCurationResponse:
    """Return what came of a claim."""
    return wire.CompleteCurationResponse(
        outcome=f"CURATION_OUTCOME_{completed.outcome.name}", content_sha256=completed.content_sha256
    )
