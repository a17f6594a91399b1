"""The protocol's requests, answered by the service: tools, and two prompts for hosts that offer prompts to their users.

A fault inside the tool comes back in band, for the model to mend. So does an outage: an error of the protocol would be
the host's affair, and the model would know only that something failed. Errors of the protocol are kept for what no
model can mend, such as a tool that doesn't exist. Nothing of an exception of ours reaches the host.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, TypeVar

import mcp.types as protocol
import structlog
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ironclaw_memory_client import AsyncMemoryClient, InvokeResult, MemoryServiceError

from . import answers
from .calls import call_apart
from .catalogue import Catalogue
from .definitions import define_tools

NAME: Final = "ironclaw-memory"

GUIDANCE_PROMPT: Final = protocol.Prompt(
    name="memory_guidance",
    title="Memory: how to use it",
    description="How the model should use this memory, for hosts that don't show a server's instructions to it.",
)
RECALL_PROMPT: Final = protocol.Prompt(
    name="memory_recall",
    title="Memory: recall",
    description="What the memory holds about a subject, with the facts that are always at hand.",
    arguments=[protocol.PromptArgument(name="about", description="The subject, in plain words.", required=True)],
)

log = structlog.get_logger("ironclaw_memory.mcp")

Params = TypeVar("Params")
Answer = TypeVar("Answer")
Context: TypeAlias = ServerRequestContext[Any]
Handler: TypeAlias = Callable[[Context, Params], Awaitable[Answer]]


class Handlers:
    """Answer requests, for all who are connected: they share one scope and one connection to the service.

    Args:
        client: makes the calls, in the scope that the operator configured.
        catalogue: the tools that there are.
    """

    def __init__(self, client: AsyncMemoryClient, catalogue: Catalogue) -> None:
        self._client = client
        self._catalogue = catalogue

    async def list_tools(
        self, context: Context, _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        """Answer `tools/list`: all tools on one page."""
        seen = await self._catalogue.refresh()
        tools = define_tools(seen, dotted=self._catalogue.dotted, any_output=_takes_any_output(context))
        return protocol.ListToolsResult(tools=tools)

    async def call_tool(self, context: Context, params: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        """Answer `tools/call`. The service makes a change once, however often the client has to send it.

        Raises:
            MCPError: there is no such tool.
        """
        writes = self._catalogue.writes(params.name)
        if writes is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        try:
            result = await self._invoke(params)
            if result.error is not None:
                return answers.failure(result.error)
            return answers.success(result, any_output=_takes_any_output(context))
        except MemoryServiceError as error:
            _log_failure("tool call failed", error)
            return answers.failure(answers.explain(error, writes=writes))

    async def _invoke(self, params: protocol.CallToolRequestParams) -> InvokeResult:
        try:
            # Escapes keep a lone surrogate sendable; the service says what is wrong with it.
            arguments_json = json.dumps(params.arguments or {})
        except RecursionError:
            return InvokeResult("", (), answers.NOT_JSON)
        return await call_apart(self._client.invoke(params.name, arguments_json))

    async def list_prompts(
        self, _context: Context, _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListPromptsResult:
        """Answer `prompts/list`."""
        return protocol.ListPromptsResult(prompts=[GUIDANCE_PROMPT, RECALL_PROMPT])

    async def get_prompt(self, _context: Context, params: protocol.GetPromptRequestParams) -> protocol.GetPromptResult:
        """Answer `prompts/get`.

        Raises:
            MCPError: there is no such prompt, an argument is missing, or the service can't answer.
        """
        if params.name == GUIDANCE_PROMPT.name:
            return _prompt(self._catalogue.instructions())
        if params.name == RECALL_PROMPT.name:
            return _prompt(await self._recall((params.arguments or {}).get("about", "")))
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}")

    async def _recall(self, subject: str) -> str:
        """Return what the service would put into a prompt: passages in envelopes that mark them as untrusted."""
        if not subject.strip():
            raise MCPError(INVALID_PARAMS, "Missing argument: about")
        try:
            context = await call_apart(self._client.retrieve_context(subject))
        except MemoryServiceError as error:
            _log_failure("recall failed", error)
            raise MCPError(INTERNAL_ERROR, answers.explain(error, writes=False).message) from None
        return f"This is what my memory holds about {subject}:\n\n{context.block or 'Nothing.'}"


def make_server(client: AsyncMemoryClient, catalogue: Catalogue, version: str) -> Server[Any]:
    """Return the protocol's server; a transport runs it.

    Args:
        client: makes the calls; it stays the caller's to close.
        catalogue: the tools that there are.
        version: of this package, for the host to show.
    """
    handlers = Handlers(client, catalogue)
    return Server(
        NAME,
        version=version,
        title="ironclaw-memory",
        description="Memory that outlives a conversation, kept in plain files.",
        instructions=catalogue.instructions(),
        on_list_tools=_masked(handlers.list_tools),
        on_call_tool=_masked(handlers.call_tool),
        on_list_prompts=_masked(handlers.list_prompts),
        on_get_prompt=_masked(handlers.get_prompt),
    )


def _masked(handler: Handler[Params, Answer]) -> Handler[Params, Answer]:
    """Let only errors of the protocol out of a handler; the SDK would send the text of any other to the host."""

    async def run(context: Context, params: Params) -> Answer:
        try:
            return await handler(context, params)
        except MCPError:
            raise
        except Exception as error:
            _log_fault(error)
            raise MCPError(INTERNAL_ERROR, "Internal error") from None

    return run


def _takes_any_output(context: Context) -> bool:
    """Tell whether this revision of the protocol lets a tool return what isn't an object, as `tree` does."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _prompt(text: str) -> protocol.GetPromptResult:
    content = protocol.TextContent(type="text", text=text)
    return protocol.GetPromptResult(messages=[protocol.PromptMessage(role="user", content=content)])


def _log_failure(what: str, error: MemoryServiceError) -> None:
    log.warning(what, code=error.code.name, reason=error.reason, detail="" if error.reason else error.message)


def _log_fault(error: Exception) -> None:
    # Frames and type only: an exception's text may hold a document's words.
    frames = [f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    log.error("request failed unexpectedly", error=type(error).__name__, at=frames[-8:])
