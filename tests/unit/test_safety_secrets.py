"""Credentials: found by their shape, masked, and not seen where documentation only shows the shape."""

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironclaw_memory.safety import find_secrets, redact
from ironclaw_memory.safety.secrets import SHAPES

MIXED = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7cD9eF1gH3jK5lM7nP9qR1sT3uV5wX7yZ9"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"


def part(value: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


JWT = f"{part({'alg': 'HS256'})}.{part({'sub': 'octavia'})}.{MIXED[:43]}"
BODY = MIXED[:64]

# Put together from pieces, so that no scanner of repositories takes a made-up key for a real one.
MADE_UP = {
    "aws-access-key-id": "AKIA" + "IOSFODNN7EXAMPLQ",
    "aws-secret-key": "aws_secret_access_key = " + MIXED[:40],
    "github-token": "ghp" + "_" + MIXED[:36],
    "gitlab-token": "glpat" + "-" + MIXED[:20],
    "anthropic-key": "sk-" + "ant-api03-" + MIXED[:40],
    "openai-key": "sk-" + "proj-" + MIXED[:24] + "_" + MIXED[:20],
    "sk-key": "sk-" + MIXED[:48],
    "slack-token": "xoxb" + "-123456789012-" + MIXED[:24],
    "slack-webhook": "https://hooks.slack.com/services/" + "T0A1B2C3D/B0A1B2C3D/" + MIXED[:24],
    "discord-webhook": "https://discord.com/api/webhooks/" + "123456789012345678/" + MIXED[:68],
    "stripe-key": "sk" + "_live_" + MIXED[:24],
    "google-key": "AIza" + MIXED[:35],
    "huggingface-token": "hf" + "_" + MIXED[:34],
    "npm-token": "npm" + "_" + MIXED[:36],
    "pypi-token": "pypi-" + "AgE" + MIXED[:60],
    "sendgrid-key": "SG" + "." + MIXED[:22] + "." + MIXED[:43],
    "telegram-token": "123456789:" + "AA" + MIXED[:33],
    "twilio-key": "SK" + HEX[:32],
    "digitalocean-token": "dop" + "_v1_" + HEX,
    "shopify-token": "shpat" + "_" + HEX[:32],
    "databricks-token": "dapi" + HEX[:32],
    "vault-token": "hvs" + "." + MIXED[:30],
    "groq-key": "gsk" + "_" + MIXED[:52],
    "ironclaw-memory-key": "icm" + "_k3v9x2m7qa_" + MIXED[:43] + "_" + MIXED[:6],
    "linear-notion-key": "lin" + "_api_" + MIXED[:40],
    "tailscale-key": "tskey" + "-auth-" + MIXED[:32],
    "age-key": "AGE-SECRET-" + "KEY-1" + MIXED[:58].upper(),
    "azure-account-key": "AccountKey=" + MIXED[:64] + MIXED[:22] + "==",
    "jwt": JWT,
    "private-key": "-----BEGIN RSA " + f"PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----",
    "login-url": "postgres://app:" + "h7Gt-plum@db.internal:5432/app",
    "bearer-token": "Authorization: Bearer " + MIXED[:40],
    "assigned-secret": "API_KEY=" + MIXED[:32],
}


def test_every_shape_has_an_example():
    """No kind of credential goes untested."""
    assert set(MADE_UP) == {shape.id for shape in SHAPES}


@pytest.mark.parametrize(("name", "secret"), MADE_UP.items())
def test_a_credential_is_found_and_masked(name, secret):
    """Each kind is recognised in a sentence, and nothing of it is left after masking."""
    text = f"The key: {secret} (keep)"
    assert name in find_secrets(text)
    masked = redact(text)
    value = secret.split()[-1].split("=", 1)[-1] if name in ("aws-secret-key", "bearer-token") else secret
    assert value not in masked
    assert masked.startswith("The ")
    assert masked.endswith(" (keep)")
    assert find_secrets(masked) == ()


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY are Amazon's examples",
        "xAKIAIOSFODNN7EXAMPLQ and AKIAIOSFODNN7EXAMPLQX are something else",
        "task-sk-refactorcacheinvalidation and sk-refactorcacheinvalidationnow",
        f"sha256 {HEX}, commit {HEX[:40]}",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/db and redis://:${REDIS_PASSWORD}@cache:6379",
        "API_KEY=your-api-key-goes-right-here-123",
        "password: hunter2",
        "eyJhbGciOi.eyJub3QgYSB0b2tlbg.abcdefghijklmnopqrst",
        "-----BEGIN PRIVATE KEY----- is how a key file begins",
        "https://example.com:8443/path@version",
    ],
)
def test_what_only_looks_like_a_credential_is_left_alone(text):
    """Hashes, ids, placeholders and documentation examples aren't credentials, and come back unchanged."""
    assert find_secrets(text) == ()
    assert redact(text) == text


def test_invisible_characters_do_not_hide_a_key():
    """A key broken up by characters that show nothing is found, and is gone after masking."""
    hidden = "\u200b".join(("AKIA", "IOSFODNN7", "EXAMPLQ"))
    assert find_secrets(hidden) == ("aws-access-key-id",)
    assert redact(f"a {hidden} b") == "a [redacted: aws-access-key-id] b"


def test_a_key_escaped_in_json_is_found():
    """A JSON document is looked at with its strings decoded."""
    assert find_secrets('{"location": "\\u0041KIAIOSFODNN7EXAMPLQ"}') == ("aws-access-key-id",)


def test_two_keys_side_by_side_are_both_masked():
    """One key's boundary doesn't swallow the next."""
    key = MADE_UP["aws-access-key-id"]
    assert redact(f"{key} {key},{key}") == ", ".join(["[redacted: aws-access-key-id]"] * 2).replace(", ", " ") + (
        ",[redacted: aws-access-key-id]"
    )


@settings(max_examples=150, deadline=None)
@given(st.text())
def test_any_text_can_be_masked(text):
    """Masking never fails and masking twice changes nothing more."""
    masked = redact(text)
    assert redact(masked) == masked


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit", ["ey", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----a", "http://a:", "sk-", "secret=", "xoxb-1"]
)
def test_a_large_hostile_document_is_looked_at_in_bounded_time(unit):
    """A mebibyte made to be slow takes seconds at most."""
    find_secrets(unit * (1_048_576 // len(unit)))
