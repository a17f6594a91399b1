"""Scope values as call metadata."""

import pytest

from ironclaw_memory_client import MemoryClient, Scope
from ironclaw_memory_client.scope import call_metadata


def test_only_what_is_given_travels():
    """Absent parts of a scope send no key at all, since an empty one would be refused."""
    assert call_metadata(Scope("acme", "ann")) == (
        ("x-ironclaw-tenant-id", "acme"),
        ("x-ironclaw-user-id", "ann"),
    )


def test_a_credential_may_name_the_scope():
    """A scope without tenant and user sends neither, for a credential that is good for one of each."""
    assert call_metadata(Scope(agent="coder")) == (("x-ironclaw-agent-id", "coder"),)


def test_every_part_has_its_key():
    """Each part of the scope and each id of the call goes under the key that the service reads."""
    metadata = call_metadata(Scope("t", "u", "a", "p", "h"), request_id="r", correlation_id="c")
    assert dict(metadata) == {
        "x-ironclaw-tenant-id": "t",
        "x-ironclaw-user-id": "u",
        "x-ironclaw-agent-id": "a",
        "x-ironclaw-project-id": "p",
        "x-ironclaw-thread-id": "h",
        "x-ironclaw-request-id": "r",
        "x-ironclaw-correlation-id": "c",
    }


@pytest.mark.parametrize("value", ["王芳", "é", " ann", "ann ", "a\tb", "a\nb", "\x7f", "\u00a0"])
def test_what_headers_would_change_travels_as_bytes(value):
    """A value that isn't printable ASCII, or has a space at an end, goes under the `-bin` key, and only there."""
    assert call_metadata(Scope("acme", value))[1:] == (("x-ironclaw-user-id-bin", value.encode()),)


@pytest.mark.parametrize("value", ["ann", "a b", "", "~!#", "%E7"])
def test_printable_ascii_travels_as_it_is(value):
    """Printable ASCII goes under the plain key; a wrong value stays as it is, for the service to refuse."""
    assert call_metadata(Scope("acme", value))[1] == ("x-ironclaw-user-id", value)


def test_a_lone_surrogate_is_refused_before_anything_is_sent():
    """A text that isn't Unicode raises ValueError instead of being sent changed."""
    with MemoryClient("127.0.0.1:1", Scope("acme", "\ud800")) as client, pytest.raises(ValueError, match="surrogate"):
        client.read("MEMORY.md")


def test_with_scope_changes_a_part_and_leaves_the_client_alone():
    """`with_scope` returns a client that differs in the given parts; None takes an optional part away."""
    with MemoryClient("127.0.0.1:1", Scope("acme", "ann", agent="coder", thread="t1")) as client:
        other = client.with_scope(agent=None, project="apollo")
        assert other.scope == Scope("acme", "ann", project="apollo", thread="t1")
        assert client.scope == Scope("acme", "ann", agent="coder", thread="t1")
