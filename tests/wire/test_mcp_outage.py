"""What a host and its model notice of a service that is down, slow, or doesn't want them."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.server_process import run_server
from tests.wire.credentials import make_key
from tests.wire.mcp_host import endpoint, error, over_http, over_stdio, text
from tests.wire.stalling_service import STALL_SECONDS, stalling_service

pytestmark = pytest.mark.asyncio

WRITE = ("ironclaw_memory_write", {"target": "n.md", "content": "x"})
SET = ("ironclaw_memory_profile_set", {"locale": "de"})
DOUBT = "may have been made or not"


@pytest.fixture
def socket_path():
    """A path short enough for a Unix socket, on which nobody listens yet."""
    with tempfile.TemporaryDirectory(prefix="im-") as folder:
        yield Path(folder) / "s"


async def test_a_service_that_comes_up_later_is_found(socket_path, tmp_path):
    """Without a service the tools are there and say so; once it is up, they work, in the same session."""
    target = f"unix:{socket_path}"
    async with over_stdio("--server", target, "--deadline", "2") as client:
        assert len((await client.list_tools()).tools) == 5
        assert client.instructions.startswith("# Persistent memory")
        lost = error(await client.call_tool(*WRITE))
        assert (lost["kind"], lost["reason"]) == ("unavailable", "UNREACHABLE")
        assert DOUBT in lost["message"]
        assert str(socket_path) not in lost["message"]
        unread = error(await client.call_tool("ironclaw_memory_read", {"path": "n.md"}))
        assert DOUBT not in unread["message"]
        with pytest.raises(MCPError, match="can't be reached"):
            await client.get_prompt("memory_recall", {"about": "tea"})
        with run_server(tmp_path / "data", listen=target):
            with anyio.fail_after(60):
                while (await client.call_tool("ironclaw_memory_tree")).is_error:
                    pass
            assert not (await client.call_tool(*WRITE)).is_error


async def test_a_service_that_never_answers_is_given_up(socket_path):
    """The deadline ends the call; a change is in doubt then, and the model is told."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(socket_path))
        silent.listen()
        async with over_stdio("--server", f"unix:{socket_path}", "--deadline", "0.5") as client:
            late = error(await client.call_tool(*WRITE))
    assert (late["kind"], late["reason"]) == ("unavailable", "DEADLINE_EXCEEDED")
    assert DOUBT in late["message"]


async def test_a_credential_that_isnt_accepted_is_told(tmp_path):
    """With a key it works; without one, or with a wrong one, the model learns why nothing does."""
    key = make_key(tmp_path / "data", "--tenant", "acme", "--any-user")["key"]
    with run_server(tmp_path / "data") as server:
        scope = ("--server", server.address, "--tenant", "acme")
        async with over_stdio(*scope, env={"IRONCLAW_MEMORY_TOKEN": key}) as client:
            assert not (await client.call_tool(*WRITE)).is_error
        async with over_stdio(*scope) as client:
            assert error(await client.call_tool(*WRITE))["reason"] == "CREDENTIALS_MISSING"
        async with over_stdio(*scope[:-1], "others", env={"IRONCLAW_MEMORY_TOKEN": key}) as client:
            assert len((await client.list_tools()).tools) == 5
            assert error(await client.call_tool(*WRITE))["reason"] == "SCOPE_FORBIDDEN"
        async with over_stdio(*scope, env={"IRONCLAW_MEMORY_TOKEN": "wrong"}) as client:
            wrong = error(await client.call_tool(*WRITE))
            assert wrong["reason"] == "CREDENTIALS_INVALID"
            assert "wrong" not in wrong["message"]


async def test_a_call_has_one_request_id_over_its_tries():
    """What the client has to send again is the same change; the next call is another."""
    with stalling_service(refusals=2) as service:
        async with over_stdio("--server", service.address) as client:
            first = await client.call_tool(*SET)
            second = await client.call_tool(*SET)
    assert text(first) == text(second) == '{"status": "ok"}'
    assert len(service.request_ids) == 4
    assert len(set(service.request_ids[:3])) == 1
    assert service.request_ids[3] != service.request_ids[0]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_cancelling_over_stdio_cancels_the_call(mode):
    """The host's cancellation reaches the service, and the session goes on."""
    with stalling_service(stalls=True) as service:
        async with over_stdio("--server", service.address, "--deadline", str(STALL_SECONDS), mode=mode) as client:
            await cancel_when_begun(client, service)
            service.stalls = False
            assert not (await client.call_tool(*SET)).is_error


async def test_closing_the_connection_over_http_cancels_the_call():
    """A host that goes away lets go of what it asked for."""
    with stalling_service(stalls=True) as service:
        arguments = ("--server", service.address, "--deadline", str(STALL_SECONDS))
        with endpoint(*arguments) as serving:
            async with over_http(serving.url) as client:
                await cancel_when_begun(client, service)
                service.stalls = False
                assert not (await client.call_tool(*SET)).is_error


async def cancel_when_begun(client, service) -> None:
    """Cancel a call once the service has it, and wait until the service notices."""
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(*SET))
        assert await asyncio.to_thread(service.began.wait, STALL_SECONDS)
        calling.cancel()
    assert await asyncio.to_thread(service.given_up.wait, STALL_SECONDS / 2)
