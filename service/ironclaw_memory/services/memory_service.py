"""`MemoryService`: the five tools, typed and by name."""

from __future__ import annotations

import grpc

from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw.memory.v1 import memory_service_pb2_grpc as stubs
from ironclaw_memory.catalog import Catalog
from ironclaw_memory.interceptors.call import current_call
from ironclaw_memory.memory.profile import ProfileWriter
from ironclaw_memory.memory.read import Reader
from ironclaw_memory.memory.search import Searcher
from ironclaw_memory.memory.tools import Toolbox
from ironclaw_memory.memory.tree import Lister
from ironclaw_memory.memory.write import Writer
from ironclaw_memory.services import messages


class MemoryServicer(stubs.MemoryServiceServicer):
    """Serves `ironclaw.memory.v1.MemoryService`; each method is documented in the proto."""

    def __init__(
        self,
        writer: Writer,
        reader: Reader,
        searcher: Searcher,
        lister: Lister,
        profiles: ProfileWriter,
        catalog: Catalog,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._searcher = searcher
        self._lister = lister
        self._profiles = profiles
        self._toolbox = Toolbox(writer, reader, searcher, lister, profiles)
        self._tools = _list_tools(catalog)

    def Write(self, request: wire.WriteRequest, context: grpc.ServicerContext) -> wire.WriteResponse:  # noqa: N802
        """Append, replace or patch a document."""
        del context
        return messages.write_response(self._writer.write(current_call(), messages.write_arguments(request)))

    def Read(self, request: wire.ReadRequest, context: grpc.ServicerContext) -> wire.ReadResponse:  # noqa: N802
        """Return a document."""
        del context
        return messages.read_response(self._reader.read(current_call(), request.path))

    def Search(self, request: wire.SearchRequest, context: grpc.ServicerContext) -> wire.SearchResponse:  # noqa: N802
        """Return the best matches."""
        del context
        return messages.search_response(self._searcher.search(current_call(), messages.search_arguments(request)))

    def Tree(self, request: wire.TreeRequest, context: grpc.ServicerContext) -> wire.TreeResponse:  # noqa: N802
        """Return what is in a folder."""
        del context
        arguments = messages.tree_arguments(request)
        entries, truncated = self._lister.tree(current_call(), arguments.path, arguments.depth)
        return wire.TreeResponse(entries=messages.tree_messages(entries), truncated=truncated)

    def ProfileSet(  # noqa: N802
        self, request: wire.ProfileSetRequest, context: grpc.ServicerContext
    ) -> wire.ProfileSetResponse:
        """Merge facts into the profile."""
        del context
        replayed = self._profiles.set(current_call(), messages.profile_arguments(request))
        return wire.ProfileSetResponse(status=wire.PROFILE_SET_STATUS_OK, replayed=replayed)

    def ListTools(  # noqa: N802
        self, request: wire.ListToolsRequest, context: grpc.ServicerContext
    ) -> wire.ListToolsResponse:
        """Return the catalogue."""
        del request, context
        return self._tools

    def InvokeTool(  # noqa: N802
        self, request: wire.InvokeToolRequest, context: grpc.ServicerContext
    ) -> wire.InvokeToolResponse:
        """Run a tool on a model's JSON."""
        del context
        outcome = self._toolbox.invoke(current_call(), request.tool_id, request.arguments_json)
        return wire.InvokeToolResponse(
            output_json=outcome.output_json,
            advisories=messages.advisory_messages(outcome.advisories),
            error=None if outcome.error is None else messages.tool_error(outcome.error),
        )


def _list_tools(catalog: Catalog) -> wire.ListToolsResponse:
    tools = [
        wire.Tool(
            id=tool.id,
            description=tool.description,
            input_schema_json=tool.input_schema_json,
            output_schema_json=tool.output_schema_json,
            prompt=tool.prompt,
            writes=tool.writes,
        )
        for tool in catalog.tools
    ]
    return wire.ListToolsResponse(tools=tools, guidance=catalog.guidance)
