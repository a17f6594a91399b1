"""Where the server may listen, and taking the port there."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat

import grpc


class ListenError(Exception):
    """The address may not or can't be served; the message is one line for the operator."""


def is_unix(listen: str) -> bool:
    """Tell whether the address is a Unix socket's."""
    return listen.startswith("unix:")


def split_address(listen: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, brackets around an IPv6 address taken off."""
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)


def is_local(listen: str) -> bool:
    """Tell whether only this machine can reach the address: loopback, or a Unix socket."""
    if is_unix(listen):
        return True
    host, _ = split_address(listen)
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(listen: str, *, credentials: bool, encrypted: bool) -> None:
    """Return when the address is safe to serve: others can't reach it, or must prove themselves over TLS.

    Args:
        listen: the address.
        credentials: whether calls need a credential.
        encrypted: whether connections are TLS.

    Raises:
        ListenError: others could reach it without a credential, or would send theirs in the clear.
    """
    if is_local(listen) or (credentials and encrypted):
        return
    if not credentials:
        raise ListenError(
            f"listen: {listen} is not a loopback address; without credentials only loopback or a Unix socket is served"
        )
    raise ListenError(
        f"listen: {listen} is not a loopback address; set tls_certificate and tls_key, or keys and "
        "tokens would travel in the clear"
    )


def reserve_port(server: grpc.Server, listen: str, credentials: grpc.ServerCredentials | None = None) -> str:
    """Bind the server and return the address it got.

    Args:
        server: the server.
        listen: the address.
        credentials: how connections are encrypted; None for plain ones.

    Raises:
        ListenError: the address is in use or can't be bound.
    """
    if is_unix(listen):
        _clear_dead_socket(listen.removeprefix("unix:"))
    try:
        port = server.add_secure_port(listen, credentials) if credentials else server.add_insecure_port(listen)
    except RuntimeError:
        raise ListenError(f"listen: {listen} can't be bound; is another server using it?") from None
    if is_unix(listen):
        os.chmod(listen.removeprefix("unix:"), 0o600)
        return listen
    host, _, _ = listen.rpartition(":")
    return f"{host}:{port}"


def _clear_dead_socket(path: str) -> None:
    """Remove a socket that nobody answers on; gRPC would take over a live one as well, and cut its server off."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ListenError(f"listen: {path} exists and is no socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            os.unlink(path)
            return
    raise ListenError(f"listen: another server answers on unix:{path}")


def reserve_shared_port(listen: str) -> tuple[socket.socket, str]:
    """Take a port that worker processes will share; return the socket that holds it and the address.

    The first bind is exclusive, so that a port on which someone else listens is refused rather than shared.

    Raises:
        ListenError: the address is in use or can't be bound, or is a Unix socket, which can't be shared.
    """
    if is_unix(listen):
        raise ListenError("listen: a Unix socket can't be shared by several workers")
    host, port = split_address(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as exclusive:
            exclusive.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            exclusive.bind((host, port))
            exclusive.listen()
        shared = socket.socket(family)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        shared.bind((host, port))
    except OSError as error:
        raise ListenError(f"listen: {listen} can't be bound: {error.strerror}") from None
    literal, _, _ = listen.rpartition(":")
    return shared, f"{literal}:{shared.getsockname()[1]}"
