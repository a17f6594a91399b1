"""Anything on the wire gets an answer that means something: a response, or a refusal with a reason of the contract."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.caller import METHODS, UNARY_METHODS, Refusal, exchange
from tests.wire.messages import TEXTS, messages
from tests.wire.refusals import check_form

FUZZ = settings(
    max_examples=150,
    deadline=None,  # the machine's load is no property of the service
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""The tenant is shared by a test's examples on purpose: what one wrote, the next meets."""

NEVER = {"INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED", "DATA_LOSS", "CANCELLED"}
"""What no input alone may bring about; UNKNOWN and UNIMPLEMENTED have no place in the table of reasons anyway."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = ("target", "content", "append", "old_string", "new_string", "replace_all", "metadata", "timezone", "path",
             "query", "q", "text", "pattern", "limit", "depth", "locale", "location", "version")  # fmt: skip
TOOLS = ("write", "read", "search", "tree", "profile_set")


def call(name, body, caller):
    """Send bytes and hold a refusal to its form."""
    try:
        return exchange(caller.channel, name, [body], caller.metadata(), seconds=20)
    except Refusal as refusal:
        check_form(refusal)
        check_not_ours(refusal)
        return None


def check_not_ours(refusal):
    assert refusal.code not in NEVER, refusal


@pytest.mark.parametrize("name", METHODS)
@FUZZ
@given(body=st.binary(max_size=200))
def test_any_bytes(name, body, caller):
    """Any bytes to any method are answered or refused for a reason."""
    call(name, body, caller)


@pytest.mark.parametrize("name", UNARY_METHODS)
@FUZZ
@given(data=st.data())
def test_any_message(name, data, caller):
    """Any legal message to any method is answered or refused for a reason."""
    message = data.draw(messages(UNARY_METHODS[name].input_type))
    call(name, message.SerializeToString(), caller)


@pytest.mark.parametrize("name", UNARY_METHODS)
@FUZZ
@given(data=st.data())
def test_damaged_messages(name, data, caller):
    """A legal message with one byte changed or its end cut off is answered or refused for a reason."""
    body = bytearray(data.draw(messages(UNARY_METHODS[name].input_type)).SerializeToString() or b"\x0a\x01x")
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    call(name, bytes(body[: data.draw(st.integers(0, len(body)))]), caller)


@pytest.mark.parametrize("tool", TOOLS)
@FUZZ
@given(arguments=st.dictionaries(st.sampled_from(ARGUMENTS) | TEXTS, JSON, max_size=5) | JSON)
def test_any_tool_json(tool, arguments, caller):
    """Whatever JSON a model makes up, the tool answers with an output or an error that the model can be told."""
    request = {"tool_id": f"ironclaw.memory.{tool}", "arguments_json": json.dumps(arguments)}
    check_tool_answer(caller.call("InvokeTool", request))


@FUZZ
@given(tool_id=TEXTS, text=TEXTS | st.text(alphabet='{}[]":,\\/ntu0123456789.eE+-', max_size=60))
def test_any_tool_text(tool_id, text, caller):
    """Text that isn't JSON at all, for a tool that doesn't exist, is an error in band as well."""
    answer = caller.call("InvokeTool", {"tool_id": tool_id.replace("\0", ""), "arguments_json": text})
    check_tool_answer(answer)


def check_tool_answer(answer):
    error = answer.get("error")
    if error is None:
        json.loads(answer["output_json"])
        return
    assert answer["output_json"] == ""
    assert error["kind"] in {"input", "operation"}
    assert error["reason"]
    assert error["message"].isascii()
    assert len(error["message"]) <= 512


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, '{"limit": 1' + "0" * 5000 + "}", '"\\ud800"'])
def test_json_bombs(text, caller):
    """Deep nesting, endless numbers and half characters are input errors, and the server goes on serving."""
    for tool in TOOLS:
        answer = caller.call("InvokeTool", {"tool_id": f"ironclaw.memory.{tool}", "arguments_json": text})
        check_tool_answer(answer)
    assert caller.tree() is not None
