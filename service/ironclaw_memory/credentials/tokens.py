"""Proves signed tokens (JWT) against a local set of public keys (JWKS).

Rules, each against an attack that has worked elsewhere:

1. The key decides the algorithm, and only three are known. A header that names another, `none` or an HMAC of the public
   key's bytes is refused.
2. Keys come from the local file, by `kid`. A header's `jku`, `jwk` or `x5c` is never followed, and nothing is fetched.
3. Issuer, audience, expiry and issue time must be there and right, and a token may not be valid for longer than the
   cap: one that leaks is of use for as long as it says.
4. What a token allows is one claim with the shape of a grant. No other claim widens or narrows it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ironclaw_memory.contract.grant import GrantInvalid, Principal, parse_grant

from .problem import CredentialsError, Refused
from .watched_file import WatchedFile

GRANT_CLAIM: Final = "ironclaw_memory"
REQUIRED_CLAIMS: Final = ("exp", "iat", "iss", "aud", "sub", GRANT_CLAIM)
LEEWAY_SECONDS: Final = 30
"""For clocks that differ."""

MIN_RSA_BITS: Final = 2048
MAX_SUBJECT: Final = 256
CACHED_TOKENS: Final = 1024
"""A host sends the same token call after call; checking a signature anew costs about as much as reading a document."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a token must say.

    Attributes:
        issuer: `iss`, exactly.
        audience: what `aud` must be or hold.
        max_lifetime_seconds: the longest from `iat` to `exp`.
    """

    issuer: str
    audience: str
    max_lifetime_seconds: int


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key and the one algorithm that it is used with."""

    key: Any
    algorithm: str


SigningKeys = Mapping[str, SigningKey]
"""By key id."""


@dataclass(frozen=True, slots=True)
class _Proven:
    principal: Principal
    keys: SigningKeys  # the set it was proven by: another set means another proof
    not_before: float
    expires_at: float


class TokenVerifier:
    """The signed tokens that a server accepts.

    Args:
        jwks: the file with the issuer's public keys.
        rules: what a token must say.
        now: the time, in seconds since the epoch.

    Raises:
        CredentialsError: the file can't be used.
    """

    def __init__(self, jwks: Path, rules: TokenRules, now: Callable[[], float] = time.time) -> None:
        self._file = WatchedFile(jwks, parse_signing_keys)
        self._rules = rules
        self._now = now
        self._lock = threading.Lock()
        self._proven: OrderedDict[bytes, _Proven] = OrderedDict()  # guarded by _lock

    def prove(self, token: str) -> Principal:
        """Return whom the token is for.

        Raises:
            Refused: it breaks one of the rules above.
        """
        keys = self._file.current()
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            proven = self._proven.get(digest)
        if proven is None or proven.keys is not keys:
            proven = self._verify(token, keys)
            self._remember(digest, proven)
        if not proven.not_before - LEEWAY_SECONDS <= self._now() < proven.expires_at + LEEWAY_SECONDS:
            raise Refused("expired token")
        return proven.principal

    def _remember(self, digest: bytes, proven: _Proven) -> None:
        with self._lock:
            self._proven[digest] = proven
            self._proven.move_to_end(digest)
            if len(self._proven) > CACHED_TOKENS:
                self._proven.popitem(last=False)

    def _verify(self, token: str, keys: SigningKeys) -> _Proven:
        kid, signing = self._key_of(token, keys)
        try:
            claims = jwt.decode(
                token,
                signing.key,
                algorithms=[signing.algorithm],
                issuer=self._rules.issuer,
                audience=self._rules.audience,
                # Times are ours to judge: by our clock, and again when a proof is used a second time.
                options={
                    "require": list(REQUIRED_CLAIMS), "verify_exp": False, "verify_nbf": False, "verify_iat": False
                },
            )  # fmt: skip
            return self._judge(kid, claims, keys)
        except jwt.InvalidSignatureError:
            raise Refused("forged token", kid) from None
        except jwt.InvalidTokenError as error:
            raise Refused(f"token refused: {type(error).__name__}", kid) from None

    def _key_of(self, token: str, keys: SigningKeys) -> tuple[str, SigningKey]:
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise Refused("malformed token") from None
        kid = header.get("kid")
        signing = keys.get(kid) if isinstance(kid, str) else None
        if signing is None:
            raise Refused("token by an unknown key")
        if header.get("alg") != signing.algorithm or "crit" in header:
            raise Refused("token with an algorithm that its key isn't for", str(kid))
        return str(kid), signing

    def _judge(self, kid: str, claims: Mapping[str, Any], keys: SigningKeys) -> _Proven:
        times = [claims["iat"], claims["exp"], claims.get("nbf", claims["iat"])]
        if not all(type(t) in (int, float) and 0 <= t < 2**40 for t in times):
            raise Refused("token with a malformed time", kid)
        issued_at, expires_at, not_before = times
        if not 0 < expires_at - issued_at <= self._rules.max_lifetime_seconds:
            raise Refused("token valid for too long", kid)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_SUBJECT or not subject.isprintable():
            raise Refused("token without a fit subject", kid)
        try:
            grant = parse_grant(claims[GRANT_CLAIM])
        except GrantInvalid:
            raise Refused("token without a fit grant", kid) from None
        return _Proven(Principal(f"token:{subject}", grant), keys, max(issued_at, not_before), expires_at)


def parse_signing_keys(content: bytes) -> SigningKeys:
    """Return the public keys in a JWKS; every one must be of use, or the file is taken for a mistake.

    Raises:
        CredentialsError: it is no JWKS, or a key in it has no id, isn't for signatures, is secret, weak or of another
            kind.
    """
    try:
        entries = json.loads(content)["keys"]
        keys = {str(entry["kid"]): _parse_signing_key(entry) for entry in entries}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, jwt.PyJWTError):
        raise CredentialsError("not a JWKS whose keys all have a kid") from None
    if not keys or len(keys) != len(entries):
        raise CredentialsError("a JWKS must hold keys with ids of their own")
    return keys


def _parse_signing_key(entry: Mapping[str, Any]) -> SigningKey:
    kid = str(entry["kid"])
    if entry.get("use", "sig") != "sig" or {"d", "k"} & entry.keys():
        raise CredentialsError(f"the key {kid} must be a public one for signatures")
    key = jwt.PyJWK.from_dict(dict(entry)).key
    algorithm = _algorithm_for(key)
    if algorithm is None or entry.get("alg", algorithm) != algorithm:
        raise CredentialsError(
            f"the key {kid} isn't accepted: only Ed25519 (EdDSA), P-256 (ES256) and RSA of {MIN_RSA_BITS} bits (RS256)"
        )
    return SigningKey(key, algorithm)


def _algorithm_for(key: object) -> str | None:
    if isinstance(key, Ed25519PublicKey):
        return "EdDSA"
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return "ES256"
    if isinstance(key, RSAPublicKey) and key.key_size >= MIN_RSA_BITS:
        return "RS256"
    return None
