"""Finds and masks credentials by their known shapes. Guesses at passwords in prose are not its business.

A shape is a pattern with boundaries plus a check of what it matched, so that hashes, ids and the keys printed in
documentation stay legal. One RE2 set says in a single pass which shapes are worth looking for.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from . import view
from .pattern_set import PatternSet, to_bytes

_PLACEHOLDER: Final = re.compile(
    r"x{6,}|\*{3,}|\.{3,}|0{8,}|1{8,}|example|placeholder|your[-_]|redacted|changeme|dummy|<|\$\{|\{\{|%\(",
    re.IGNORECASE,
)
_STOCK_PASSWORDS: Final = frozenset(
    {
        "password",
        "pass",
        "passwd",
        "pwd",
        "pw",
        "secret",
        "user",
        "username",
        "postgres",
        "root",
        "admin",
        "token",
        "test",
    }
)


def _entropy(text: str) -> float:
    """Return the Shannon entropy of the characters, in bits each."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _is_real(value: str) -> bool:
    """Tell whether the characters vary as a made key's do, and no placeholder stands among them."""
    return not _PLACEHOLDER.search(value) and len(set(value)) >= 8


def _is_random(value: str) -> bool:
    return (
        _is_real(value)
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and _entropy(value) > 3.2
    )


def _is_random_mixed(value: str) -> bool:
    letters = any(c.islower() for c in value) and any(c.isupper() for c in value)
    return _is_random(value) and letters and _entropy(value) > 3.5


def _is_aws_id(value: str) -> bool:
    """The ids that Amazon prints in its documentation end in EXAMPLE."""
    return not value.endswith("EXAMPLE") and len(set(value)) >= 6


def _is_jwt(value: str) -> bool:
    """A token's first part is a JSON object that names an algorithm, its second a JSON object."""
    header, claims = (_json_part(part) for part in value.split(".")[:2])
    return isinstance(header, dict) and "alg" in header and isinstance(claims, dict)


def _json_part(part: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None


def _is_login(value: str) -> bool:
    """A URL's password counts unless it is a word that manuals put there, or the user's name once more."""
    user, _, rest = value.partition("://")[2].partition(":")
    password = rest.rpartition("@")[0]
    is_stock = password.casefold() in _STOCK_PASSWORDS or password == user
    return not (is_stock or _PLACEHOLDER.search(password) or len(set(password)) < 3)


def _is_key_block(value: str) -> bool:
    return not _PLACEHOLDER.search(value.partition("KEY")[2])


@dataclass(frozen=True, slots=True)
class SecretShape:
    """One kind of credential.

    Attributes:
        id: its stable name; what events carry.
        pattern: in the syntax that RE2 and `re` share; a group named `value` where only a part is the secret.
        is_real: tells a credential from what merely has its shape.
    """

    id: str
    pattern: str
    is_real: Callable[[str], bool] = _is_real


SHAPES: Final = (
    SecretShape("aws-access-key-id", r"(?:AKIA|ASIA)[A-Z0-9]{16}", _is_aws_id),
    SecretShape(
        "aws-secret-key",
        r"(?i:aws_?secret_?(?:access_?)?key)[\"'\s:=]{1,6}(?P<value>[A-Za-z0-9/+]{40})",
        _is_random,
    ),
    SecretShape("github-token", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{36,255}"),
    SecretShape("gitlab-token", r"gl(?:pat|dt|rt|ptt|soat)-[A-Za-z0-9_-]{20,64}"),
    SecretShape("anthropic-key", r"sk-ant-[a-z0-9]{2,8}-[A-Za-z0-9_-]{24,160}"),
    SecretShape("openai-key", r"sk-(?:proj|svcacct|admin|or-v1|lf)-[A-Za-z0-9_-]{20,220}", _is_random),
    SecretShape("sk-key", r"sk-[A-Za-z0-9]{20,128}", _is_random),
    SecretShape("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}"),
    SecretShape("slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{30,80}"),
    SecretShape("discord-webhook", r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{15,22}/[\w-]{50,90}"),
    SecretShape("stripe-key", r"(?:sk|rk)_live_[A-Za-z0-9]{16,200}|whsec_[A-Za-z0-9+/=]{32,100}"),
    SecretShape("google-key", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,250}"),
    SecretShape("huggingface-token", r"hf_[A-Za-z0-9]{30,50}", _is_random_mixed),
    SecretShape("npm-token", r"npm_[A-Za-z0-9]{36}"),
    SecretShape("pypi-token", r"pypi-AgE[A-Za-z0-9_-]{50,250}"),
    SecretShape("sendgrid-key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    SecretShape("telegram-token", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    SecretShape("twilio-key", r"SK[0-9a-f]{32}", _is_random),
    SecretShape("digitalocean-token", r"do[opr]_v1_[a-f0-9]{64}"),
    SecretShape("shopify-token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    SecretShape("databricks-token", r"dapi[a-f0-9]{32}"),
    SecretShape("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{24,200}", _is_random),
    SecretShape("groq-key", r"gsk_[A-Za-z0-9]{40,64}|xai-[A-Za-z0-9]{60,100}|pplx-[A-Za-z0-9]{40,64}"),
    SecretShape("ironclaw-memory-key", r"icm_[a-z0-9]{10}_[A-Za-z0-9]{43}_[A-Za-z0-9]{6}"),
    SecretShape("linear-notion-key", r"lin_api_[A-Za-z0-9]{32,48}|ntn_[A-Za-z0-9]{40,60}"),
    SecretShape("tailscale-key", r"tskey-[a-z]+-[A-Za-z0-9-]{20,80}"),
    SecretShape("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    SecretShape("azure-account-key", r"AccountKey=(?P<value>[A-Za-z0-9+/]{86}==)"),
    SecretShape("jwt", r"ey[IJ][A-Za-z0-9_-]{10,2000}\.ey[IJ][A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{16,1000}", _is_jwt),
    SecretShape(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\s|\\[rn]|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{0,100})*"
        r"[A-Za-z0-9+/=]{16,10000}(?:(?:\s|\\[rn])+[A-Za-z0-9+/=]{16,10000})*"
        r"(?:(?:\s|\\[rn])*[A-Za-z0-9+/=]{0,76}(?:\s|\\[rn])*"
        r"-----END (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----)?",
        _is_key_block,
    ),
    SecretShape(
        "login-url",
        r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|clickhouse|https?|ftps?|smtps?|ldaps?)"
        r"(?:\+\w{2,12})?://[^\s:/@\"'<>]{0,128}:[^\s/@\"'<>]{3,256}@[A-Za-z0-9.\[-]{1,255}",
        _is_login,
    ),
    SecretShape(
        "bearer-token",
        r"(?i:authorization)[\"'\s:=]{1,6}(?i:bearer|token|basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{24,2000})",
        _is_random_mixed,
    ),
    SecretShape(
        "assigned-secret",
        r"(?i:api[_-]?key|secret[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|passw(?:or)?d|secret)"
        r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<value>[A-Za-z0-9_+/=~.!@#%^&*-]{20,200})",
        _is_random_mixed,
    ),
)  # fmt: skip

_Found = tuple[SecretShape, tuple[int, int]]
_BOUNDED: Final = {
    shape.id: re.compile(rf"(?<![A-Za-z0-9_-])(?:{shape.pattern})(?![A-Za-z0-9_])", re.ASCII) for shape in SHAPES
}


def find_secrets(text: str) -> tuple[str, ...]:
    """Return the ids of the kinds of credential in the text, in the table's order.

    Invisible characters inside a key don't hide it, nor do the escapes of a JSON document.
    """
    strings = view.json_strings(text)
    found = {shape.id for reading in (text, strings or "") for shape, _ in _visible_or_hidden(reading)}
    return tuple(shape.id for shape in SHAPES if shape.id in found)


def locate_secrets(text: str) -> tuple[tuple[str, int], ...]:
    """Return the kind of each credential that stands plainly in the text, with the line in which it begins, from 1."""
    spans, _ = _look(text)
    return tuple((shape.id, text.count("\n", 0, start) + 1) for shape, (start, _) in spans)


def redact(text: str) -> str:
    """Return the text with every credential masked as `[redacted: <kind>]`.

    The text comes back unchanged where there is none. Where invisible characters hide a credential, they are gone from
    what comes back.
    """
    spans, hides_some = _look(text)
    masked = _mask(text, spans)
    if not hides_some:
        return masked
    plain = view.strip_invisible(masked)
    hidden, _ = _look(plain)
    return _mask(plain, hidden) if hidden else masked


def _visible_or_hidden(text: str) -> Iterator[_Found]:
    spans, hides_some = _look(text)
    yield from spans
    if hides_some:
        yield from _look(view.strip_invisible(text))[0]


def _mask(text: str, spans: list[_Found]) -> str:
    parts: list[str] = []
    done = 0
    for shape, (start, end) in sorted(spans, key=lambda found: found[1]):
        if start >= done:
            parts += text[done:start], f"[redacted: {shape.id}]"
        done = max(done, end)
    return "".join((*parts, text[done:]))


def _look(text: str) -> tuple[list[_Found], bool]:
    """Return each credential with its place, the keyword before it not included; and whether more may be hidden."""
    places = _shape_set().matches(text, to_bytes(text))
    spans = [found for place in places if place < len(SHAPES) for found in _occurrences(SHAPES[place], text)]
    return spans, bool(places) and places[-1] == len(SHAPES)


def _occurrences(shape: SecretShape, text: str) -> Iterator[_Found]:
    for found in _BOUNDED[shape.id].finditer(text):
        group = "value" if "value" in found.re.groupindex else 0
        if shape.is_real(found[group]):
            yield shape, found.span(group)


_UPPER_BOUND: Final = re.compile(r"\{(\d+),\d+\}")
"""Taken off for RE2, which would unroll it: the set needs to match at least what the bounded patterns match."""


@cache
def _shape_set() -> PatternSet:
    patterns = (_UPPER_BOUND.sub(r"{\1,}", shape.pattern) for shape in SHAPES)
    return PatternSet(((pattern,) for pattern in (*patterns, view.BROKEN_WORD)), ignore_case=False)
