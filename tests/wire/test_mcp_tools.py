"""The five tools as an MCP host meets them, over both transports, against a real server."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from ironclaw_memory import __version__
from tests.caller import Caller, new_tenant
from tests.wire.mcp_host import HIJACK, endpoint, error, over_http, over_stdio, text

pytestmark = pytest.mark.asyncio

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    "ironclaw_memory_write": "document-write",
    "ironclaw_memory_read": "document-read",
    "ironclaw_memory_search": "document-search",
    "ironclaw_memory_tree": "document-tree",
    "ironclaw_memory_profile_set": "profile-set",
}
OLD = "legacy"
"""The handshake of the revisions until 2025-11-25, which most hosts still speak."""


class Host:
    """A host with a tenant of its own.

    Attributes:
        caller: calls to the service in the same scope, past MCP.
    """

    def __init__(self, transport: str, caller: Caller, address: str) -> None:
        self.caller = caller
        self._transport = transport
        scope = (part for axis, value in caller.scope.items() for part in (f"--{axis}", value))
        self._arguments = ["--server", address, *filter(None, scope)]
        self._endpoints: list[Any] = []

    def connect(self, *arguments: str, mode: str = "auto") -> AbstractAsyncContextManager[Client]:
        """Connect, with more options on the command line."""
        if self._transport == "stdio":
            return over_stdio(*self._arguments, *arguments, mode=mode)
        serving = endpoint(*self._arguments, *arguments)
        self._endpoints.append(serving)
        return over_http(serving.__enter__().url, mode=mode)

    def close(self) -> None:
        """End what is still running."""
        for serving in self._endpoints:
            serving.__exit__(None, None, None)


@pytest.fixture(params=["stdio", "http"])
def host(request, server, caller):
    """A host over each transport, in a tenant of its own."""
    made = Host(request.param, caller, server.address)
    yield made
    made.close()


@pytest.fixture
def one_host(server, caller):
    """A host in a tenant of its own, for what no transport can change."""
    return Host("stdio", caller, server.address)


def schema(file: str) -> dict[str, Any]:
    """Return a schema of the repository with tools named as hosts name them, without what says where it is from."""
    found = (ROOT / "schemas" / "memory" / f"{file}.v1.json").read_text("utf-8")
    parsed = json.loads(found.replace("ironclaw.memory.", "ironclaw_memory_"))
    return {key: value for key, value in parsed.items() if key not in ("$schema", "$id")}


async def test_the_tools_are_the_catalogues(host):
    """Names, words and schemas are those of the one source, with underscores in every place; hints tell the effects."""
    async with host.connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert client.server_info.version == __version__
        guidance = client.instructions
    catalogue = {tool["id"].replace(".", "_"): tool for tool in host.caller.call("ListTools")["tools"]}
    assert list(tools) == list(catalogue) == list(SCHEMAS)
    for name, tool in tools.items():
        assert tool.input_schema == schema(f"{SCHEMAS[name]}.input")
        assert tool.output_schema == schema(f"{SCHEMAS[name]}.output")
        assert (
            tool.description
            == catalogue[name]["description"]
            + "\n\n"
            + catalogue[name]["prompt"].replace("ironclaw.memory.", "ironclaw_memory_").strip()
        )
        assert tool.annotations.read_only_hint is not catalogue[name].get("writes", False)
        assert tool.annotations.open_world_hint is False
    destructive = {name for name, tool in tools.items() if tool.annotations.destructive_hint}
    assert destructive == {"ironclaw_memory_write", "ironclaw_memory_profile_set"}
    assert [name for name, tool in tools.items() if not tool.annotations.idempotent_hint] == ["ironclaw_memory_write"]
    assert guidance.startswith("# Persistent memory")
    assert "ironclaw_memory_read" in guidance
    assert "Nothing of the memory comes back here by itself" in guidance
    assert "ironclaw.memory" not in guidance + "".join(tool.model_dump_json() for tool in tools.values())


async def test_each_tool_works(host):
    """What is written is read, found and listed; a result is the tool's output as a value and as JSON text."""
    async with host.connect() as client:
        written = await client.call_tool("ironclaw_memory_write", {"target": "memory", "content": "User likes 绿茶."})
        read = await client.call_tool("ironclaw_memory_read", {"path": "MEMORY.md"})
        found = await client.call_tool("ironclaw_memory_search", {"query": "绿茶"})
        tree = await client.call_tool("ironclaw_memory_tree")
        profile = await client.call_tool("ironclaw_memory_profile_set", {"locale": "zh-CN"})
    expected = {"status": "written", "path": "MEMORY.md", "append": True, "content_length": 19}
    assert written.structured_content == expected
    assert read.structured_content["content"] == host.caller.read("MEMORY.md") == "User likes 绿茶.\n"
    assert [hit["path"] for hit in found.structured_content["results"]] == ["MEMORY.md"]
    assert tree.structured_content == ["MEMORY.md"]
    assert profile.structured_content == {"status": "ok"}
    for result in (written, read, found, tree, profile):
        assert not result.is_error
        assert [json.loads(part.text) for part in result.content] == [result.structured_content]


async def test_older_hosts_get_what_their_revision_allows(host):
    """Before 2026-07-28 a structured result must be an object, so the tree is text alone; all else is the same."""
    async with host.connect(mode=OLD) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.instructions.startswith("# Persistent memory")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        await client.call_tool("ironclaw_memory_write", {"target": "a/b.md", "content": "x"})
        read = await client.call_tool("ironclaw_memory_read", {"path": "a/b.md"})
        tree = await client.call_tool("ironclaw_memory_tree", {"depth": 2})
        lost = await client.call_tool("ironclaw_memory_read", {"path": "missing.md"})
    assert [name for name, tool in tools.items() if tool.output_schema is None] == ["ironclaw_memory_tree"]
    assert read.structured_content["content"] == "x\n"
    assert (tree.structured_content, json.loads(text(tree))) == (None, [{"a/": ["b.md"]}])
    assert error(lost)["reason"] == "NOT_FOUND"


async def test_what_a_model_can_mend_comes_back_in_band(one_host):
    """A wrong argument, a missing document and a hijack are results that say why, and change nothing."""
    async with one_host.connect() as client:
        missing = error(await client.call_tool("ironclaw_memory_read", {"path": "missing.md"}))
        outside = error(await client.call_tool("ironclaw_memory_read", {"path": "../../etc/passwd"}))
        reserved = error(await client.call_tool("ironclaw_memory_write", {"target": "threads/x", "content": "x"}))
        blank = error(await client.call_tool("ironclaw_memory_write"))
        hijack = error(await client.call_tool("ironclaw_memory_write", {"target": "memory", "content": HIJACK}))
        stranger = error(await client.call_tool("ironclaw_memory_profile_set", {"mood": "good"}))
    assert (missing["kind"], missing["reason"]) == ("input", "NOT_FOUND")
    assert (outside["kind"], outside["reason"]) == ("input", "INVALID_PATH")
    assert reserved["reason"] == "RESERVED_NAMESPACE"
    assert (blank["kind"], blank["reason"]) == ("input", "INVALID_ARGUMENTS")
    assert hijack["kind"] == "operation"
    assert hijack["reason"].endswith("_PROMPT_INJECTION")
    assert stranger["reason"] == "INVALID_ARGUMENTS"
    assert one_host.caller.tree() == []


async def test_advice_follows_the_output(one_host):
    """What makes a stored text poor memory is told to the model, beside the output and not in it."""
    async with one_host.connect() as client:
        stored = await client.call_tool("ironclaw_memory_write", {"target": "n.md", "content": "Always be brief."})
    assert json.loads(text(stored)) == stored.structured_content
    assert text(stored, 1).startswith("Advice: ")
    assert len(stored.content) == 2


async def test_an_unknown_tool_is_an_error_of_the_protocol(host):
    """No model can mend a name that the host made up; the service's other methods are no tools either."""
    async with host.connect() as client:
        for name in ("ironclaw_memory_forget", "DeleteDocument", "", "ironclaw.memory.v1.MemoryService/Read"):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name, {})
            assert refused.value.code == INVALID_PARAMS
            assert refused.value.message == f"Unknown tool: {name}"


async def test_a_model_cant_leave_its_scope(host, server):
    """The scope is the command line's: arguments that name another change nothing, and tenants don't meet."""
    host.caller.within(user="bob").write("secret.md", "Bob's own.")
    elsewhere = {"tenant": host.caller.scope["tenant"], "user": "bob", "x-ironclaw-user-id": "bob"}
    async with host.connect() as client:
        assert error(await client.call_tool("ironclaw_memory_read", {"path": "secret.md", **elsewhere}))
        assert (await client.call_tool("ironclaw_memory_tree", elsewhere)).structured_content == []
        found = await client.call_tool("ironclaw_memory_search", {"query": "Bob", **elsewhere})
        assert found.structured_content["results"] == []
        await client.call_tool("ironclaw_memory_write", {"target": "mine.md", "content": "x", **elsewhere})
    assert host.caller.tree() == ["mine.md"]
    async with over_stdio("--server", server.address, "--tenant", new_tenant()) as other:
        assert (await other.call_tool("ironclaw_memory_tree")).structured_content == []


async def test_agent_and_project_are_options_too(one_host):
    """An agent's memory in a project is apart from that of none."""
    async with one_host.connect("--agent", "coder", "--project", "apollo") as client:
        await client.call_tool("ironclaw_memory_write", {"target": "n.md", "content": "x"})
    assert one_host.caller.tree() == []
    assert one_host.caller.within(agent="coder", project="apollo").tree() == ["n.md"]


async def test_concurrent_calls_are_all_made_once(host):
    """Thirty calls at a time, each with a request id of its own: equal appends are not taken for one."""
    async with host.connect() as client:
        call = {"target": "n.md", "content": "tick"}
        done = await asyncio.gather(*(client.call_tool("ironclaw_memory_write", call) for _ in range(30)))
    assert not any(result.is_error for result in done)
    assert host.caller.read("n.md") == "tick\n" * 30


async def test_a_large_document_comes_through(host):
    """A document as large as the service takes is written and read whole."""
    content = "绿" * 300_000
    async with host.connect() as client:
        arguments = {"target": "n.md", "content": content, "append": False}
        written = await client.call_tool("ironclaw_memory_write", arguments)
        read = await client.call_tool("ironclaw_memory_read", {"path": "n.md"})
    assert written.structured_content["content_length"] == 900_000
    assert read.structured_content["content"] == content


async def test_dotted_names_are_an_option(one_host):
    """Hosts that take any name may have the ids; a call by the other form of a name works as well."""
    async with one_host.connect("--dotted") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "ironclaw.memory.read" in client.instructions
        by_id = await client.call_tool("ironclaw.memory.tree")
        by_function_name = await client.call_tool("ironclaw_memory_tree")
    assert names == [name.replace("ironclaw_memory_", "ironclaw.memory.") for name in SCHEMAS]
    assert by_id.structured_content == by_function_name.structured_content == []


async def test_prompts_bring_guidance_and_recall(one_host):
    """A user can hand the guidance, and what is known of a subject in its envelopes, to a model."""
    one_host.caller.append("memory", "User likes green tea.")
    one_host.caller.within(thread="t-1").call(
        "ironclaw.memory.v1.MemoryLifecycleService/RecordInteraction",
        {"messages": [{"role": "MESSAGE_ROLE_USER", "content": "The kettle is broken."}], "turn_run_id": "r-1"},
    )
    async with one_host.connect("--thread", "t-1") as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["memory_guidance", "memory_recall"]
        guidance = await client.get_prompt("memory_guidance")
        recalled = await client.get_prompt("memory_recall", {"about": "kettle"})
        assert guidance.messages[0].content.text == client.instructions
        for wrong in (("memory_recall", {}), ("memory_recall", {"about": " "}), ("nothing", None)):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(*wrong)
            assert refused.value.code == INVALID_PARAMS
    told = recalled.messages[0].content.text
    assert "Untrusted memory content: MEMORY.md\nUser likes green tea." in told
    assert "The kettle is broken." in told


async def test_a_recall_without_memory_says_so(one_host):
    """An empty memory is no error."""
    async with one_host.connect() as client:
        recalled = await client.get_prompt("memory_recall", {"about": "tea"})
    assert recalled.messages[0].content.text == "This is what my memory holds about tea:\n\nNothing."
