"""`MemoryLifecycleService`: what a host calls around a turn."""

from __future__ import annotations

import grpc

from ironclaw.memory.v1 import lifecycle_service_pb2 as wire
from ironclaw.memory.v1 import lifecycle_service_pb2_grpc as stubs
from ironclaw_memory.catalog import CurationGuide
from ironclaw_memory.interceptors.call import current_call
from ironclaw_memory.memory.context import ContextBuilder
from ironclaw_memory.memory.curation import Curator
from ironclaw_memory.memory.interactions import InteractionRecorder
from ironclaw_memory.memory.lanes import LaneReader
from ironclaw_memory.memory.profile import ProfileReader
from ironclaw_memory.services import lifecycle_messages as messages


class MemoryLifecycleServicer(stubs.MemoryLifecycleServiceServicer):
    """Serves `ironclaw.memory.v1.MemoryLifecycleService`; each method is documented in the proto."""

    def __init__(
        self,
        lanes: LaneReader,
        context: ContextBuilder,
        recorder: InteractionRecorder,
        profiles: ProfileReader,
        curator: Curator,
        guide: CurationGuide,
    ) -> None:
        self._lanes = lanes
        self._context = context
        self._recorder = recorder
        self._profiles = profiles
        self._curator = curator
        self._guide = guide

    def ReadLongTerm(  # noqa: N802
        self, request: wire.ReadLongTermRequest, context: grpc.ServicerContext
    ) -> wire.ReadLongTermResponse:
        """Return MEMORY.md's chunks and the passages that match."""
        del context
        call = current_call()
        lane = self._lanes.read_long_term(call, messages.lane_query(request))
        return wire.ReadLongTermResponse(
            snippets=messages.snippet_messages(call.scope, lane.snippets),
            standing_lines_omitted=lane.standing_lines_omitted,
        )

    def ReadShortTerm(  # noqa: N802
        self, request: wire.ReadShortTermRequest, context: grpc.ServicerContext
    ) -> wire.ReadShortTermResponse:
        """Return passages of the active thread."""
        del context
        call = current_call()
        snippets = self._lanes.read_short_term(call, messages.lane_query(request))
        return wire.ReadShortTermResponse(snippets=messages.snippet_messages(call.scope, snippets))

    def RetrieveContext(  # noqa: N802
        self, request: wire.RetrieveContextRequest, context: grpc.ServicerContext
    ) -> wire.RetrieveContextResponse:
        """Return both lanes, ready for a prompt."""
        del context
        return messages.context_response(self._context.retrieve(current_call(), messages.lane_query(request)))

    def RecordInteraction(  # noqa: N802
        self, request: wire.RecordInteractionRequest, context: grpc.ServicerContext
    ) -> wire.RecordInteractionResponse:
        """Store a turn's exchange."""
        del context
        return messages.record_response(self._recorder.record(current_call(), messages.interaction(request)))

    def ProfileRead(  # noqa: N802
        self, request: wire.ProfileReadRequest, context: grpc.ServicerContext
    ) -> wire.ProfileReadResponse:
        """Return the profile's bytes."""
        del request, context
        return wire.ProfileReadResponse(document=self._profiles.read(current_call()))

    def ClaimCuration(  # noqa: N802
        self, request: wire.ClaimCurationRequest, context: grpc.ServicerContext
    ) -> wire.ClaimCurationResponse:
        """Give one caller MEMORY.md to tidy."""
        del context
        seconds = request.lease_seconds if request.HasField("lease_seconds") else None
        claim = self._curator.claim(current_call(), seconds, force=request.force)
        return messages.claim_response(claim, self._guide)

    def CompleteCuration(  # noqa: N802
        self, request: wire.CompleteCurationRequest, context: grpc.ServicerContext
    ) -> wire.CompleteCurationResponse:
        """End a claim."""
        del context
        return messages.complete_response(self._curator.complete(current_call(), messages.completion(request)))
