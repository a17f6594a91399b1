"""Signed tokens: which are accepted, and each way in which one isn't."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa

from ironclaw_memory.contract.grant import parse_grant
from ironclaw_memory.credentials.problem import CredentialsError, Refused
from ironclaw_memory.credentials.tokens import TokenRules, TokenVerifier, parse_signing_keys
from tests.wire.credentials import AUDIENCE, GRANT_CLAIM, ISSUER, TokenIssuer, new_signing_key

GRANT = {"tenant": "acme", "users": ["ann"], "permissions": ["read"]}
RULES = TokenRules(ISSUER, AUDIENCE, 3600)
P256 = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)


@pytest.fixture
def issuer(tmp_path):
    return TokenIssuer(tmp_path)


@pytest.fixture
def verifier(issuer):
    return TokenVerifier(issuer.jwks, RULES)


def refused(verifier, token):
    with pytest.raises(Refused) as caught:
        verifier.prove(token)
    return caught.value.why


def test_a_good_token_proves_its_subject_and_grant(issuer, verifier):
    """What a token allows is its claim, and who it is for its subject; the second time as well."""
    token = issuer.sign(issuer.claims(GRANT, aud=["other", AUDIENCE]))
    for _ in range(2):
        principal = verifier.prove(token)
        assert (principal.name, principal.grant) == ("token:host-7", parse_grant(GRANT))


@pytest.mark.parametrize(("key", "alg"), [(P256, "ES256"), (RSA, "RS256")], ids=["ES256", "RS256"])
def test_the_other_two_algorithms(issuer, key, alg):
    """P-256 and RSA keys work with the one algorithm that goes with each."""
    issuer.publish({"k1": key.public_key()})
    token = issuer.sign(issuer.claims(GRANT), key=key, alg=alg)
    assert TokenVerifier(issuer.jwks, RULES).prove(token)


@dataclass(frozen=True)
class Now:
    """A time so many seconds from when the test runs, which may be long after it was collected."""

    offset: float
    as_text: bool = False

    def __str__(self) -> str:
        return f"now {self.offset:+}"

    __repr__ = __str__

    def value(self) -> int | float | str:
        moment = int(time.time()) + self.offset
        return str(moment) if self.as_text else moment


@pytest.mark.parametrize(
    "change",
    [
        *({name: None} for name in ("iss", "aud", "sub", "iat", "exp", GRANT_CLAIM)),
        {"iss": "https://other.example"},
        {"iss": [ISSUER]},
        {"aud": "another-service"},
        {"aud": []},
        {"exp": Now(-60), "iat": Now(-120)},
        {"iat": Now(120), "exp": Now(240)},
        {"nbf": Now(120)},
        {"exp": Now(3601), "iat": Now(-1)},
        {"exp": Now(-10), "iat": Now(-5)},
        {"exp": Now(60, as_text=True)},
        {"exp": True},
        {"exp": 1e300},
        {"iat": -1},
        {"nbf": "soon"},
        {"sub": ""},
        {"sub": "x" * 257},
        {"sub": "a\nb"},
        {GRANT_CLAIM: {"tenant": "acme"}},
        {GRANT_CLAIM: "any"},
        {GRANT_CLAIM: {**GRANT, "users": "*"}},
    ],
    ids=str,
)
def test_claims_that_aren_t_right_are_refused(change, issuer, verifier):
    """A token by the right key still has to say the right things, each of them."""
    change = {name: value.value() if isinstance(value, Now) else value for name, value in change.items()}
    refused(
        verifier,
        issuer.sign(
            {**issuer.claims(GRANT), **change} if None not in change.values() else issuer.claims(GRANT, **change)
        ),
    )


def test_clocks_may_differ_by_half_a_minute(issuer, verifier):
    """A token just expired or just about to begin is accepted within the leeway and not beyond it."""
    now = int(time.time())
    verifier.prove(issuer.sign(issuer.claims(GRANT, iat=now - 600, exp=now - 10)))
    verifier.prove(issuer.sign(issuer.claims(GRANT, iat=now + 10)))


def test_a_token_that_was_accepted_expires_all_the_same(issuer):
    """The memory of a proof doesn't outlive the token."""
    start = int(time.time())
    now = [float(start)]
    verifier = TokenVerifier(issuer.jwks, RULES, lambda: now[0])
    token = issuer.sign(issuer.claims(GRANT, iat=start, exp=start + 100))
    assert verifier.prove(token)
    now[0] = start + 131
    assert refused(verifier, token) == "expired token"


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_an_unsigned_token_is_refused(issuer, verifier):
    """`alg: none`, in any spelling, is no signature."""
    for alg in ("none", "None", "NONE", "nOnE", "", None):
        refused(verifier, f"{part({'alg': alg, 'kid': 'k1'})}.{part(issuer.claims(GRANT))}.")


@pytest.mark.parametrize("form", ["PEM", "Raw"])
def test_a_public_key_is_no_shared_secret(issuer, verifier, form):
    """An HMAC under the public key's bytes, which everyone knows, is refused."""
    encoding = getattr(serialization.Encoding, form)
    kind = serialization.PublicFormat.Raw if form == "Raw" else serialization.PublicFormat.SubjectPublicKeyInfo
    secret = issuer.key.public_key().public_bytes(encoding, kind)
    body = f"{part({'alg': 'HS256', 'kid': 'k1', 'typ': 'JWT'})}.{part(issuer.claims(GRANT))}"
    mac = base64.urlsafe_b64encode(hmac.digest(secret, body.encode(), hashlib.sha256)).rstrip(b"=").decode()
    refused(verifier, f"{body}.{mac}")


def test_a_key_in_the_header_is_not_followed(issuer, verifier, tmp_path):
    """A token that brings its own key, or says where to fetch one, is judged by the local file."""
    other = new_signing_key()
    jwk = jwt.algorithms.OKPAlgorithm.to_jwk(other.public_key(), as_dict=True)
    for header in ({"jwk": jwk}, {"jku": f"file://{tmp_path}/evil.json"}, {"x5c": ["MIIB"]}, {"crit": ["exp"]}):
        refused(verifier, issuer.sign(issuer.claims(GRANT), key=other, **header))
    assert verifier.prove(issuer.sign(issuer.claims(GRANT), jwk=jwk)).name == "token:host-7"


def test_a_token_must_name_its_key(issuer, verifier):
    """No key id, an unknown one, and one that isn't text are refused without trying keys in turn."""
    for kid in ("k2", "", "../k1"):
        refused(verifier, issuer.sign(issuer.claims(GRANT), kid=kid))
    body = part(issuer.claims(GRANT))
    for header in ({"alg": "EdDSA"}, {"alg": "EdDSA", "kid": 1}, {"alg": "EdDSA", "kid": ["k1"]}, []):
        refused(verifier, f"{part(header)}.{body}.AAAA")


@pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "....", "x" * 5000, "é.é.é", "e30.e30.e30"])
def test_what_isn_t_a_token_is_refused(token, verifier):
    """Any text may come instead of a token."""
    refused(verifier, token)


def test_one_changed_bit_is_a_forgery(issuer, verifier):
    """Claims under another token's signature don't pass, nor does a signature with a bit changed."""
    token = issuer.sign(issuer.claims(GRANT))
    header, _, signature = token.split(".")
    wider = part(issuer.claims({**GRANT, "users": "any"}))
    assert refused(verifier, f"{header}.{wider}.{signature}") == "forged token"
    flipped = ("A" if signature[5] != "A" else "B").join((signature[:5], signature[6:]))
    assert refused(verifier, ".".join((*token.split(".")[:2], flipped))) == "forged token"


def test_a_withdrawn_key_s_tokens_end_with_it(issuer, verifier):
    """When the file changes, tokens that were accepted are proven anew by the new keys, old and new alike."""
    old, fresh = issuer.sign(issuer.claims(GRANT)), new_signing_key()
    verifier.prove(old)
    issuer.publish({"k1": issuer.key.public_key(), "k2": fresh.public_key()})
    new = issuer.sign(issuer.claims(GRANT), key=fresh, kid="k2")
    assert verifier.prove(old) == verifier.prove(new)
    issuer.publish({"k2": fresh.public_key()})
    assert verifier.prove(new)
    assert refused(verifier, old) == "token by an unknown key"


def test_a_broken_file_changes_nothing(issuer, verifier):
    """Half a file, or none, leaves the keys that were read last in force."""
    token = issuer.sign(issuer.claims(GRANT))
    issuer.jwks.write_text('{"keys": [')
    assert verifier.prove(token)
    issuer.jwks.unlink()
    assert verifier.prove(token)


def jwk_of(key, **more):
    algorithms = jwt.algorithms.get_default_algorithms()
    name = next(n for n in ("EdDSA", "ES256", "RS256") if _fits(algorithms[n], key))
    return {**algorithms[name].to_jwk(key, as_dict=True), "kid": "k", **more}


def _fits(algorithm, key):
    try:
        return bool(algorithm.to_jwk(key, as_dict=True))
    except (jwt.InvalidKeyError, AttributeError, TypeError):
        return False


GOOD = jwk_of(new_signing_key().public_key())


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        {"keys": []},
        {"keys": [{}]},
        {"keys": [{**GOOD, "kid": None}, {**GOOD, "kid": None}]},
        {"keys": [GOOD, GOOD]},
        {"keys": [{**GOOD, "use": "enc"}]},
        {"keys": [{**GOOD, "alg": "ES256"}]},
        {"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "k"}]},
        {"keys": [jwk_of(new_signing_key())]},
        {"keys": [jwk_of(rsa.generate_private_key(65537, 1024).public_key())]},  # noqa: S505  # refused
        {"keys": [jwk_of(ed448.Ed448PrivateKey.generate().public_key())]},
        {"keys": [jwk_of(ec.generate_private_key(ec.SECP384R1()).public_key())]},
        {"keys": [{"kty": "OKP", "kid": "k"}]},
    ],
    ids=lambda d: str(d)[:60],
)
def test_a_file_with_a_key_of_no_use_is_refused(document):
    """Secret, weak, foreign, nameless and repeated keys are mistakes that an operator hears of at the start."""
    with pytest.raises(CredentialsError):
        parse_signing_keys((document if isinstance(document, str) else json.dumps(document)).encode())
