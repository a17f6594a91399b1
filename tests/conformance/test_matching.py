"""The matcher and the runner can fail: each rule of the vectors' README has a case that holds and one that doesn't."""

from __future__ import annotations

import base64
import json

import pytest

from tests.caller import Refusal, ServiceMissingError, ToolRefusal
from tests.conformance import runner
from tests.conformance.matching import MISSING, Mismatch, match

_CONFIG = base64.b64encode(b'{"a": 1}').decode()

HOLDS = [
    pytest.param({"a": 1}, {"a": 1, "b": 2}, id="object by the keys given"),
    pytest.param({}, {"a": 1}, id="empty object"),
    pytest.param([1], [1, 2], id="list by its first elements"),
    pytest.param([], [], id="empty list"),
    pytest.param([{"a": 1}], [{"a": 1, "b": 2}], id="objects in a list"),
    pytest.param(7, "7", id="number printed as text"),
    pytest.param("7", 7, id="text that stands for a number"),
    pytest.param(1.0, 1, id="number by value"),
    pytest.param(True, True, id="boolean"),
    pytest.param({"$any": True}, False, id="any: false is a value"),
    pytest.param({"$any": True}, 0, id="any: 0 is a value"),
    pytest.param({"$contains": "b"}, "abc", id="contains"),
    pytest.param({"$contains": ["a", "c"]}, "abc", id="contains each"),
    pytest.param({"$not_contains": ["x", "y"]}, "abc", id="not contains"),
    pytest.param({"$prefix": "a"}, "abc", id="prefix"),
    pytest.param({"$ends_with": "c"}, "abc", id="ends with"),
    pytest.param({"$max_bytes": 3}, "茶", id="max bytes"),
    pytest.param({"$length": 2}, [1, 2], id="length of a list"),
    pytest.param({"$length": 2}, "ab", id="length of a text"),
    pytest.param({"$length": 2, "$each": {"a": 1}}, [{"a": 1}, {"a": 1}], id="operators together"),
    pytest.param({"$each": {"$prefix": "a"}}, ["ab", "ac"], id="each"),
    pytest.param({"$last": "b"}, ["a", "b"], id="last"),
    pytest.param({"$in": ["a", "b"]}, "b", id="in"),
    pytest.param({"$json": {"a": 1}}, '{"a": 1, "b": 2}', id="json"),
    pytest.param({"$json_base64": {"a": 1}}, _CONFIG, id="json in base64"),
]

FAILS = [
    pytest.param({"a": 1}, {"b": 1}, id="object without the key"),
    pytest.param({"a": None}, {}, id="null isn't absent"),
    pytest.param({"a": 0}, {}, id="a default isn't absent in tool JSON"),
    pytest.param({"a": 1}, [1], id="object against a list"),
    pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, id="deep"),
    pytest.param([1, 2], [1], id="list too short"),
    pytest.param([2], [1, 2], id="list out of order"),
    pytest.param([], [1], id="empty list against elements"),
    pytest.param([], MISSING, id="empty list against nothing"),
    pytest.param([1], "1", id="list against text"),
    pytest.param(7, 8, id="other number"),
    pytest.param(7, "seven", id="number against words"),
    pytest.param(1, True, id="a boolean isn't a number"),
    pytest.param(True, 1, id="a number isn't a boolean"),
    pytest.param(False, None, id="false isn't null"),
    pytest.param("a", "A", id="letter case"),
    pytest.param("a", "ab", id="text isn't a prefix"),
    pytest.param({"$any": True}, "", id="any: empty text"),
    pytest.param({"$any": True}, MISSING, id="any: absent"),
    pytest.param({"$contains": ["a", "x"]}, "abc", id="contains one only"),
    pytest.param({"$contains": "1"}, [1], id="contains against a list"),
    pytest.param({"$not_contains": ["x", "b"]}, "abc", id="contains what it must not"),
    pytest.param({"$not_contains": "x"}, MISSING, id="not contains against nothing"),
    pytest.param({"$prefix": "b"}, "abc", id="other prefix"),
    pytest.param({"$ends_with": "b"}, "abc", id="other end"),
    pytest.param({"$max_bytes": 2}, "茶", id="too many bytes, though one character"),
    pytest.param({"$length": 1}, [1, 2], id="other length"),
    pytest.param({"$length": 0}, MISSING, id="length of nothing"),
    pytest.param({"$each": {"a": 1}}, [{"a": 1}, {"a": 2}], id="one that doesn't match"),
    pytest.param({"$each": {"a": 1}}, [], id="each of none proves nothing"),
    pytest.param({"$last": "a"}, ["a", "b"], id="first isn't last"),
    pytest.param({"$last": "a"}, [], id="last of none"),
    pytest.param({"$in": ["a", "b"]}, "c", id="not in"),
    pytest.param({"$json": {"a": 2}}, '{"a": 1}', id="other JSON"),
    pytest.param({"$json": {"a": 2}}, "{", id="broken JSON"),
    pytest.param({"$json_base64": {"a": 2}}, _CONFIG, id="other JSON in base64"),
    pytest.param({"$json_base64": {"a": 1}}, "%", id="broken base64"),
    pytest.param({"$contians": "a"}, "a", id="an operator that nobody knows"),
    pytest.param({"$length": 2, "$each": {"a": 1}}, [{"a": 1}], id="one operator of two"),
]


@pytest.mark.parametrize(("expected", "actual"), HOLDS)
def test_matches(expected, actual):
    """What the README calls a match is one."""
    match(expected, actual)


@pytest.mark.parametrize(("expected", "actual"), FAILS)
def test_does_not_match(expected, actual):
    """What the README doesn't call a match is reported."""
    with pytest.raises(Mismatch):
        match(expected, actual)


def test_message_names_the_place():
    """A mismatch says where it is and what was there."""
    with pytest.raises(Mismatch, match=r"response\.results\[1\]\.path: expected 'b', got 'c'"):
        match({"results": [{}, {"path": "b"}]}, {"results": [{}, {"path": "c"}]}, where="response")


@pytest.mark.parametrize("default", [0, "", False, [], 0.0])
def test_absent_protobuf_field_is_its_default(default):
    """In protobuf JSON an absent field equals its default, and nothing else."""
    match({"a": default}, {}, absent_is_default=True)
    with pytest.raises(Mismatch):
        match({"a": default or 1}, {"a": 2}, absent_is_default=True)
    with pytest.raises(Mismatch):
        match({"a": 1}, {}, absent_is_default=True)


def test_placeholders_and_long_texts_are_written_out():
    """`${name}`, `${today:ZONE}`, `$repeat` and `$join` become the text they stand for, however deep."""
    values = runner.Values(saved={"lease": "L1"})
    given = {"a": ["${lease}/${today:UTC}"], "b": {"$join": ["x", {"$repeat": ["yz", 3]}, "${lease}"]}}
    assert values.resolve(given) == {"a": [f"L1/{runner.today('UTC')}"], "b": "xyzyzyzL1"}


def test_placeholder_that_nothing_saved():
    """A placeholder without a value is a fault of the vectors, not an empty text."""
    with pytest.raises(Mismatch, match="lease"):
        runner.Values().resolve("${lease}")


class ScriptedCaller:
    """Answers from a list instead of over the wire, and keeps what it was asked; for the runner's own tests."""

    def __init__(self, *answers):
        self.scope = {"tenant": "t"}
        self.answers = list(answers)
        self.asked = []

    def within(self, **axes):
        """Keep the scope."""
        self.asked.append(axes)
        return self

    def _answer(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def invoke(self, tool_id, arguments_json):
        """Keep the tool call and give the next answer."""
        self.asked.append((tool_id, json.loads(arguments_json)))
        return self._answer()

    def call(self, rpc, request):
        """Keep the call and give the next answer."""
        self.asked.append((rpc, request))
        return self._answer()


def run(steps, *answers, thread=None):
    """Run steps against scripted answers and return what was asked."""
    caller = ScriptedCaller(*answers)
    runner.run_scenario(runner.Scenario("s", "n", tuple(steps), thread), caller)
    return caller.asked


TREE = {"tool": "ironclaw.memory.tree", "arguments": {}}
READ = {"tool": "ironclaw.memory.read", "arguments": {"path": "a"}}
RPC = {"rpc": "p.S/M", "request": {}}
NOT_FOUND = Refusal("NOT_FOUND", "There is none.", "NOT_FOUND")


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        pytest.param({**READ, "output": {"content": "x"}}, {"content": "y"}, id="other output"),
        pytest.param({**READ, "output": {"content": "x"}}, ToolRefusal("input", "NOT_FOUND", ""), id="error instead"),
        pytest.param(READ, ToolRefusal("input", "NOT_FOUND", ""), id="error where success goes without saying"),
        pytest.param(READ, NOT_FOUND, id="the call itself fails"),
        pytest.param({**READ, "error": {"kind": "input"}}, {"content": "y"}, id="output instead of an error"),
        pytest.param({**READ, "error": {"kind": "input"}}, ToolRefusal("operation", "X", ""), id="other kind"),
        pytest.param({**READ, "error": {"kind": "input", "reason": "A"}}, ToolRefusal("input", "B", ""), id="reason"),
        pytest.param({**TREE, "output": ["a"]}, ["a", "b"], id="tree must be equal"),
        pytest.param({**RPC, "response": {"a": 1}}, {"a": 2}, id="other response"),
        pytest.param({**RPC, "response": {}}, NOT_FOUND, id="status instead of a response"),
        pytest.param({**RPC, "status": "NOT_FOUND", "reason": "NOT_FOUND"}, {}, id="response instead of a status"),
        pytest.param({**RPC, "status": "ABORTED", "reason": "NOT_FOUND"}, NOT_FOUND, id="other status"),
        pytest.param({**RPC, "status": "NOT_FOUND", "reason": "OTHER"}, NOT_FOUND, id="other status reason"),
        pytest.param({**READ, "ouput": {"content": "x"}}, {"content": "x"}, id="misspelt key"),
    ],
)
def test_a_step_that_fails_fails_the_scenario(step, answer):
    """Whatever a step expects and doesn't get ends the scenario, with the step's number."""
    with pytest.raises(Mismatch, match="step 2"):
        run([READ, step], {}, answer)


def test_steps_that_hold_pass():
    """Outputs, errors, responses and statuses that match let the scenario go on to its end."""
    asked = run(
        [
            {**TREE, "output": ["a"]},
            {**READ, "error": {"kind": "input", "reason": {"$in": ["A", "B"]}}},
            {**RPC, "save": {"lease": "id"}, "response": {"id": "7", "gone": 0}},
            {"rpc": "p.S/N", "request": {"lease": "${lease}"}, "status": "NOT_FOUND", "reason": "NOT_FOUND"},
        ],
        ["a"], ToolRefusal("input", "B", ""), {"id": "7"}, NOT_FOUND,
    )  # fmt: skip
    assert asked[-1] == ("p.S/N", {"lease": "7"})


def test_scope_of_a_step():
    """A step runs as alice in the scenario's tenant and thread, less or more what `as` says, for that step alone."""
    other = {**TREE, "as": {"tenant": "other", "user": None, "agent": "a"}}
    asked = run([other, TREE], [], [], thread="t1")
    assert asked[0] == {"tenant": "t-other", "user": None, "thread": "t1", "agent": "a"}
    assert asked[2] == {"tenant": "t", "user": "alice", "thread": "t1"}


def test_missing_service_is_told_apart():
    """A service that isn't there is neither a match nor a mismatch."""
    with pytest.raises(ServiceMissingError):
        run([RPC], Refusal("UNIMPLEMENTED", "Method not found!"))


def test_midnight_repeats_the_scenario(monkeypatch):
    """A mismatch while the date changed is tried again in a fresh tenant; without a new date it stands."""
    dates = iter(["2026-12-01", "2026-12-01", "2026-12-02", "2026-12-02"])
    monkeypatch.setattr(runner, "today", lambda _zone: next(dates))
    step = {**READ, "output": {"path": "daily/${today:UTC}.md"}}
    asked = run([step], {"path": "daily/2026-12-02.md"}, {"path": "daily/2026-12-02.md"})
    assert [scope["tenant"] for scope in asked if isinstance(scope, dict)] == ["t", "t-next-day"]
    monkeypatch.setattr(runner, "today", lambda _zone: "2026-12-01")
    with pytest.raises(Mismatch):
        run([step], {"path": "daily/2026-12-02.md"}, {"path": "daily/2026-12-01.md"})
