"""Maps the names in a client's certificate to grants, by a TOML file that is read again when it changes.

    ["spiffe://example.org/agent-host"]
    tenant = "acme"
    users = "any"
    permissions = ["read", "write", "record"]

    ["importer.example.org"]
    …

A name is a SPIFFE URI or a DNS name, compared whole: no wildcards, and never the common name. That the certificate is
genuine was proven by TLS before anything comes here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ironclaw_memory.contract.grant import GrantInvalid, Principal, parse_grant

from .problem import CredentialsError, Refused
from .watched_file import WatchedFile

SPIFFE: Final = "spiffe://"


class CertificateGrants:
    """The client certificates that a server accepts.

    Args:
        file: the TOML file.

    Raises:
        CredentialsError: the file can't be used.
    """

    def __init__(self, file: Path) -> None:
        self._file = WatchedFile(file, parse_certificate_grants)

    def prove(self, names: Iterable[str]) -> Principal:
        """Return whose certificate it is.

        Args:
            names: the SPIFFE URI and the DNS names of a certificate that TLS has verified.

        Raises:
            Refused: none of its names is in the file, or several are: which of them is meant is nobody's guess.
        """
        known = self._file.current()
        found = [known[name] for name in dict.fromkeys(_fold(name) for name in names) if name in known]
        if len(found) > 1:
            raise Refused("certificate with several known names", found[0].name)
        if not found:
            raise Refused("certificate without a known name")
        return found[0]


def parse_certificate_grants(content: bytes) -> Mapping[str, Principal]:
    """Return the principals by certificate name.

    Raises:
        CredentialsError: it isn't TOML, or an entry's name or grant is wrong.
    """
    try:
        entries = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise CredentialsError("not TOML") from None
    if not entries:
        raise CredentialsError("names no certificate")
    principals: dict[str, Principal] = {}
    for name, entry in entries.items():
        try:
            principals[_check_name(name)] = Principal(f"certificate:{name}", parse_grant(entry))
        except GrantInvalid as error:
            raise CredentialsError(f"[{name!r}]: {error}") from None
    if len(principals) != len(entries):
        raise CredentialsError("names the same certificate twice")
    return principals


def _check_name(name: str) -> str:
    is_uri = name.startswith(SPIFFE) and len(name) > len(SPIFFE)
    is_dns = "." in name and all(c.isascii() and (c.isalnum() or c in "-.") for c in name)
    if not (is_uri or is_dns):
        raise CredentialsError(f"[{name!r}] is neither a SPIFFE URI nor a whole DNS name")
    return _fold(name)


def _fold(name: str) -> str:
    """DNS names don't differ by case; a SPIFFE ID's path does."""
    return name if "/" in name else name.lower()
