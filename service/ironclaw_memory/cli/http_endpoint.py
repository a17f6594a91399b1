"""Where `ironclaw-memory mcp --http` listens and whom it lets in, from its options; refused when that isn't safe."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from ironclaw_memory.addresses import is_local

from .terminal import say

TOKEN_VARIABLE: Final = "IRONCLAW_MEMORY_MCP_TOKEN"  # noqa: S105  # where one is
TOKEN_LENGTH: Final = 16
"""The least number of characters: whoever guesses the token has the memory."""

BEYOND_LOOPBACK: Final = (
    f"others need a token, and HTTPS so that it doesn't travel in the clear. Set {TOKEN_VARIABLE} or "
    "--http-token-file, and --http-certificate with --http-private-key."
)

OPTIONS: Final = (
    click.option(
        "--http",
        metavar="HOST:PORT",
        help="Serve streamable HTTP on /mcp there, instead of stdio; port 0 takes a free one.",
    ),
    click.option(
        "--http-token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Holds the token that HTTP requests must carry; else {TOKEN_VARIABLE} holds it, or none is asked for.",
    ),
    click.option(
        "--http-certificate",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Serve HTTPS with this certificate chain (PEM).",
    ),
    click.option("--http-private-key", type=click.Path(dir_okay=False), metavar="FILE", help="Its key (PEM)."),
    click.option(
        "--http-host",
        "http_hosts",
        multiple=True,
        metavar="NAME",
        help="A name by which hosts call this machine, besides those of loopback; may be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A bound port, and what to ask of those who call it.

    Attributes:
        listening: the port.
        host: what was bound, as it stands in a URL.
        token: what requests must carry; None asks for nothing.
        hosts: names besides those of loopback.
        certificate, private_key: PEM files for HTTPS; None serves plain.
    """

    listening: socket.socket
    host: str
    token: str | None
    hosts: tuple[str, ...]
    certificate: str | None
    private_key: str | None

    def announce(self) -> None:
        """Say on standard output where it is and who may call."""
        scheme = "https" if self.certificate else "http"
        who = "callers with the token" if self.token else "everybody on this machine"
        say(f"ironclaw-memory mcp is ready on {scheme}://{self.host}:{self.listening.getsockname()[1]}/mcp ({who})")


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the table above."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def open_endpoint(
    http: str | None,
    *,
    http_token_file: Path | None,
    http_certificate: str | None,
    http_private_key: str | None,
    http_hosts: tuple[str, ...],
) -> HttpEndpoint | None:
    """Bind what `--http` names; without it return None.

    Raises:
        click.UsageError: options contradict each other, what they name can't be used, or the address isn't safe.
    """
    if http is None:
        if http_token_file or http_certificate or http_private_key or http_hosts:
            raise click.UsageError(
                "--http-token-file, --http-certificate, --http-private-key, --http-host need --http."
            )
        return None
    _check_certificate(http_certificate, http_private_key)
    host, port = _split(http)
    token = _token(http_token_file)
    if not is_local(http) and not (token and http_certificate):
        raise click.UsageError(f"--http: {http} is no loopback address; {BEYOND_LOOPBACK}")
    names = http_hosts if is_local(http) else (host, *http_hosts)
    return HttpEndpoint(_bind(host, port), host, token, names, http_certificate, http_private_key)


def _token(file: Path | None) -> str | None:
    try:
        token = file.read_text("ascii").strip() if file else os.environ.get(TOKEN_VARIABLE, "")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--http-token-file: {file} can't be read: {error}") from None
    if not token and file is None:
        return None
    if len(token) < TOKEN_LENGTH or not all("!" <= c <= "~" for c in token):
        raise click.UsageError(f"The token must have at least {TOKEN_LENGTH} printable ASCII characters, no spaces.")
    return token


def _check_certificate(certificate: str | None, private_key: str | None) -> None:
    if bool(certificate) != bool(private_key):
        raise click.UsageError("--http-certificate and --http-private-key go together.")
    if certificate is None:
        return
    try:
        # A key under a passphrase would be asked for at a terminal that a service doesn't have.
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, private_key, password="")
    except OSError as error:
        raise click.UsageError(f"TLS: {certificate} and {private_key} can't be used: {error}.") from None


def _split(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not host or "/" in http or http.startswith("unix:") or not (port.isdecimal() and int(port) <= 65535):
        raise click.UsageError(f"--http: {http} must be HOST:PORT.")
    return host, int(port)


def _bind(host: str, port: int) -> socket.socket:
    literal = host.strip("[]")
    try:
        return socket.create_server((literal, port), family=socket.AF_INET6 if ":" in literal else socket.AF_INET)
    except OSError as error:
        raise click.UsageError(f"--http: {host}:{port} can't be bound: {error.strerror}.") from None
