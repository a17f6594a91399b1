"""Encrypted connections: the server is proven by its certificate, and with mTLS the client too."""

import grpc
import pytest
import trustme

from ironclaw.memory.v1 import memory_service_pb2 as memory
from ironclaw_memory_client import TLS, MemoryClient, UnreachableError

from .scripted import serve_script


@pytest.fixture(scope="module")
def authority():
    """Return an authority that nobody trusts but these tests."""
    return trustme.CA()


def pem(*blobs):
    """Return certificates or keys as bytes."""
    return b"".join(blob.bytes() for blob in blobs)


@pytest.fixture
def secured(authority):
    """Serve a script with TLS that asks for the client's certificate."""
    server = authority.issue_cert("memory.example")
    credentials = grpc.ssl_server_credentials(
        [(pem(server.private_key_pem), pem(*server.cert_chain_pems))],
        root_certificates=pem(authority.cert_pem),
        require_client_auth=True,
    )
    with serve_script(credentials=credentials) as script:
        yield script


def test_mutual_tls_from_files(connect, secured, authority, tmp_path):
    """With the authority, a key and a certificate from files, calls get through to the server of that name."""
    client = authority.issue_cert("agent-host")
    files = {"ca": [authority.cert_pem], "key": [client.private_key_pem], "chain": client.cert_chain_pems}
    for name, blobs in files.items():
        (tmp_path / name).write_bytes(pem(*blobs))
    tls = TLS.from_files(
        tmp_path / "ca",
        private_key=tmp_path / "key",
        certificate_chain=tmp_path / "chain",
        server_name="memory.example",
    )
    secured.answers = [memory.ReadResponse(content="tea")]
    assert connect(secured.target, tls=tls).read("MEMORY.md").content == "tea"


@pytest.mark.parametrize("wrong", ["no client certificate", "another authority", "another name", "in the clear"])
def test_whoever_cant_prove_itself_gets_no_connection(connect, secured, authority, wrong):
    """A missing client certificate, a server that isn't trusted or has another name, and plain text all fail."""
    client = authority.issue_cert("agent-host")
    parts = {
        "root_certificates": pem((trustme.CA() if wrong == "another authority" else authority).cert_pem),
        "server_name": "other.example" if wrong == "another name" else "memory.example",
    }
    if wrong != "no client certificate":
        parts |= {"private_key": pem(client.private_key_pem), "certificate_chain": pem(*client.cert_chain_pems)}
    tls = None if wrong == "in the clear" else TLS(**parts)
    with pytest.raises(UnreachableError):
        connect(secured.target, tls=tls, deadline=20.0).read("MEMORY.md")
    assert secured.seen == []


def test_half_a_client_identity_is_refused():
    """A key without its certificate is a mistake that shows when the client is made."""
    with pytest.raises(ValueError, match="both"):
        MemoryClient("127.0.0.1:1", None, tls=TLS(private_key=b"key"))
