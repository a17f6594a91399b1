"""When calls are repeated: the rule as a function, and both clients against a service that fails by script."""

import itertools

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw.memory.v1 import admin_service_pb2 as admin
from ironclaw.memory.v1 import memory_service_pb2 as memory
from ironclaw_memory_client import (
    ConflictError,
    ContentChangedError,
    DeadlineExceededError,
    ErrorDetails,
    MemoryServiceError,
    OutcomeUnknownError,
    OverloadedError,
    RetryPolicy,
    Scope,
    ShuttingDownError,
)
from ironclaw_memory_client.failure import BY_REASON
from ironclaw_memory_client.retry import Tries

from .scripted import Refusal

Code = grpc.StatusCode
BUSY = Refusal(Code.UNAVAILABLE, "OVERLOADED")


def error(code, reason="", retry_after=None):
    """Make an error as the wire would."""
    cls = BY_REASON.get(reason, MemoryServiceError)
    return cls(ErrorDetails(code, "No.", reason=reason, retry_after=retry_after))


def tries(policy=None, *, expires_at=1000.0, changes=False, conditional=False):
    """Make the tries of one call."""
    return Tries(policy or RetryPolicy(), expires_at, changes=changes, conditional=conditional)


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("code", [c for c in Code if c not in (Code.OK, Code.UNAVAILABLE)])
def test_no_other_status_is_repeated(code, changes):
    """Nothing but UNAVAILABLE is repeated for its status, whether the call reads or changes."""
    assert tries(changes=changes).delay_after(error(code), now=0.0) is None


@pytest.mark.parametrize(
    ("reason", "changes", "conditional", "repeated"),
    [
        ("OVERLOADED", False, False, True),
        ("OVERLOADED", True, True, True),
        ("STORAGE_UNAVAILABLE", True, False, True),
        ("OUTCOME_UNKNOWN", True, False, False),
    ],
)
def test_unavailable_is_repeated_unless_the_outcome_is_unknown(reason, changes, conditional, repeated):
    """UNAVAILABLE is repeated under one request id; OUTCOME_UNKNOWN is the caller's to look into."""
    delay = tries(changes=changes, conditional=conditional).delay_after(error(Code.UNAVAILABLE, reason), now=0.0)
    assert (delay is not None) is repeated


@pytest.mark.parametrize(
    ("reason", "changes", "conditional", "repeated"),
    [
        ("CAS_EXHAUSTED", True, False, True),
        ("CAS_EXHAUSTED", True, True, False),
        ("CAS_EXHAUSTED", False, False, False),
        ("CONTENT_CHANGED", True, False, False),
        ("CONTENT_CHANGED", True, True, False),
    ],
)
def test_aborted_is_repeated_only_where_the_change_still_makes_sense(reason, changes, conditional, repeated):
    """A lost race is run again when the change has no precondition; a failed precondition never is."""
    delay = tries(changes=changes, conditional=conditional).delay_after(error(Code.ABORTED, reason), now=0.0)
    assert (delay is not None) is repeated


@given(st.integers(1, 8), st.floats(0, 2), st.floats(0, 10))
def test_delays_grow_are_spread_and_end(max_tries, first_delay, max_delay):
    """Without a word from the server, each delay is half to all of a doubling ceiling, and tries are counted."""
    one = tries(RetryPolicy(max_tries, first_delay, max_delay))
    delays = list(
        itertools.takewhile(
            lambda delay: delay is not None, (one.delay_after(error(Code.UNAVAILABLE), 0.0) for _ in range(20))
        )
    )
    assert len(delays) == max_tries - 1
    for n, delay in enumerate(delays):
        ceiling = min(max_delay, first_delay * 2**n)
        assert ceiling / 2 <= delay <= ceiling


@given(st.floats(0, 100))
def test_the_servers_delay_is_never_cut_short(asked_for):
    """A delay that the server names is waited for in full, even beyond `max_delay`, and spread by a fifth at most."""
    one = tries(RetryPolicy(max_delay=0.01))
    delay = one.delay_after(error(Code.UNAVAILABLE, "OVERLOADED", retry_after=asked_for), now=0.0)
    assert asked_for <= delay <= asked_for * 1.2


def test_a_wait_beyond_the_deadline_is_not_begun():
    """When the server's delay would outlast the caller's time, the error comes at once."""
    late = error(Code.UNAVAILABLE, "OVERLOADED", retry_after=5.0)
    assert tries(expires_at=4.0).delay_after(late, now=0.0) is None
    assert tries(expires_at=7.0).delay_after(late, now=0.0) is not None


@pytest.mark.parametrize("wrong", [{"max_tries": 0}, {"first_delay": -1.0}, {"max_delay": -0.1}])
def test_a_senseless_policy_is_refused(wrong):
    """A policy that could never make a call, or would wait backwards, raises ValueError."""
    with pytest.raises(ValueError, match="must"):
        RetryPolicy(**wrong)


def test_a_read_is_repeated_until_it_succeeds(connect, script):
    """Two refusals and an answer are three tries, and the caller sees only the answer."""
    script.answers = [BUSY, BUSY, memory.ReadResponse(path="MEMORY.md", content="tea")]
    assert connect(script.target).read("MEMORY.md").content == "tea"
    assert [seen.method for seen in script.seen] == ["Read"] * 3
    assert "x-ironclaw-request-id" not in script.seen[0].metadata


def test_all_tries_of_a_write_carry_one_request_id(connect, script):
    """A repeated write is the same write: the same request and the same generated id, so that it happens once."""
    script.answers = [BUSY, Refusal(Code.UNAVAILABLE), memory.WriteResponse(path="MEMORY.md", replayed=True)]
    assert connect(script.target).write("tea", target="memory").replayed
    ids = {seen.metadata["x-ironclaw-request-id"] for seen in script.seen}
    assert len(script.seen) == 3
    assert len(ids) == 1
    assert len(ids.pop()) == 36
    assert all(seen.request == script.seen[0].request for seen in script.seen)


def test_two_writes_have_two_request_ids(connect, script):
    """Ids are made for each call, or a second write of the same text would be taken for a repetition."""
    script.answers = [memory.WriteResponse(), memory.WriteResponse()]
    client = connect(script.target)
    client.write("tea")
    client.write("tea")
    assert len({seen.metadata["x-ironclaw-request-id"] for seen in script.seen}) == 2


CHANGES = [
    ("profile_set", {"timezone": "UTC"}, memory.ProfileSetResponse()),
    ("invoke", {"name": "ironclaw.memory.write", "arguments_json": "{}"}, memory.InvokeToolResponse(output_json="{}")),
    ("restore_version", {"path": "MEMORY.md", "version": 1}, admin.RestoreVersionResponse()),
    ("delete_document", {"path": "MEMORY.md"}, admin.DeleteDocumentResponse()),
]


@pytest.mark.parametrize(("method", "arguments", "answer"), CHANGES, ids=[c[0] for c in CHANGES])
def test_every_other_change_carries_a_request_id_too(connect, script, method, arguments, answer):
    """Whatever changes documents is repeated under one id."""
    script.answers = [BUSY, answer]
    getattr(connect(script.target), method)(**arguments)
    first, second = (seen.metadata["x-ironclaw-request-id"] for seen in script.seen)
    assert first == second


def test_the_callers_request_id_is_used(connect, script):
    """An id that the caller gives is sent as it is, so that it can ask again later."""
    script.answers = [memory.WriteResponse()]
    connect(script.target).write("tea", request_id="order-7")
    assert script.seen[0].metadata["x-ironclaw-request-id"] == "order-7"


def test_tries_are_limited_and_the_last_error_is_raised(connect, script):
    """After `max_tries` the caller gets the last refusal."""
    script.answers = [BUSY, BUSY, Refusal(Code.UNAVAILABLE, "SHUTTING_DOWN"), BUSY]
    with pytest.raises(ShuttingDownError):
        connect(script.target, retry=RetryPolicy(max_tries=3, first_delay=0.001)).read("MEMORY.md")
    assert len(script.seen) == 3


def test_the_servers_delay_is_waited_for(connect, script, elapsed):
    """RetryInfo on the wire is the least time between two tries."""
    script.answers = [Refusal(Code.UNAVAILABLE, "OVERLOADED", retry_after=0.2), memory.ReadResponse()]
    client = connect(script.target)
    with elapsed() as time:
        client.read("MEMORY.md")
    assert time() >= 0.2


def test_a_delay_beyond_the_deadline_raises_at_once(connect, script, elapsed):
    """The caller isn't kept waiting for a try that its deadline forbids."""
    script.answers = [Refusal(Code.UNAVAILABLE, "OVERLOADED", retry_after=60.0)]
    client = connect(script.target, deadline=30.0)
    with elapsed() as time, pytest.raises(OverloadedError):
        client.read("MEMORY.md")
    assert time() < 10


def test_the_deadline_is_for_all_tries_together(connect, script):
    """Later tries get what is left of the time, not the whole again."""
    script.answers = [Refusal(Code.UNAVAILABLE, "OVERLOADED", retry_after=0.4), memory.ReadResponse()]
    connect(script.target, deadline=5.0).read("MEMORY.md")
    first, second = (seen.seconds_left for seen in script.seen)
    assert second < first - 0.3  # the wire rounds a timeout up by as much as a tenth of a second


def test_a_calls_deadline_overrides_the_clients(connect, script):
    """`deadline=` of one call is what the server sees."""
    script.answers = [memory.ReadResponse(), memory.ReadResponse()]
    client = connect(script.target, deadline=30.0)
    client.read("MEMORY.md", deadline=3.0)
    client.read("MEMORY.md")
    assert script.seen[0].seconds_left < 4.0
    assert script.seen[1].seconds_left > 20.0


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (Refusal(Code.UNAVAILABLE, "OUTCOME_UNKNOWN"), OutcomeUnknownError),
        (Refusal(Code.ABORTED, "CONTENT_CHANGED"), ContentChangedError),
        (Refusal(Code.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"), DeadlineExceededError),
        (Refusal(Code.INTERNAL, "INTERNAL"), MemoryServiceError),
        (Refusal(Code.UNKNOWN), MemoryServiceError),
    ],
    ids=lambda value: getattr(value, "reason", None),
)
def test_what_must_not_be_repeated_is_tried_once(connect, script, refusal, expected):
    """The refusals that a repetition can't mend, or could hide, reach the caller after one try."""
    script.answers = [refusal]
    with pytest.raises(expected):
        connect(script.target).write("tea")
    assert len(script.seen) == 1


def test_a_lost_race_is_run_again_only_without_a_precondition(connect, script):
    """CAS_EXHAUSTED is repeated for a plain append and handed to the caller of a conditional write."""
    lost = Refusal(Code.ABORTED, "CAS_EXHAUSTED")
    client = connect(script.target)
    script.answers = [lost, memory.WriteResponse()]
    client.write("tea")
    script.answers = [lost]
    with pytest.raises(ConflictError):
        client.write("tea", append=False, expected_sha256="0" * 64)
    assert len(script.seen) == 3


def test_each_call_can_have_its_own_scope_and_correlation_id(connect, script):
    """`scope=` replaces the client's scope for one call, and the correlation id is passed on."""
    script.answers = [memory.ReadResponse(), memory.ReadResponse()]
    client = connect(script.target)
    client.read("MEMORY.md", scope=Scope("acme", "王芳"), correlation_id="turn-9")
    client.read("MEMORY.md")
    first, second = (seen.metadata for seen in script.seen)
    assert first["x-ironclaw-user-id-bin"] == "王芳".encode()
    assert "x-ironclaw-user-id" not in first
    assert first["x-ironclaw-correlation-id"] == "turn-9"
    assert second["x-ironclaw-user-id"] == "ann"
    assert "x-ironclaw-correlation-id" not in second


def test_a_client_recovers_when_the_server_comes_up(connect, closed_port, serve_on):
    """A call that found nobody listening is repeated, and reaches a server that came up meanwhile."""
    client = connect(f"127.0.0.1:{closed_port}", retry=RetryPolicy(max_tries=1))
    with pytest.raises(MemoryServiceError):
        client.read("MEMORY.md")
    script = serve_on(closed_port)
    script.answers = [memory.ReadResponse(content="tea")]
    patient = connect(f"127.0.0.1:{closed_port}", retry=RetryPolicy(max_tries=50, first_delay=0.05, max_delay=0.05))
    assert patient.read("MEMORY.md").content == "tea"
