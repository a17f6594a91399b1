"""Proves what a call presents, by whichever way the server was set up for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ironclaw_memory.contract.grant import Principal

from .certificates import CertificateGrants
from .key_ring import KeyRing
from .key_text import PREFIX
from .problem import Refused
from .tokens import TokenVerifier

SCHEME: Final = "bearer "
LOOKING_SECONDS: Final = 0.02
"""How long the first API key may be overlooked. Looking at each call would be a system call more for each read, on
servers that ask for no credentials; once they do, a key counts, or is revoked, from the next call on."""


@dataclass(frozen=True, slots=True)
class Presented:
    """What a call presents of itself.

    Attributes:
        authorization: the values of the key `authorization`; text or, from a client that insists, bytes.
        certificate_names: the SPIFFE URI and DNS names of the connection's certificate; empty without mutual TLS.
    """

    authorization: tuple[str | bytes, ...] = ()
    certificate_names: tuple[str, ...] = ()


class Missing(Exception):
    """A credential is needed and the call presents none."""


class Authenticator:
    """The ways to prove who calls. A bearer credential goes before the certificate: it is the narrower of the two.

    Args:
        keys: proves API keys; None where they are off.
        keys_needed: whether calls need a credential even while there is no API key yet. Else they do from the first key
            on, and this process asks for ever then: a file that vanishes must not open the door.
        tokens: proves signed tokens; None where they are off.
        certificates: proves client certificates; None where they are off.
        now: a clock in seconds.
    """

    def __init__(
        self,
        keys: KeyRing | None = None,
        *,
        keys_needed: bool = False,
        tokens: TokenVerifier | None = None,
        certificates: CertificateGrants | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._certificates = certificates
        self._needed = keys_needed or tokens is not None or certificates is not None
        self._now = now
        self._looks_again = -math.inf

    def is_needed(self) -> bool:
        """Tell whether calls need a credential."""
        if not self._needed and self._keys is not None and (now := self._now()) >= self._looks_again:
            self._needed = self._keys.holds_any()
            self._looks_again = now + LOOKING_SECONDS
        return self._needed

    def ways(self) -> tuple[str, ...]:
        """Return what a caller may present, in words."""
        uses_keys = self._keys is not None and (self._keys.holds_any() or self._needed)
        ways = {"API keys": uses_keys, "tokens": self._tokens, "certificates": self._certificates}
        return tuple(way for way, used in ways.items() if used)

    def authenticate(self, presented: Presented) -> Principal | None:
        """Return who calls; None where no credential is needed, whatever was presented.

        Raises:
            Missing: a credential is needed and none was presented.
            Refused: what was presented isn't accepted.
        """
        if not self.is_needed():
            return None
        if presented.authorization:
            return self._prove_bearer(presented.authorization)
        if self._certificates is not None and presented.certificate_names:
            return self._certificates.prove(presented.certificate_names)
        raise Missing

    def _prove_bearer(self, authorization: tuple[str | bytes, ...]) -> Principal:
        value = authorization[0]
        if len(authorization) > 1 or not isinstance(value, str):
            raise Refused("more than one credential")
        if value[: len(SCHEME)].lower() != SCHEME or not value.isascii():
            raise Refused("not a bearer credential")
        credential = value[len(SCHEME) :].strip(" ")
        if credential.startswith(PREFIX):
            return _enabled(self._keys, "API keys").prove(credential)
        return _enabled(self._tokens, "tokens").prove(credential)

    def close(self) -> None:
        """Let go of everything."""
        if self._keys is not None:
            self._keys.close()


def _enabled(prover: KeyRing | TokenVerifier | None, way: str) -> KeyRing | TokenVerifier:
    if prover is None:
        raise Refused(f"{way} are off")
    return prover
