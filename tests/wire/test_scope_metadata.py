"""Which scopes a call may come with: exactly one value a key, of the segment grammar, or no answer at all."""

from __future__ import annotations

import pytest

from tests.caller import AXES, METHODS, Refusal, exchange, scope_metadata
from tests.wire.folder import scope_folder
from tests.wire.refusals import check_silence, refused

REQUIRED = ("tenant", "user")
OPTIONAL = ("agent", "project", "thread")
BAD_SEGMENTS = {
    "dot": ".",
    "dots": "..",
    "slash": "a/b",
    "backslash": "a\\b",
    "colon": "a:b",
    "blank": "   ",
    "empty": "",
    "257 bytes": "x" * 257,
    "257 bytes of multi-byte characters": "é" * 128 + "x",
    "line break": "a\nb",
    "null": "a\0b",
    "delete": "a\x7fb",
    "next line": "a\x85b",
}
TEXT_KEYS = [f"x-ironclaw-{name}" for name in (*(f"{axis}-id" for axis in AXES), "request-id", "correlation-id")]


def key_of(axis):
    return f"x-ironclaw-{axis}-id"


def write(caller, metadata):
    """Try to write with exactly this metadata."""
    return caller.send("Write", b"\x0a\x04n.md\x12\x01x", metadata)


def scopes_on_disk(server):
    return sorted(str(p.relative_to(server.data_dir)) for p in (server.data_dir / "tenants").glob("*/users/*"))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("axis", REQUIRED)
def test_tenant_and_user_are_required(name, axis, caller):
    """No method answers a call without a tenant or without a user."""
    metadata = caller.within(**{axis: None}).metadata()
    with refused("SCOPE_MISSING", kind="input") as caught:
        exchange(caller.channel, name, [b""], metadata, seconds=10)
    assert axis in caught[0].fields[0]


@pytest.mark.parametrize("value", BAD_SEGMENTS.values(), ids=BAD_SEGMENTS)
@pytest.mark.parametrize("axis", AXES)
def test_segment_grammar(axis, value, caller, server):
    """A segment that could escape, collide or vanish is refused on every axis, and no folder appears for it."""
    before = scopes_on_disk(server)
    metadata = [pair for pair in caller.metadata() if pair[0] != key_of(axis)]
    with refused("SCOPE_INVALID", kind="input") as caught:
        write(caller, [*metadata, (f"{key_of(axis)}-bin", value.encode())])
    assert axis in caught[0].fields[0]
    assert scopes_on_disk(server) == before


@pytest.mark.parametrize("axis", ["agent", "project"])
def test_none_marker_is_reserved(axis, caller):
    """`_none` stands for an absent agent or project, so neither may be called so."""
    with refused("SCOPE_INVALID"):
        write(caller, caller.within(**{axis: "_none"}).metadata())


@pytest.mark.parametrize("axis", AXES)
def test_longest_and_strangest_ids_are_accepted(axis, caller):
    """256 bytes of any characters but the forbidden ones are a legal id."""
    for value in ("x" * 256, "茶" * 85, "con", "a%2Fb", "~x", "-", "...", "ẞ", "🍵"):
        write(caller, caller.within(**{axis: f"{value}"}).metadata())


@pytest.mark.parametrize("key", TEXT_KEYS)
@pytest.mark.parametrize("form", ["twice", "twice the same", "both forms", "twice binary"])
def test_a_key_has_one_value(key, form, caller, server):
    """A key that comes twice or in both forms is refused even when the values agree: a proxy can't smuggle a second."""
    pairs = {
        "twice": [(key, "a"), (key, "b")],
        "twice the same": [(key, "a"), (key, "a")],
        "both forms": [(key, "a"), (f"{key}-bin", b"a")],
        "twice binary": [(f"{key}-bin", b"a"), (f"{key}-bin", b"b")],
    }[form]
    metadata = [pair for pair in caller.metadata() if pair[0] != key]
    before = scopes_on_disk(server)
    with refused("SCOPE_INVALID", kind="input"):
        write(caller, [*metadata, *pairs])
    assert scopes_on_disk(server) == before


@pytest.mark.parametrize("key", TEXT_KEYS)
def test_binary_form_is_utf8(key, caller):
    """Bytes that aren't UTF-8 are no id."""
    metadata = [pair for pair in caller.metadata() if pair[0] != key]
    for value in (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf"):
        with refused("SCOPE_INVALID"):
            write(caller, [*metadata, (f"{key}-bin", value)])


def test_binary_and_text_form_name_the_same_scope(caller):
    """The `-bin` key is another spelling of the same id, not another id."""
    caller.write("n.md", "once")
    metadata = [(f"{key}-bin", str(value).encode()) for key, value in caller.metadata()]
    assert b"once" in caller.send("Read", b"\x0a\x04n.md", metadata)


def test_ids_are_not_normalised(caller):
    """Two spellings of one letter in Unicode are two users."""
    composed, decomposed = caller.within(user="caf\u00e9"), caller.within(user="cafe\u0301")
    composed.write("n.md", "composed")
    assert decomposed.tree() == []
    decomposed.write("n.md", "decomposed")
    assert composed.read("n.md") == "composed"


def test_huge_metadata(caller):
    """Metadata of 20 kB is refused, and the server goes on serving."""
    with pytest.raises(Refusal) as raised:
        write(caller, [*caller.metadata(), ("x-something", "x" * 20_000)])
    assert raised.value.code == "RESOURCE_EXHAUSTED"
    check_silence(raised.value)
    write(caller, caller.metadata())


def test_foreign_metadata_is_ignored(caller):
    """Keys of others, also ones that begin like ours, change nothing."""
    foreign = [("authorization", "Bearer x"), ("x-ironclaw-tenant", "other"), ("x-ironclaw-role-id", "admin")]
    write(caller, [*caller.metadata(), *foreign])
    assert caller.tree() == ["n.md"]


def test_scope_is_no_argument(caller):
    """What a model writes into its arguments never changes whose memory it is about."""
    caller.write("secret.md", "mine")
    other = caller.within(user="mallory")
    smuggled = {
        "tenant": "t",
        "user": "alice",
        "x-ironclaw-user-id": "alice",
        "user_id": "alice",
        "scope": {"user": "alice"},
    }
    assert other.tool("tree", **smuggled) == []
    assert other.tool("search", query="mine", **smuggled)["result_count"] == 0


def test_absent_agent_is_its_own_scope(caller, server):
    """Without an agent a call sees neither what an agent wrote nor the reverse, and each has its folder."""
    agent = caller.within(agent="coder")
    caller.write("n.md", "without")
    agent.write("n.md", "with")
    assert (caller.read("n.md"), agent.read("n.md")) == ("without", "with")
    assert scope_folder(server, caller).is_dir()
    assert scope_folder(server, agent).is_dir()


def test_thread_is_no_axis(caller):
    """What one conversation writes, the user's other conversations read."""
    caller.within(thread="t1").write("n.md", "said")
    assert caller.within(thread="t2").read("n.md") == "said"
    assert caller.within(thread=None).read("n.md") == "said"


def test_refusal_names_no_scope(caller, server):
    """What a caller is told of a missing document names neither the scope nor the folder."""
    other = caller.within(agent="agent-name", project="project-name")
    ids = [value for _, value in scope_metadata(other.scope) if len(value) > 5]
    with refused("NOT_FOUND", "path", kind="input", hides=(*ids, server.data_dir)):
        other.read("n.md")
