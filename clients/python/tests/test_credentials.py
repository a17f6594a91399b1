"""What proves who calls: sent with every call, never in the clear beyond this machine, and refused by class."""

import itertools

import grpc
import pytest

from ironclaw.memory.v1 import memory_service_pb2 as memory
from ironclaw_memory_client import (
    TLS,
    ForbiddenError,
    MemoryClient,
    PermissionForbiddenError,
    Scope,
    UnauthenticatedError,
)
from ironclaw_memory_client.credentials import check_target

from .scripted import Refusal

Code = grpc.StatusCode
TEA = memory.ReadResponse(content="tea")


def test_a_token_goes_with_every_call(connect, script):
    """It is sent as a bearer credential, and only where one was given."""
    script.answers = [TEA, TEA]
    connect(script.target, token="icm_x").read("MEMORY.md")
    connect(script.target).read("MEMORY.md")
    assert [seen.metadata.get("authorization") for seen in script.seen] == ["Bearer icm_x", None]


def test_a_function_is_asked_at_each_call(connect, script):
    """A host that renews its tokens hands in how to get one; the tries of one call carry the same."""
    numbers = itertools.count(1)
    script.answers = [TEA, Refusal(Code.UNAVAILABLE, "OVERLOADED"), TEA]
    client = connect(script.target, token=lambda: f"t{next(numbers)}")
    client.read("MEMORY.md")
    client.read("MEMORY.md")
    assert [seen.metadata["authorization"] for seen in script.seen] == ["Bearer t1", "Bearer t2", "Bearer t2"]


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "\u00e9", "\ud800", "Bearer x"])
def test_what_is_no_token_is_not_sent(token, connect, script):
    """A line break or a space in it is a mistake of whoever read it, and tells before anything is sent."""
    with pytest.raises(ValueError, match="token"):
        connect(script.target, token=token).read("MEMORY.md")
    assert script.seen == []


@pytest.mark.parametrize(
    "target",
    [
        "127.0.0.1:1",
        "127.9.9.9:1",
        "localhost:1",
        "[::1]:1",
        "unix:/run/memory.sock",
        "unix:///run/memory.sock",
        "unix-abstract:memory",
        "dns:///localhost:1",
        "ipv4:127.0.0.1:1",
        "ipv6:[::1]:1",
    ],
)
def test_a_token_may_go_in_the_clear_on_this_machine(target):
    """Loopback and Unix sockets leave no machine."""
    check_target(target, "icm_x", encrypted=False)


@pytest.mark.parametrize(
    "target",
    [
        "memory.internal:1",
        "10.0.0.7:1",
        "0.0.0.0:1",
        "[fd00::1]:1",
        "dns:///memory:1",
        "dns://127.0.0.1/memory:1",
        "ipv4:10.0.0.7:1",
        "localhost.evil.example:1",
        "127.0.0.1.evil.example:1",
        "xds:///localhost",
        "ipv4:127.0.0.1:1,10.0.0.7:1",
    ],
)
def test_a_token_never_goes_in_the_clear_further(target):
    """Anywhere else it takes TLS, and the client isn't even made without."""
    with pytest.raises(ValueError, match="in the clear"):
        MemoryClient(target, Scope("acme", "ann"), token="icm_x")
    MemoryClient(target, Scope("acme", "ann"), token="icm_x", tls=TLS()).close()
    MemoryClient(target, Scope("acme", "ann")).close()


@pytest.mark.parametrize("reason", ["CREDENTIALS_MISSING", "CREDENTIALS_INVALID", ""])
def test_a_refused_credential_is_one_error_and_final(reason, connect, script):
    """Whoever refuses it, the service or a proxy before it, it is the same class, after one try."""
    script.answers = [Refusal(Code.UNAUTHENTICATED, reason)]
    with pytest.raises(UnauthenticatedError):
        connect(script.target).read("MEMORY.md")
    assert len(script.seen) == 1


def test_a_missing_permission_is_named(connect, script):
    """The error tells which permission the credential lacks."""
    script.answers = [Refusal(Code.PERMISSION_DENIED, "PERMISSION_FORBIDDEN", metadata={"permission": "admin"})]
    with pytest.raises(ForbiddenError) as caught:
        connect(script.target).read("MEMORY.md")
    assert isinstance(caught.value, PermissionForbiddenError)
    assert caught.value.permission == "admin"


def test_a_call_beyond_the_rate_waits_as_it_was_told(connect, script, elapsed):
    """The second try comes no sooner than the server asked."""
    script.answers = [Refusal(Code.RESOURCE_EXHAUSTED, "RATE_LIMITED", retry_after=0.2), TEA]
    with elapsed() as seconds:
        connect(script.target).read("MEMORY.md")
        assert seconds() >= 0.2
