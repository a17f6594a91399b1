"""The guard of the HTTP transport: who is let in, what is refused before anything is read, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import ssl

import httpx2
import pytest
import trustme

from tests.caller import new_tenant
from tests.wire.mcp_host import STOP_SECONDS, endpoint, over_http, run_to_its_end
from tests.wire.stalling_service import STALL_SECONDS, stalling_service

TOKEN = "a-token-of-thirty-two-characters"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def open_door(server):
    """An endpoint that asks for no token."""
    with endpoint("--server", server.address, "--tenant", new_tenant()) as serving:
        yield serving


def post(url: str, **headers: str | bytes) -> httpx2.Response:
    """Send a ping with more headers."""
    return httpx2.post(url, json=PING, headers=HEADERS | {name.title(): value for name, value in headers.items()})


def test_this_machine_is_let_in_and_nobody_else_by_name(open_door):
    """A page whose name resolves to 127.0.0.1, or that runs elsewhere, is refused by Host and by Origin."""
    port = open_door.url.split(":")[2].split("/")[0]
    assert open_door.who == "everybody on this machine"
    assert '"result":{}' in post(open_door.url).text
    assert post(open_door.url, host=f"localhost:{port}").status_code == 200
    assert post(open_door.url, origin=f"http://127.0.0.1:{port}").status_code == 200
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "127.0.0.2"):
        assert post(open_door.url, host=host).status_code == 421, host
    for origin in ("http://evil.example", "http://localhost.evil.example", "null", f"https://evil.example:{port}"):
        assert post(open_door.url, origin=origin).status_code == 403, origin


def test_a_modern_request_is_guarded_as_well(open_door):
    """The revision's other entry has the same guard."""
    modern = {"mcp-protocol-version": "2026-07-28"}
    assert post(open_door.url, host="evil.example", **modern).status_code == 421
    assert post(open_door.url, origin="http://evil.example", **modern).status_code == 403


def test_what_isnt_the_protocol_is_refused(open_door):
    """Another path, another type and a body beyond the limit cost nothing and break nothing."""
    assert post(open_door.url.replace("/mcp", "/")).status_code == 404
    plain = httpx2.post(open_door.url, content=b"{}", headers=HEADERS | {"Content-Type": "text/plain"})
    assert plain.status_code == 400
    large = httpx2.post(open_door.url, content=b" " * (5 << 20), headers=HEADERS | {"Content-Type": "application/json"})
    assert large.status_code == 413
    assert post(open_door.url).status_code == 200


@pytest.mark.parametrize("source", ["environment", "file"])
def test_a_token_is_asked_for(server, tmp_path, source):
    """Without it, or with another, the answer is 401 before anything is read; with it the tools work."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    arguments = ("--server", server.address, "--tenant", new_tenant())
    given = (
        endpoint(*arguments, "--http-token-file", str(file))
        if source == "file"
        else endpoint(*arguments, env={"IRONCLAW_MEMORY_MCP_TOKEN": TOKEN})
    )
    with given as serving:
        assert serving.who == "callers with the token"
        wrong = ("Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, b"\xff \xff")
        for authorization in wrong:
            refused = post(serving.url, authorization=authorization)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), authorization
            assert TOKEN not in refused.text
        assert post(serving.url).status_code == 401
        assert post(serving.url, authorization=f"bearer {TOKEN}").status_code == 200
        asyncio.run(list_memory(serving.url, token=TOKEN))
        assert post(serving.url, authorization=f"Bearer {TOKEN}", host="evil.example").status_code == 421
        assert TOKEN not in serving.errors


def test_https_with_a_token(server, tmp_path):
    """With a certificate the endpoint is HTTPS, and a name beside loopback's is let in by an option."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "chain.pem"))
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    files = ("--http-certificate", str(tmp_path / "chain.pem"), "--http-private-key", str(tmp_path / "key.pem"))
    arguments = ("--server", server.address, "--tenant", new_tenant(), "--http-host", "memory.example", *files)
    with endpoint(*arguments, env={"IRONCLAW_MEMORY_MCP_TOKEN": TOKEN}) as serving:
        assert serving.url.startswith("https://127.0.0.1:")
        asyncio.run(list_memory(serving.url, token=TOKEN, verify=trusting))
        headers = HEADERS | {"Authorization": f"Bearer {TOKEN}"}
        named = httpx2.post(serving.url, json=PING, headers=headers | {"Host": "memory.example"}, verify=trusting)
        assert named.status_code == 200


async def list_memory(url: str, **options) -> None:
    """Use a tool over HTTP."""
    async with over_http(url, **options) as client:
        assert (await client.call_tool("ironclaw_memory_tree")).structured_content == []


REFUSED = [
    (("--http", "0.0.0.0:0"), {}, "no loopback address"),
    (("--http", "0.0.0.0:0"), {"IRONCLAW_MEMORY_MCP_TOKEN": TOKEN}, "HTTPS"),
    (("--http", "[::]:0"), {"IRONCLAW_MEMORY_MCP_TOKEN": TOKEN}, "HTTPS"),
    (("--http", "memory.example:443"), {}, "no loopback address"),
    (("--http", "127.0.0.1"), {}, "must be HOST:PORT"),
    (("--http", "127.0.0.1:99999"), {}, "must be HOST:PORT"),
    (("--http", "unix:/tmp/s:1"), {}, "must be HOST:PORT"),
    (("--http", "127.0.0.1:0"), {"IRONCLAW_MEMORY_MCP_TOKEN": "short"}, "at least 16"),
    (("--http", "127.0.0.1:0"), {"IRONCLAW_MEMORY_MCP_TOKEN": "sixteen or more, with spaces"}, "no spaces"),
    (("--http", "127.0.0.1:0", "--http-token-file", "/nonexistent"), {}, "can't be read"),
    (("--http", "127.0.0.1:0", "--http-certificate", "chain.pem"), {}, "go together"),
    (("--http", "127.0.0.1:0", "--http-certificate", "/nonexistent", "--http-private-key", "/nonexistent"), {}, "TLS"),
    (("--http-host", "memory.example"), {}, "need --http"),
]


@pytest.mark.parametrize(("arguments", "env", "said"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_isnt_safe_isnt_served(arguments, env, said):
    """Beyond loopback only with a token and HTTPS; what is wrong is said in a line, with exit code 2."""
    refused = run_to_its_end(*arguments, env=env)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert refused.stdout == ""


def test_a_port_that_is_taken_is_said(open_door):
    """Nobody's port is shared."""
    address = open_door.url.split("/")[2]
    refused = run_to_its_end("--http", address)
    assert refused.returncode == 2
    assert "can't be bound" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_calls_in_flight(number):
    """It doesn't wait for ever for a call that the service doesn't answer, and exits with 0."""
    with stalling_service(stalls=True) as service:
        arguments = ("--server", service.address, "--deadline", str(STALL_SECONDS))
        with endpoint(*arguments) as serving:
            asyncio.run(end_while_calling(serving, service, number))


async def end_while_calling(serving, service, number: int) -> None:
    """Send the signal once the service has a call, and wait for the end."""
    call = {"name": "ironclaw_memory_profile_set", "arguments": {"locale": "de"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    async with httpx2.AsyncClient(timeout=STALL_SECONDS) as web:
        calling = asyncio.create_task(web.post(serving.url, json=request, headers=HEADERS))
        assert await asyncio.to_thread(service.began.wait, STALL_SECONDS)
        serving.process.send_signal(number)
        assert await asyncio.to_thread(serving.process.wait, STOP_SECONDS) == 0
        assert service.given_up.is_set()
        await asyncio.gather(calling, return_exceptions=True)
