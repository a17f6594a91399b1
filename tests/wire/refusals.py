"""What a refusal must look like, whatever its reason: the contract's table of codes and kinds, and what never leaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.caller import DOMAIN, Refusal

MARKER = "marmalade-osprey"
"""Stands in every text that the tests store or try to store; no refusal may quote it."""

CODES = {
    "INVALID_PATH": ("INVALID_ARGUMENT", "input"),
    "INVALID_ARGUMENTS": ("INVALID_ARGUMENT", "input"),
    "PATCH_NO_MATCH": ("INVALID_ARGUMENT", "input"),
    "SCHEMA_VIOLATION": ("INVALID_ARGUMENT", "operation"),
    "SCOPE_MISSING": ("INVALID_ARGUMENT", "input"),
    "SCOPE_INVALID": ("INVALID_ARGUMENT", "input"),
    "REQUEST_ID_REUSED": ("INVALID_ARGUMENT", "input"),
    "DOCUMENT_TOO_LARGE": ("INVALID_ARGUMENT", "input"),
    "REQUEST_MALFORMED": ("INVALID_ARGUMENT", "input"),
    "HIGH_RISK_PROMPT_INJECTION": ("INVALID_ARGUMENT", "operation"),
    "CRITICAL_PROMPT_INJECTION": ("INVALID_ARGUMENT", "operation"),
    "PROMPT_WRITE_BYPASS_NOT_ALLOWED": ("INVALID_ARGUMENT", "operation"),
    "SECRET_DETECTED": ("INVALID_ARGUMENT", "operation"),
    "NOT_FOUND": ("NOT_FOUND", "operation"),
    "PATH_CONFLICT": ("FAILED_PRECONDITION", "operation"),
    "PROFILE_CORRUPT": ("FAILED_PRECONDITION", "operation"),
    "DOCUMENT_NOT_TEXT": ("FAILED_PRECONDITION", "operation"),
    "DOCUMENT_READ_ONLY": ("FAILED_PRECONDITION", "operation"),
    "LEASE_INVALID": ("FAILED_PRECONDITION", "operation"),
    "CONTENT_CHANGED": ("ABORTED", "operation"),
    "CAS_EXHAUSTED": ("ABORTED", "operation"),
    "CREDENTIALS_MISSING": ("UNAUTHENTICATED", "operation"),
    "CREDENTIALS_INVALID": ("UNAUTHENTICATED", "operation"),
    "SCOPE_FORBIDDEN": ("PERMISSION_DENIED", "operation"),
    "PERMISSION_FORBIDDEN": ("PERMISSION_DENIED", "operation"),
    "RESERVED_NAMESPACE": ("PERMISSION_DENIED", "operation"),
    "RATE_LIMITED": ("RESOURCE_EXHAUSTED", "operation"),
    "SCOPE_QUOTA": ("RESOURCE_EXHAUSTED", "operation"),
    "STORAGE_FULL": ("RESOURCE_EXHAUSTED", "operation"),
    "OVERLOADED": ("UNAVAILABLE", "unavailable"),
    "STORAGE_UNAVAILABLE": ("UNAVAILABLE", "unavailable"),
    "SHUTTING_DOWN": ("UNAVAILABLE", "unavailable"),
    "PROMPT_WRITE_POLICY_UNAVAILABLE": ("UNAVAILABLE", "unavailable"),
    "PROMPT_WRITE_SAFETY_EVENT_UNAVAILABLE": ("UNAVAILABLE", "unavailable"),
    "OUTCOME_UNKNOWN": ("UNAVAILABLE", "unavailable"),
    "DOCUMENT_CORRUPT": ("DATA_LOSS", "operation"),
    "DEADLINE_EXCEEDED": ("DEADLINE_EXCEEDED", "operation"),
    "CANCELLED": ("CANCELLED", "operation"),
    "INTERNAL": ("INTERNAL", "operation"),
}
"""Reason -> status code and kind, as the contract has them, whether the service uses a reason yet or not.

A missing document on a read is `input`."""


def check_form(refusal: Refusal) -> None:
    """Assert what holds for every refusal: one ErrorInfo, the code and kind of its reason, nothing too long."""
    assert refusal.domain == DOMAIN, refusal
    assert refusal.reason in CODES, refusal
    code, kind = CODES[refusal.reason]
    kinds = {kind, "input"} if refusal.reason == "NOT_FOUND" else {kind}
    assert refusal.code == code, refusal
    assert refusal.kind in kinds, refusal
    assert refusal.kind == "input" or not refusal.fields, refusal
    assert refusal.message.isascii(), refusal
    assert 0 < len(refusal.message) <= 512, refusal
    assert all(f.isascii() and len(f) <= 128 for f in refusal.fields), refusal


def check_silence(refusal: Refusal, *secrets: object) -> None:
    """Assert that nothing in the refusal quotes document text or any of `secrets`, such as host paths and scope ids."""
    for secret in (MARKER, "Traceback", ".py", "Errno", *map(str, secrets)):
        assert secret not in refusal.raw, f"{secret!r} leaked: {refusal.raw}"


@contextmanager
def refused(
    reason: str, *fields: str, kind: str | None = None, hides: tuple[object, ...] = ()
) -> Iterator[list[Refusal]]:
    """Hold the block to a refusal for `reason`, blaming `fields` when given; what it was is in the yielded list."""
    caught: list[Refusal] = []
    with pytest.raises(Refusal) as raised:
        yield caught
    refusal = raised.value
    caught.append(refusal)
    assert refusal.reason == reason, refusal
    check_form(refusal)
    check_silence(refusal, *hides)
    if fields:
        assert refusal.fields == fields, refusal
    if kind:
        assert refusal.kind == kind, refusal
