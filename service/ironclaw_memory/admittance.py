"""Sets up, from the settings, who may call: the ways of proving it, and the exposure that goes with them."""

from __future__ import annotations

from pathlib import Path

from ironclaw_memory.addresses import check_exposure
from ironclaw_memory.credentials.authenticator import Authenticator
from ironclaw_memory.credentials.certificates import CertificateGrants
from ironclaw_memory.credentials.key_ring import KeyRing
from ironclaw_memory.credentials.tokens import TokenRules, TokenVerifier
from ironclaw_memory.settings import Settings


def open_authenticator(settings: Settings) -> Authenticator:
    """Return what proves credentials, once the address is safe to serve with it. Makes no folder and writes no file.

    Raises:
        CredentialsError: a file of credentials can't be used.
        ListenError: others could reach the address without a credential, or would send theirs in the clear.
    """
    authenticator = Authenticator(
        None if settings.api_keys == "off" else KeyRing(settings.data_dir),
        keys_needed=settings.api_keys == "on",
        tokens=_open_tokens(settings),
        certificates=CertificateGrants(Path(settings.mtls_grants)) if settings.mtls_grants else None,
    )
    check_exposure(settings.listen, credentials=authenticator.is_needed(), encrypted=bool(settings.tls_certificate))
    return authenticator


def _open_tokens(settings: Settings) -> TokenVerifier | None:
    if not settings.jwt_jwks:
        return None
    rules = TokenRules(settings.jwt_issuer, settings.jwt_audience, settings.jwt_max_lifetime_seconds)
    return TokenVerifier(Path(settings.jwt_jwks), rules)


def describe_admittance(settings: Settings, authenticator: Authenticator) -> str:
    """Return in a few words who may call, for the line that the server prints when it is ready."""
    if not authenticator.is_needed():
        return "no credentials configured: loopback only"
    ways = " or ".join(authenticator.ways())
    return f"credentials needed: {ways}; {'TLS' if settings.tls_certificate else 'plain, loopback only'}"
