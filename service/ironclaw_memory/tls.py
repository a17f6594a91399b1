"""The server's side of TLS: its certificate, and the authorities of its clients, read anew when the files change.

gRPC asks for them at each handshake, so new connections get a new certificate without a restart; those that are open
keep theirs until they end, which `server.transport_options` sees to. A change that can't be used is logged, and the
last one that could stays.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

import grpc
import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from ironclaw_memory.credentials.problem import CredentialsError
from ironclaw_memory.settings import Settings

CONNECTION_SECONDS: Final = 3600
"""The longest that a TLS connection lives, and so a certificate's identity on it after the certificate was replaced."""

Stamp = tuple[tuple[int, int, int], ...]

log = structlog.get_logger("ironclaw_memory.tls")


class Certificates:
    """The certificate files of a server.

    Args:
        certificate, key: the server's chain and its private key, in PEM.
        client_ca: the authorities of clients; None asks clients for no certificate.

    Raises:
        CredentialsError: a file can't be read, or they don't fit together.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        self._files = [certificate, key, *([client_ca] if client_ca else [])]
        self._lock = threading.Lock()
        self._stamp = self._look()  # guarded by _lock, after this
        self._first = self._load()

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a port is opened with; from then on each handshake asks whether the files changed."""
        asks_clients = len(self._files) == 3
        return grpc.dynamic_ssl_server_credentials(self._first, self._fetch, asks_clients)  # type: ignore[arg-type]  # None is allowed

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the new configuration, or None where nothing changed or nothing usable came of it."""
        with self._lock:
            try:
                stamp = self._look()
                if stamp == self._stamp:
                    return None
                self._stamp = stamp
                fresh = self._load()
            except CredentialsError as error:
                log.error("certificates not taken over", problem=str(error))  # noqa: TRY400  # no trace needed
                return None
        log.info("certificates read again")
        return fresh

    def _look(self) -> Stamp:
        try:
            found = [os.stat(file) for file in self._files]
        except OSError as error:
            raise CredentialsError(f"{error.filename} can't be read: {error.strerror}") from None
        return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in found)

    def _load(self) -> grpc.ServerCertificateConfiguration:
        try:
            chain, key, *authorities = [file.read_bytes() for file in self._files]
        except OSError as error:
            raise CredentialsError(f"{error.filename} can't be read: {error.strerror}") from None
        _check_pair(chain, key, self._files)
        if authorities:
            _parse_certificates(authorities[0], self._files[2])
        return grpc.ssl_server_certificate_configuration([(key, chain)], authorities[0] if authorities else None)


def _check_pair(chain: bytes, key: bytes, files: list[Path]) -> None:
    """Refuse what gRPC would take in silence, to fail at every handshake: a key of another certificate, say."""
    certificate = _parse_certificates(chain, files[0])[0]
    try:
        private = load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CredentialsError(f"{files[1]} holds no private key in PEM without a password") from None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*form) != certificate.public_key().public_bytes(*form):
        raise CredentialsError(f"{files[1]} isn't the key of {files[0]}")


def _parse_certificates(pem: bytes, file: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise CredentialsError(f"{file} holds no certificates in PEM") from None


def open_certificates(settings: Settings) -> Certificates | None:
    """Return the certificate files that the settings name; None where connections are plain.

    Raises:
        CredentialsError: they can't be used.
    """
    if not settings.tls_certificate:
        return None
    client_ca = Path(settings.tls_client_ca) if settings.tls_client_ca else None
    return Certificates(Path(settings.tls_certificate), Path(settings.tls_key), client_ca)
