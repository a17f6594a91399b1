"""What the MCP server tells a host of failures that a real service can't be made to show."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR

from ironclaw_memory.mcp_server import answers
from ironclaw_memory.mcp_server.catalogue import Catalogue
from ironclaw_memory.mcp_server.definitions import define_tools
from ironclaw_memory.mcp_server.handlers import make_server
from ironclaw_memory_client import (
    DeadlineExceededError,
    ErrorDetails,
    InvokeResult,
    MemoryServiceError,
    OverloadedError,
    Tool,
    ToolCatalogue,
    UnauthenticatedError,
    UnreachableError,
)

ADDRESS = "failed to connect to all addresses; last error: ipv4:10.1.2.3:50051"
FORGET = Tool("ironclaw.memory.forget", "Forget.", '{"type": "object"}', '{"type": "object"}', "# Forget", writes=True)
CATALOGUE = ToolCatalogue((FORGET,), "# Guidance")


class Answering:
    """A client whose calls end as a test says: by a result, or by an exception."""

    def __init__(self, end: Any) -> None:
        self._end = end
        self.arguments: list[str] = []

    async def list_tools(self, **_options: Any) -> ToolCatalogue:
        """Return the catalogue."""
        return CATALOGUE

    async def invoke(self, _name: str, arguments_json: str) -> InvokeResult:
        """Return or raise."""
        self.arguments.append(arguments_json)
        if isinstance(self._end, Exception):
            raise self._end
        return self._end

    async def retrieve_context(self, _subject: str) -> Any:
        """Return or raise."""
        return await self.invoke("", "")


FAILURES = [
    (UnreachableError, ErrorDetails(grpc.StatusCode.UNAVAILABLE, ADDRESS), "unavailable", "UNREACHABLE"),
    (
        DeadlineExceededError,
        ErrorDetails(grpc.StatusCode.DEADLINE_EXCEEDED, ADDRESS),
        "unavailable",
        "DEADLINE_EXCEEDED",
    ),
    (UnauthenticatedError, ErrorDetails(grpc.StatusCode.UNAUTHENTICATED, ADDRESS), "operation", "UNAUTHENTICATED"),
    (MemoryServiceError, ErrorDetails(grpc.StatusCode.UNIMPLEMENTED, ADDRESS), "operation", "UNIMPLEMENTED"),
]


@pytest.mark.parametrize(("kind_of_error", "details", "kind", "reason"), FAILURES, ids=[f[3] for f in FAILURES])
def test_a_failure_that_isnt_the_services_own_is_told_in_our_words(kind_of_error, details, kind, reason):
    """The model learns what to do and whether a change is in doubt, and no address."""
    told = answers.explain(kind_of_error(details), writes=True)
    assert (told.kind, told.reason) == (kind, reason)
    assert "10.1.2.3" not in told.message
    assert told.message.endswith(answers.MAY_BE_DONE)
    assert not answers.explain(kind_of_error(details), writes=False).message.endswith(answers.MAY_BE_DONE)


def test_the_services_own_words_go_on_as_they_are():
    """They say more exactly what happened, and hold nothing that a model mustn't see."""
    details = ErrorDetails(grpc.StatusCode.UNAVAILABLE, "Busy.", "OVERLOADED", "unavailable", retry_after=1.0)
    told = answers.explain(OverloadedError(details), writes=True)
    assert (told.kind, told.reason, told.message) == ("unavailable", "OVERLOADED", "Busy.")


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    "end", [RuntimeError("secret"), InvokeResult("no JSON: secret", (), None)], ids=["raise", "JSON"]
)
async def test_a_fault_of_ours_says_nothing_of_itself(end, mode, capsys):
    """An exception's text could hold anything; the host gets the protocol's word for it, and the log its place."""
    client: Any = Answering(end)
    server = make_server(client, Catalogue(client, CATALOGUE, dotted=False), "1")
    async with Client(server, mode=mode) as host:
        with pytest.raises(MCPError) as refused:
            await host.call_tool("ironclaw_memory_forget", {})
        with pytest.raises(MCPError, match=r"^Internal error$"):
            await host.get_prompt("memory_recall", {"about": "tea"})
    assert (refused.value.code, refused.value.message) == (INTERNAL_ERROR, "Internal error")
    logged = "".join(capsys.readouterr())
    assert "handlers.py:" in logged
    assert "secret" not in logged


@pytest.mark.asyncio
async def test_arguments_too_deep_to_be_put_as_json_are_the_models_to_mend():
    """They are refused here, as the service would refuse them."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    client: Any = Answering(None)
    server = make_server(client, Catalogue(client, CATALOGUE, dotted=False), "1")
    handler = server.get_request_handler("tools/call")
    assert handler is not None
    params = handler.params_type.model_construct(name="ironclaw_memory_forget", arguments=deep)
    context: Any = None
    result = await handler.handler(context, params)
    assert result.is_error
    assert "INVALID_ARGUMENTS" in result.content[0].text
    assert client.arguments == []
    while deep:  # taken apart from outside, since even freeing it would recurse
        deep = deep["a"]


def test_a_tool_that_this_package_doesnt_know_is_described_with_caution():
    """A newer service may have more tools: one that writes is taken for one that overwrites."""
    (tool,) = define_tools(CATALOGUE, dotted=False, any_output=True)
    assert (tool.name, tool.title) == ("ironclaw_memory_forget", "ironclaw.memory.forget")
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is False
    assert tool.annotations.destructive_hint is True
    assert tool.annotations.idempotent_hint is False
