"""How the connection is made: in the clear or with TLS, with options that both clients share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import grpc

ChannelOptions: TypeAlias = Sequence[tuple[str, str | int]]

OPTIONS: tuple[tuple[str, str | int], ...] = (
    # A channel that failed to connect refuses calls until its own back-off is over: 1 s at first, by default.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # A service config found in DNS could add a second layer of tries, without our rules.
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.primary_user_agent", "ironclaw-memory-client"),
)


@dataclass(frozen=True, slots=True)
class TLS:
    """What TLS needs, as PEM bytes.

    Attributes:
        root_certificates: the authorities to trust; None means those that gRPC ships.
        private_key: this client's key, for mTLS; needs `certificate_chain`.
        certificate_chain: this client's certificate and its issuers, for mTLS; needs `private_key`.
        server_name: the name to expect in the server's certificate when it isn't the target's host.
    """

    root_certificates: bytes | None = None
    private_key: bytes | None = None
    certificate_chain: bytes | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        if (self.private_key is None) != (self.certificate_chain is None):
            raise ValueError("mTLS needs both private_key and certificate_chain")

    @classmethod
    def from_files(
        cls,
        root_certificates: str | Path | None = None,
        *,
        private_key: str | Path | None = None,
        certificate_chain: str | Path | None = None,
        server_name: str | None = None,
    ) -> TLS:
        """Return the same with each PEM read from a file, once: a rotated certificate needs a new client.

        Raises:
            OSError: a file can't be read.
        """
        return cls(_bytes_of(root_certificates), _bytes_of(private_key), _bytes_of(certificate_chain), server_name)

    def credentials(self) -> grpc.ChannelCredentials:
        """Return the credentials as gRPC takes them."""
        return grpc.ssl_channel_credentials(self.root_certificates, self.private_key, self.certificate_chain)


def _bytes_of(file: str | Path | None) -> bytes | None:
    return None if file is None else Path(file).read_bytes()


def channel_options(tls: TLS | None, more: ChannelOptions) -> list[tuple[str, str | int]]:
    """Return the options of a channel, each key once: the caller's win over ours."""
    options = dict(OPTIONS)
    if tls and tls.server_name:
        options["grpc.ssl_target_name_override"] = tls.server_name
    options.update(more)
    return list(options.items())


def open_channel(target: str, tls: TLS | None, more: ChannelOptions) -> grpc.Channel:
    """Return a channel; it connects with the first call."""
    options = channel_options(tls, more)
    if tls is None:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, tls.credentials(), options)


def open_async_channel(target: str, tls: TLS | None, more: ChannelOptions) -> grpc.aio.Channel:
    """Return an asyncio channel, to be used on the loop that runs now; it connects with the first call."""
    options = channel_options(tls, more)
    if tls is None:
        return grpc.aio.insecure_channel(target, options)
    return grpc.aio.secure_channel(target, tls.credentials(), options)
