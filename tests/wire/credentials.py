"""Credentials as an operator makes them: keys by the command line, tokens and certificates by their authorities."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import jwt
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from tests.caller import Caller, exchange
from tests.server_process import environment

ISSUER, AUDIENCE, GRANT_CLAIM = "https://issuer.example", "ironclaw-memory", "ironclaw_memory"
EVERYTHING = ("read", "write", "record", "admin", "events")


def keys_command(data_dir: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `ironclaw-memory keys`."""
    return subprocess.run(
        [sys.executable, "-m", "ironclaw_memory", "keys", command, "--data-dir", str(data_dir), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def make_key(data_dir: Path, *arguments: str, permissions: tuple[str, ...] = EVERYTHING) -> dict[str, Any]:
    """Make an API key by the command line and return what it printed."""
    allowed = [part for permission in permissions for part in ("--permission", permission)]
    ran = keys_command(data_dir, "create", "--json", *allowed, *arguments)
    assert ran.returncode == 0, ran.stderr
    made: dict[str, Any] = json.loads(ran.stdout)
    return made


@dataclass(frozen=True)
class BearerCaller(Caller):
    """Calls that carry a bearer credential.

    Attributes:
        bearer: the API key or token; None for none.
    """

    bearer: str | None = None

    def metadata(self, request_id: str | None = None) -> list[tuple[str, str | bytes]]:
        """Return the scope's metadata with the credential."""
        pairs = super().metadata(request_id)
        return pairs if self.bearer is None else [*pairs, ("authorization", f"Bearer {self.bearer}")]

    def poke(self, name: str, seconds: float = 10) -> list[bytes]:
        """Call any method, of any arity, with an empty request."""
        return exchange(self.channel, name, [b""], self.metadata(), seconds=seconds)


class TokenIssuer:
    """Signs tokens and publishes its keys as a JWKS file."""

    def __init__(self, folder: Path) -> None:
        self.jwks = folder / "jwks.json"
        self.key = new_signing_key()
        self.publish({"k1": self.key.public_key()})

    def publish(self, keys: Mapping[str, Any]) -> None:
        """Replace the file by these public keys."""
        entries = [{**_algorithm(key).to_jwk(key, as_dict=True), "kid": kid, "use": "sig"} for kid, key in keys.items()]
        fresh = self.jwks.with_suffix(".new")
        fresh.write_text(json.dumps({"keys": entries}))
        fresh.replace(self.jwks)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a server that accepts these tokens."""
        return {"jwt_jwks": self.jwks, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}

    def claims(self, grant: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """Return the claims of a good token, but for `changes`; None leaves one out."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "host-7",
            "iat": now,
            "exp": now + 600,
            GRANT_CLAIM: dict(grant),
        }
        return {name: value for name, value in {**claims, **changes}.items() if value is not None}

    def sign(self, claims: Mapping[str, Any], *, key: Any = None, alg: str = "EdDSA", **headers: Any) -> str:
        """Return a token over these claims."""
        payload = json.dumps(claims).encode()  # by the lower layer, which signs wrong claims too
        return jwt.PyJWS().encode(payload, key or self.key, alg, {"kid": "k1", **headers})


def new_signing_key() -> ed25519.Ed25519PrivateKey:
    """Return a key that no issuer has published."""
    return ed25519.Ed25519PrivateKey.generate()


def _algorithm(key: Any) -> Any:
    return jwt.algorithms.get_default_algorithms()[
        "EdDSA" if isinstance(key, ed25519.Ed25519PublicKey) else "ES256" if hasattr(key, "curve") else "RS256"
    ]


class CertificateAuthority:
    """Issues the certificates of a server and of clients, as files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.client_ca = folder / "ca.pem"
        self.certificate, self.key = folder / "server.pem", folder / "server-key.pem"
        self._authority.cert_pem.write_to_path(self.client_ca)
        self.renew()

    def renew(self) -> None:
        """Give the server a new certificate."""
        leaf = self._authority.issue_cert("localhost", "127.0.0.1")
        self.certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(self.key)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a server that serves with this certificate."""
        return {"tls_certificate": self.certificate, "tls_key": self.key}

    def client(self, *names: str, days: float = 1.0) -> tuple[bytes, bytes]:
        """Return key and certificate of a client with these alternative names: `spiffe://...`, e-mail or DNS."""
        private = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.load_pem_x509_certificate(self._authority.cert_pem.bytes())
        signer = serialization.load_pem_private_key(self._authority.private_key_pem.bytes(), None)
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "host.example")]))
            .issuer_name(issuer.subject)
            .public_key(private.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=2))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
            .sign(signer, hashes.SHA256())
        )
        form = serialization.PrivateFormat.PKCS8
        key = private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        return key, certificate.public_bytes(serialization.Encoding.PEM)

    @contextmanager
    def channel(self, address: str, client: tuple[bytes | None, bytes | None] = (None, None)) -> Iterator[grpc.Channel]:
        """Open an encrypted channel of its own to a server, with a client's key and certificate."""
        credentials = grpc.ssl_channel_credentials(self.client_ca.read_bytes(), *client)
        with grpc.secure_channel(address, credentials, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            yield channel


def _name(name: str) -> x509.GeneralName:
    if name.startswith("spiffe://"):
        return x509.UniformResourceIdentifier(name)
    return x509.RFC822Name(name) if "@" in name else x509.DNSName(name)
