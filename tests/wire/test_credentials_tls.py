"""Encrypted connections: certificates as credentials, bearer credentials over TLS, renewal without a restart."""

from __future__ import annotations

import subprocess
import sys

import grpc
import pytest

from tests.caller import exchange
from tests.server_process import environment, run_server, wait_until
from tests.wire.credentials import BearerCaller, CertificateAuthority, TokenIssuer, make_key
from tests.wire.refusals import refused

HOST = "spiffe://example.org/agent-host"
IMPORTER = "importer.example.org"
SCOPE = {"tenant": "acme", "user": "ann"}
GRANTS = f"""
["{HOST}"]
tenant = "acme"
users = "any"
permissions = ["read", "write"]

["{IMPORTER}"]
tenant = "acme"
users = ["ann"]
permissions = ["write"]
source = "import"
"""


@pytest.fixture
def authority(tmp_path):
    return CertificateAuthority(tmp_path)


@pytest.fixture
def mutual(authority, tmp_path):
    """Settings of a server that knows callers by their certificates."""
    (tmp_path / "grants.toml").write_text(GRANTS)
    return {**authority.settings, "tls_client_ca": authority.client_ca, "mtls_grants": tmp_path / "grants.toml"}


def test_a_certificate_is_a_credential(authority, mutual, tmp_path):
    """A SPIFFE URI and a DNS name open what their grants say, and nothing else."""
    with run_server(tmp_path / "data", **mutual) as server:
        assert "credentials needed" in server.stdout
        assert "TLS" in server.stdout
        with authority.channel(server.address, authority.client("node-7.example.org", HOST)) as channel:
            host = BearerCaller(channel, SCOPE)
            host.write("n.md", "tea")
            assert host.within(user="bob", tenant=None).tree() == []
            with refused("SCOPE_FORBIDDEN"):
                host.within(tenant="umbra").tree()
        with authority.channel(server.address, authority.client(IMPORTER)) as channel:
            importer = BearerCaller(channel, {})
            importer.write("m.md", "coffee")
            with refused("PERMISSION_FORBIDDEN"):
                importer.read("n.md")


@pytest.mark.parametrize(
    "names",
    [("stranger.example.org",), ("host.example",), (f"{HOST}/child",), (HOST, IMPORTER)],
    ids=",".join,
)
def test_a_certificate_that_nobody_knows_opens_nothing(names, authority, mutual, tmp_path):
    """A genuine certificate without a known name, with two, or with the name elsewhere than it belongs is refused."""
    with (
        run_server(tmp_path / "data", **mutual) as server,
        authority.channel(server.address, authority.client(*names)) as channel,
        refused("CREDENTIALS_INVALID"),
    ):
        BearerCaller(channel, SCOPE).tree()


def test_an_address_of_e_mail_is_no_name(authority, mutual, tmp_path):
    """A certificate with nothing but an address of e-mail presents no credential, whatever the address reads like."""
    with (
        run_server(tmp_path / "data", **mutual) as server,
        authority.channel(server.address, authority.client("importer@importer.example.org")) as channel,
        refused("CREDENTIALS_MISSING"),
    ):
        BearerCaller(channel, SCOPE).tree()


def test_without_a_genuine_certificate_there_is_no_connection(authority, mutual, tmp_path):
    """None at all, one by another authority and one that expired don't get as far as a call."""
    (tmp_path / "other").mkdir()
    stranger = CertificateAuthority(tmp_path / "other").client(HOST)
    with run_server(tmp_path / "data", **mutual) as server:
        for client in ((None, None), stranger, authority.client(HOST, days=-1)):
            with authority.channel(server.address, client) as channel, pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary("/ironclaw.memory.v1.MemoryService/Tree")(b"", timeout=5)
            assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def test_grants_change_without_a_restart_on_open_connections_too(authority, mutual, tmp_path):
    """A name that is taken out of the file is refused at its next call."""
    with (
        run_server(tmp_path / "data", **mutual) as server,
        authority.channel(server.address, authority.client(HOST)) as channel,
    ):
        caller = BearerCaller(channel, SCOPE)
        caller.tree()
        (tmp_path / "grants.toml").write_text(GRANTS.replace(HOST, "spiffe://example.org/another"))
        with refused("CREDENTIALS_INVALID"):
            caller.tree()


def served_certificate(authority, address):
    """Return the certificate that a new connection meets."""
    import socket  # noqa: PLC0415  # only here
    import ssl  # noqa: PLC0415

    context = ssl.create_default_context(cafile=str(authority.client_ca))
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), 10) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        return tls.getpeercert(binary_form=True)


def test_a_renewed_certificate_is_served_without_a_restart(authority, tmp_path):
    """New connections meet the new certificate, also where a half-written pair was seen in between."""
    with run_server(tmp_path / "data", **authority.settings) as server:
        first = served_certificate(authority, server.address)
        authority.key.write_text("half")
        assert served_certificate(authority, server.address) == first
        authority.renew()
        assert served_certificate(authority, server.address) != first
        wait_until(lambda: any(line["event"] == "certificates not taken over" for line in server.log), 5, "log line")


def test_the_commands_connect_over_tls(authority, mutual, tmp_path):
    """An authority to trust and a certificate of one's own get a command through to a server that asks for both."""
    key, certificate = authority.client(HOST)
    (tmp_path / "me.pem").write_bytes(certificate)
    (tmp_path / "me-key.pem").write_bytes(key)
    with run_server(tmp_path / "data", **mutual) as server:
        variables = environment(
            {
                "IRONCLAW_MEMORY_SERVER": server.address,
                "IRONCLAW_MEMORY_TENANT": "acme",
                "IRONCLAW_MEMORY_CA": str(authority.client_ca),
                "IRONCLAW_MEMORY_CERTIFICATE": str(tmp_path / "me.pem"),
                "IRONCLAW_MEMORY_PRIVATE_KEY": str(tmp_path / "me-key.pem"),
            }
        )
        command = [sys.executable, "-m", "ironclaw_memory", "tree", "--json"]
        ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran


def test_keys_and_tokens_over_tls(authority, tmp_path):
    """Off loopback, with TLS, both bearer credentials work at once, each by its own rules."""
    issuer = TokenIssuer(tmp_path)
    data = tmp_path / "data"
    key = make_key(data, "--tenant", "acme", "--user", "ann")["key"]
    grant = {"tenant": "acme", "users": ["bob"], "permissions": ["read"]}
    with run_server(data, listen="0.0.0.0:0", **authority.settings, **issuer.settings) as server:
        address = f"127.0.0.1:{server.address.rpartition(':')[2]}"
        with authority.channel(address) as channel:
            BearerCaller(channel, SCOPE, bearer=key).write("n.md", "tea")
            token = issuer.sign(issuer.claims(grant))
            assert BearerCaller(channel, {}, bearer=token).tree() == []
            with refused("SCOPE_FORBIDDEN"):
                BearerCaller(channel, SCOPE, bearer=token).tree()
            with refused("CREDENTIALS_MISSING"):
                BearerCaller(channel, SCOPE).tree()
            assert exchange(channel, "grpc.health.v1.Health/Check", [b""], (), seconds=10) == [b"\x08\x01"]
