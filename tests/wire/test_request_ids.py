"""Request ids: a retried write happens once, whatever came between the tries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.caller import ADMIN, Caller, new_tenant
from tests.server_process import run_server
from tests.wire.folder import documents_folder
from tests.wire.refusals import MARKER, refused

SCOPE = {"tenant": "t", "user": "alice"}


def without_replayed(answer):
    return {key: value for key, value in answer.items() if key != "replayed"}


def test_replay_returns_the_first_result(caller):
    """The second try writes nothing, returns what the first returned, and says so."""
    first = caller.append("n.md", "fact", request_id="r1")
    caller.append("n.md", "later")
    second = caller.append("n.md", "fact", request_id="r1")
    assert (first["replayed"], second["replayed"]) == (False, True)
    assert without_replayed(second) == without_replayed(first)
    assert caller.read("n.md") == "fact\nlater\n"


OTHER_ARGUMENTS = {
    "content": {"target": "n.md", "content": f"{MARKER} other"},
    "target": {"target": "other.md", "content": "fact"},
    "append": {"target": "n.md", "content": "fact", "append": False},
    "patch": {"target": "n.md", "old_string": "fact", "new_string": "other"},
    "metadata": {"target": "n.md", "content": "fact", "metadata": {"read_only": True}},
    "precondition": {"target": "n.md", "content": "fact", "must_not_exist": True},
}


@pytest.mark.parametrize("request_", OTHER_ARGUMENTS.values(), ids=OTHER_ARGUMENTS)
def test_same_id_other_arguments(request_, caller):
    """An id that belongs to another change is refused, and nothing is written."""
    caller.append("n.md", "fact", request_id="r1")
    with refused("REQUEST_ID_REUSED", kind="input"):
        caller.call("Write", request_, request_id="r1")
    assert caller.read("n.md") == "fact\n"
    assert caller.tree() == ["n.md"]


def test_same_id_other_method(caller):
    """An id of a write can't be used for a deletion."""
    caller.append("n.md", "fact", request_id="r1")
    with refused("REQUEST_ID_REUSED"):
        caller.call(f"{ADMIN}/DeleteDocument", {"path": "n.md"}, request_id="r1")
    assert caller.read("n.md") == "fact\n"


def test_ids_belong_to_their_scope(caller):
    """Another user, agent or project may use the same id for its own change."""
    for other in (caller, caller.within(user="bob"), caller.within(agent="a"), caller.within(project="p")):
        assert not other.append("n.md", f"fact of {other.scope}", request_id="r1")["replayed"]
    assert caller.within(thread="t9").append("n.md", f"fact of {caller.scope}", request_id="r1")["replayed"]


def test_refused_write_leaves_its_id_free(caller):
    """An id counts from the first change that was made, not from a try that was refused."""
    caller.write("n.md", "text")
    with refused("PATCH_NO_MATCH"):
        caller.call("Write", {"target": "n.md", "old_string": "zebra", "new_string": "b"}, request_id="r0")
    assert not caller.append("n.md", "fact", request_id="r0")["replayed"]


def test_every_change_can_be_replayed(caller):
    """Replace, patch, clear, profile, restore and delete are made once as well."""
    caller.write("n.md", "one")
    calls = [
        ("Write", {"target": "n.md", "content": "two", "append": False}),
        ("Write", {"target": "n.md", "old_string": "two", "new_string": "two two"}),
        ("Write", {"target": "bootstrap"}),
        ("ProfileSet", {"locale": "de"}),
        (f"{ADMIN}/RestoreVersion", {"path": "n.md", "version": 1}),
        (f"{ADMIN}/DeleteDocument", {"path": "n.md"}),
    ]
    for number, (rpc, request) in enumerate(calls):
        first = caller.call(rpc, request, request_id=f"r{number}")
        second = caller.call(rpc, request, request_id=f"r{number}")
        assert (first["replayed"], second["replayed"]) == (False, True), rpc
        assert without_replayed(second) == without_replayed(first), rpc


def test_replay_through_the_tool(caller):
    """A tool call that is retried with its id writes once."""
    request = {"tool_id": "ironclaw.memory.write", "arguments_json": '{"target": "n.md", "content": "fact"}'}
    first = caller.call("InvokeTool", request, request_id="r1")
    assert caller.call("InvokeTool", request, request_id="r1")["output_json"] == first["output_json"]
    assert caller.read("n.md") == "fact\n"


def test_replay_after_a_hand_edit(caller, server):
    """What a person does to the document meanwhile doesn't make a retry write again."""
    caller.append("n.md", "fact", request_id="r1")
    (documents_folder(server, caller) / "n.md").write_text("by hand\n")
    assert caller.append("n.md", "fact", request_id="r1")["replayed"]
    assert caller.read("n.md") == "by hand\n"


def test_concurrent_tries_write_once(caller):
    """Eight tries of one id at the same moment write one line."""
    caller.append("n.md", "start")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: caller.append("n.md", "fact", request_id="r1"), range(8)))
    assert sorted(answer["replayed"] for answer in answers) == [False] + [True] * 7
    assert len({answer["content_sha256"] for answer in answers}) == 1
    assert caller.read("n.md") == "start\nfact\n"


@pytest.mark.parametrize("crash", [False, True], ids=["ended", "killed"])
def test_replay_across_a_restart(crash, tmp_path):
    """A server that was ended or killed remembers what it acknowledged."""
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        first = Caller(channel, SCOPE).append("n.md", "fact", request_id="r1")
        if crash:
            server.crash()
    with run_server(tmp_path / "data") as server, server.channel() as channel:
        caller = Caller(channel, SCOPE)
        second = caller.append("n.md", "fact", request_id="r1")
        assert second["replayed"]
        assert without_replayed(second) == without_replayed(first)
        assert caller.read("n.md") == "fact\n"


def test_replay_across_servers(tmp_path):
    """A retry that lands on another server of the same data folder finds the first try, also at the same moment."""
    with (
        run_server(tmp_path / "data") as one, run_server(tmp_path / "data") as two,
        one.channel() as channel_one, two.channel() as channel_two,
    ):  # fmt: skip
        callers = [Caller(channel, SCOPE) for channel in (channel_one, channel_two)]
        for number in range(10):
            with ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(lambda c, n=number: c.append("n.md", f"fact {n}", request_id=f"r{n}"), callers))
            assert sorted(answer["replayed"] for answer in answers) == [False, True]
        expected = "".join(f"fact {number}\n" for number in range(10))
        assert [caller.read("n.md") for caller in callers] == [expected, expected]


def test_ids_are_any_text(caller):
    """An id may be long or written in any script; two that differ only by case or form are two."""
    ids = ["a", "A", "caf\u00e9", "cafe\u0301", "请求-1", "x" * 200, "a b", "{}", "a/b"]
    for request_id in ids:
        metadata = [*caller.metadata(), ("x-ironclaw-request-id-bin", request_id.encode())]
        caller.send("Write", b"\x0a\x04n.md\x12\x01x", metadata)
        caller.send("Write", b"\x0a\x04n.md\x12\x01x", metadata)
    assert caller.read("n.md") == "x\n" * len(ids)


def test_id_without_a_tenant_of_its_own_is_free(caller):
    """Two tenants never meet in their ids."""
    other = caller.within(tenant=new_tenant())
    caller.append("n.md", "fact", request_id="r1")
    assert not other.append("n.md", "fact", request_id="r1")["replayed"]
