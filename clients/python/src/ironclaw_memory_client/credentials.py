"""How a client proves who it is: an API key or a signed token, sent with every call. A certificate is for `TLS`."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import TypeAlias

from .scope import Metadata

Token: TypeAlias = str | Callable[[], str]
"""An API key or a signed token, or what returns the one to send now; asked at each call, on its thread."""


def credential_metadata(token: Token | None) -> Metadata:
    """Return the metadata that carry the credential.

    Raises:
        ValueError: it isn't printable ASCII, so it is no key and no token. Nothing was sent.
    """
    if token is None:
        return ()
    value = token if isinstance(token, str) else token()
    if not value or not all("!" <= c <= "~" for c in value):
        raise ValueError("a token must be printable ASCII without spaces")
    return (("authorization", f"Bearer {value}"),)


def check_target(target: str, token: Token | None, *, encrypted: bool) -> None:
    """Return when a credential may be sent to the target: over TLS, or without leaving this machine.

    Raises:
        ValueError: it would travel in the clear.
    """
    if token is not None and not encrypted and not _is_local(target):
        raise ValueError("a token would travel in the clear; give tls, or a target on loopback or a Unix socket")


def _is_local(target: str) -> bool:
    scheme, colon, rest = target.partition(":")
    if colon and scheme in ("unix", "unix-abstract"):
        return True
    if colon and scheme in ("dns", "ipv4", "ipv6"):
        target = rest.rpartition("/")[2]
    host = target.rpartition(":")[0].strip("[]") or target
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
