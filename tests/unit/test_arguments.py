"""How a model's JSON becomes arguments, and which arguments are refused (contract 2.1-2.8)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ironclaw_memory.contract import argument_rules as rules
from ironclaw_memory.contract.arguments import (
    PARSERS,
    ProfileSetArguments,
    ReadArguments,
    SearchArguments,
    ToolId,
    TreeArguments,
    WriteArguments,
    parse_profile_set,
    parse_read,
    parse_search,
    parse_tool_id,
    parse_tree,
    parse_write,
)
from ironclaw_memory.contract.faults import Fault, InvalidArguments, InvalidPath, Reason
from ironclaw_memory.contract.tool_json import parse_tool_json

LONE_SURROGATE = "\ud800"


def field_of(refused: pytest.ExceptionInfo[Fault]) -> str | None:
    return refused.value.field


# ---------------------------------------------------------------------------------------------------- text to object


def test_arguments_json_is_read_as_an_object() -> None:
    """An object's members come out as they are."""
    assert parse_tool_json('{"target": "n.md", "append": false, "metadata": {"a": [1, 2.5, null]}}') == {
        "target": "n.md",
        "append": False,
        "metadata": {"a": [1, 2.5, None]},
    }


@pytest.mark.parametrize("text", ["", " \n", "null", "{}"])
def test_no_arguments_may_be_said_in_four_ways(text: str) -> None:
    """A model that has nothing to say sends nothing, null or an empty object."""
    assert parse_tool_json(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        '"x"',
        "true",
        "{",
        "{} {}",
        "{'target': 'x'}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e400}',
        '{"a": -1e400}',
        '{"a": ' + "9" * 5000 + "}",
        '{"target": "a.md", "target": "b.md"}',
        '{"metadata": {"k": 1, "k": 2}}',
        '{"content": "a\nb"}',
        '{"a": ' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "\ufeff{}",
        LONE_SURROGATE,
    ],
)
def test_what_is_no_json_object_is_an_input_error(text: str) -> None:
    """Broken, doubled, endless and bottomless JSON blames arguments_json and nothing else happens."""
    with pytest.raises(InvalidArguments) as refused:
        parse_tool_json(text)
    assert field_of(refused) == "arguments_json"


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_an_object_or_an_input_error(text: str) -> None:
    """No text surfaces as another exception."""
    try:
        outcome = type(parse_tool_json(text))
    except InvalidArguments as refused:
        outcome = type(refused)
    assert outcome in (dict, InvalidArguments)


NAMES = ["write", "read", "search", "tree", "profile_set"]


def test_the_tool_is_found_by_its_id() -> None:
    """Each of the five ids is known, each has a parser, and another one is an input error."""
    assert [parse_tool_id(f"ironclaw.memory.{name}") for name in NAMES] == [*PARSERS]
    with pytest.raises(InvalidArguments) as refused:
        parse_tool_id("ironclaw.memory.delete")
    assert field_of(refused) == "tool_id"


# -------------------------------------------------------------------------------------------------- lenient reading


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({}, WriteArguments()),
        ({"target": None, "content": None, "append": None, "metadata": None, "timezone": None}, WriteArguments()),
        ({"content": "x", "path": "stray.md", "note": 1}, WriteArguments(content="x")),
        (
            {"target": "n.md", "content": "a", "append": "yes", "replace_all": 1, "metadata": "no", "timezone": 8},
            WriteArguments(target="n.md", content="a"),
        ),
        ({"append": 0}, WriteArguments()),
        ({"append": False}, WriteArguments(append=False)),
        ({"old_string": "a", "new_string": "b"}, WriteArguments(old_string="a", new_string="b")),
        ({"old_string": "", "new_string": ""}, WriteArguments(old_string="", new_string="")),
        ({"old_string": 5, "new_string": []}, WriteArguments()),
        ({"metadata": {"read_only": True}}, WriteArguments(metadata={"read_only": True})),
        ({"timezone": " Asia/Tokyo "}, WriteArguments(timezone="Asia/Tokyo")),
        ({"target": "bootstrap", "content": 5}, WriteArguments(target="bootstrap")),
        ({"old_string": "a", "new_string": "b", "content": {}}, WriteArguments(old_string="a", new_string="b")),
        ({"expected_sha256": "0" * 64, "must_not_exist": True}, WriteArguments()),
    ],
)
def test_write_is_read_leniently(sent: dict[str, Any], read: WriteArguments) -> None:
    """Null is absent, a stray key is ignored, an optional value of the wrong type is its default."""
    assert parse_write(sent) == read


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"target": 7, "content": "x"}, "target"),
        ({"target": [], "content": "x"}, "target"),
        ({"target": False}, "target"),
        ({"content": 5}, "content"),
        ({"content": {"a": 1}, "append": False}, "content"),
        ({"content": LONE_SURROGATE}, "content"),
        ({"old_string": LONE_SURROGATE}, "old_string"),
    ],
)
def test_write_is_strict_about_what_decides_the_outcome(sent: dict[str, Any], field: str) -> None:
    """A target or a text that can't be read is never guessed at."""
    with pytest.raises(InvalidArguments) as refused:
        parse_write(sent)
    assert field_of(refused) == field


@pytest.mark.parametrize(
    ("parse", "key"),
    [(parse_write, "target"), (parse_read, "path"), (parse_tree, "path")],
    ids=["write", "read", "tree"],
)
def test_half_a_surrogate_pair_in_a_path_is_an_invalid_path(parse: Any, key: str) -> None:
    """The path's own reason is given, as for every other break of its grammar."""
    with pytest.raises(InvalidPath) as refused:
        parse({key: f"notes/{LONE_SURROGATE}.md"})
    assert field_of(refused) == key


def test_read_needs_a_path_and_knows_no_versions() -> None:
    """Only the present text can be read; null still counts as absent."""
    assert parse_read({"path": "n.md", "version": None, "extra": 1}) == ReadArguments(path="n.md")
    assert parse_read({"path": ""}) == ReadArguments(path="")
    for sent, field in [
        ({}, "path"),
        ({"path": None}, "path"),
        ({"path": 7}, "path"),
        ({"path": "n.md", "version": 1}, "version"),
        ({"path": "n.md", "version": "latest"}, "version"),
        ({"path": "n.md", "list_versions": False}, "list_versions"),
    ]:
        with pytest.raises(InvalidArguments) as refused:
            parse_read(sent)
        assert field_of(refused) == field


@pytest.mark.parametrize(
    ("sent", "query"),
    [
        ({"query": "a", "q": "b"}, "a"),
        ({"q": "b", "text": "c"}, "b"),
        ({"text": "c", "pattern": "d"}, "c"),
        ({"pattern": "d"}, "d"),
        ({"query": "  ", "q": "\t", "text": "c"}, "c"),
        ({"query": 7, "q": None, "pattern": "d"}, "d"),
        ({"query": " kept as it is "}, " kept as it is "),
    ],
)
def test_the_query_goes_by_four_names(sent: dict[str, Any], query: str) -> None:
    """The first that isn't blank counts, in the contract's order."""
    assert parse_search(sent).query == query


@pytest.mark.parametrize("sent", [{}, {"query": " "}, {"query": 7}, {"q": None}, {"limit": 3}])
def test_a_search_without_a_query_is_refused(sent: dict[str, Any]) -> None:
    """No name of the query holds text."""
    with pytest.raises(InvalidArguments) as refused:
        parse_search(sent)
    assert field_of(refused) == "query"


COUNTS: list[tuple[Any, int | None]] = [
    (3, 3),
    (3.0, 3),
    (3.7, None),
    ("3", None),
    (True, None),
    (None, None),
    ([], None),
    (float("inf"), None),
]
"""A value in the JSON, and the whole number it is read as; None for the default."""


@pytest.mark.parametrize(("value", "count"), COUNTS)
def test_counts_are_whole_numbers(value: Any, count: int | None) -> None:
    """3.0 is 3, as JSON has one kind of number; a text, a boolean and a fraction take the default."""
    assert parse_search({"query": "a", "limit": value}).limit == (5 if count is None else count)
    assert parse_tree({"depth": value}).depth == (1 if count is None else count)


@pytest.mark.parametrize(
    ("value", "limit", "depth"), [(0, 1, 1), (-(10**30), 1, 1), (15, 15, 10), (99, 20, 10), (1e300, 20, 10)]
)
def test_counts_are_clamped_whichever_way_they_come(value: Any, limit: int, depth: int) -> None:
    """Limit stays within 1 to 20 and depth within 1 to 10, from JSON and from the models alike."""
    assert parse_search({"query": "a", "limit": value}).limit == limit
    assert parse_tree({"depth": value}).depth == depth
    assert SearchArguments(query="a", limit=int(value)).limit == limit
    assert TreeArguments(depth=int(value)).depth == depth


def test_tree_lists_the_root_by_default() -> None:
    """No path, null and the empty path are the root; a path of the wrong type is refused."""
    assert parse_tree({}) == parse_tree({"path": None}) == parse_tree({"path": ""}) == TreeArguments()
    with pytest.raises(InvalidArguments):
        parse_tree({"path": 7})


def test_profile_set_is_not_lenient() -> None:
    """An unknown key and a value of the wrong type are errors; null is still absent."""
    assert parse_profile_set({"timezone": " Asia/Tokyo ", "locale": None, "location": " Tokyo "}) == (
        ProfileSetArguments(timezone="Asia/Tokyo", location="Tokyo")
    )
    for sent, field in [
        ({"nickname": "Al"}, None),
        ({"nickname": None}, None),
        ({"timezone": "Asia/Tokyo", "x": "y"}, None),
        ({"timezone": 8}, "timezone"),
        ({"locale": ["en"]}, "locale"),
        ({"location": LONE_SURROGATE}, "location"),
    ]:
        with pytest.raises(InvalidArguments) as refused:
            parse_profile_set(sent)
        assert field_of(refused) == field


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted({*WriteArguments.model_fields, "path", "query", "q", "text", "limit", "depth", "locale", "location"})
OBJECTS = st.dictionaries(st.sampled_from(KEYS), JSON) | st.dictionaries(
    st.sampled_from([*ProfileSetArguments.model_fields, "target", "query", "path"]), st.text(st.characters(codec=None))
)
CHECKS = {
    ToolId.WRITE: rules.check_write,
    ToolId.SEARCH: rules.check_search,
    ToolId.PROFILE_SET: rules.check_profile_set,
}


@given(st.sampled_from(ToolId), OBJECTS)
def test_any_object_is_read_and_checked_or_refused(tool: ToolId, sent: dict[str, Any]) -> None:
    """Whatever a model sends ends as arguments or as a fault that names an argument, never as another exception."""
    message, reason = "", Reason.INVALID_ARGUMENTS
    try:
        arguments = PARSERS[tool](sent)
        CHECKS.get(tool, lambda _: None)(arguments)  # type: ignore[operator]  # each check takes its own tool's model
    except Fault as refused:
        message, reason = refused.message, refused.reason
    assert reason in (Reason.INVALID_ARGUMENTS, Reason.INVALID_PATH)
    assert message.isascii()
    assert len(message) <= 512


def test_a_refusal_never_repeats_what_was_sent() -> None:
    """Messages name arguments and rules only, so that a log of them holds nobody's memory."""
    marker = "Zebra-7f3a"
    attempts: list[tuple[ToolId, dict[str, Any]]] = [
        (ToolId.WRITE, {"content": f"{marker}\0"}),
        (ToolId.WRITE, {"content": "x", "timezone": marker}),
        (ToolId.WRITE, {"content": "x", "metadata": {marker: f"{marker}\0"}}),
        (ToolId.WRITE, {"content": [marker]}),
        (ToolId.WRITE, {"new_string": marker}),
        (ToolId.SEARCH, {"query": marker * 500}),
        (ToolId.PROFILE_SET, {marker: marker}),
        (ToolId.PROFILE_SET, {"timezone": marker}),
        (ToolId.PROFILE_SET, {"locale": f"{marker}_"}),
    ]
    for tool, sent in attempts:
        with pytest.raises(Fault) as refused:
            CHECKS[tool](PARSERS[tool](sent))  # type: ignore[operator]
        assert marker not in f"{refused.value.message}{refused.value.details}{refused.value.field}"


# ------------------------------------------------------------------------------------------------------------ rules


@pytest.mark.parametrize(
    "arguments",
    [
        WriteArguments(content="x"),
        WriteArguments(content=" x \n", append=False),
        WriteArguments(target="bootstrap"),
        WriteArguments(target="bootstrap", content="ignored\0"),
        WriteArguments(old_string="a", new_string="b"),
        WriteArguments(old_string=" ", new_string="\n"),
        WriteArguments(content="x", timezone="Pacific/Kiritimati"),
        WriteArguments(content="x", timezone="UTC"),
        WriteArguments(content="x", target="memory", timezone="Mars/Olympus"),
        WriteArguments(content="x", metadata={"schema": {"type": "object"}, "n": 1.5, "t": [None, True]}),
        WriteArguments(content="x", metadata={}),
        WriteArguments(content="x", expected_sha256="AB" * 32),
        WriteArguments(content="x", must_not_exist=True),
    ],
)
def test_write_accepts(arguments: WriteArguments) -> None:
    """Text, patches, clearing, settings and preconditions that keep the rules; a zone counts only where it is used."""
    rules.check_write(arguments)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (WriteArguments(), "content"),
        (WriteArguments(content="  \n\t\u3000"), "content"),
        (WriteArguments(content="", append=False), "content"),
        (WriteArguments(content="a\0b"), "content"),
        (WriteArguments(old_string="a", new_string="b", content="a\0b"), "content"),
        (WriteArguments(old_string="", new_string="x"), "old_string"),
        (WriteArguments(new_string="x", content="y"), "old_string"),
        (WriteArguments(old_string="a"), "new_string"),
        (WriteArguments(old_string="a", new_string=""), "new_string"),
        (WriteArguments(old_string="a\0", new_string="b"), "old_string"),
        (WriteArguments(old_string="a", new_string="\0"), "new_string"),
        (WriteArguments(target="bootstrap", old_string="a", new_string="b"), "target"),
        (WriteArguments(content="x", timezone="Mars/Olympus"), "timezone"),
        (WriteArguments(content="x", timezone=""), "timezone"),
        (WriteArguments(content="x", timezone="localtime"), "timezone"),
        (WriteArguments(content="x", timezone="../../etc/passwd"), "timezone"),
        (WriteArguments(content="x", metadata={"k": ["a\0"]}), "metadata"),
        (WriteArguments(content="x", metadata={"a\0": 1}), "metadata"),
        (WriteArguments(content="x", metadata={"k": {LONE_SURROGATE: 1}}), "metadata"),
        (WriteArguments(content="x", metadata={"k": float("nan")}), "metadata"),
        (WriteArguments(content="x", metadata={"k": "x" * 65_536}), "metadata"),
        (WriteArguments(content="x", metadata=nested(64)), "metadata"),
        (WriteArguments(content="x", metadata=nested(50_000)), "metadata"),
        (WriteArguments(content="x", expected_sha256="12"), "expected_sha256"),
        (WriteArguments(content="x", expected_sha256=""), "expected_sha256"),
        (WriteArguments(content="x", expected_sha256="0" * 64, must_not_exist=True), "must_not_exist"),
    ],
)
def test_write_refuses(arguments: WriteArguments, field: str) -> None:
    """Each rule of contract 2.1 blames the argument that breaks it."""
    with pytest.raises(InvalidArguments) as refused:
        rules.check_write(arguments)
    assert field_of(refused) == field


def test_metadata_may_be_as_deep_and_as_long_as_the_limits_say() -> None:
    """The last level and the last byte are still accepted."""
    rules.check_write(WriteArguments(content="x", metadata=nested(rules.MAX_METADATA_DEPTH - 1)))
    room = rules.MAX_METADATA_BYTES - len('{"k":""}')
    rules.check_write(WriteArguments(content="x", metadata={"k": "x" * room}))
    with pytest.raises(InvalidArguments):
        rules.check_write(WriteArguments(content="x", metadata={"k": "x" * (room + 1)}))


def test_a_hash_may_be_written_in_capitals() -> None:
    """The precondition compares with lower-case digits."""
    assert WriteArguments(expected_sha256="AB" * 32).expected_sha256 == "ab" * 32


@pytest.mark.parametrize("query", ["C++", '"foo', "AND", "*", "(", "a'); DROP TABLE x;--", "茶" * 1365, "x" * 4096])
def test_any_text_up_to_the_limit_is_a_query(query: str) -> None:
    """Punctuation and operators of other search engines are words."""
    rules.check_search(SearchArguments(query=query))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (SearchArguments(query=" "), "query"),
        (SearchArguments(query="a\0"), "query"),
        (SearchArguments(query="x" * 4097), "query"),
        (SearchArguments(query="茶" * 1366), "query"),
        (SearchArguments(query="x", path_prefix="a\0"), "path_prefix"),
        (SearchArguments(query="x", min_score=-0.1), "min_score"),
        (SearchArguments(query="x", min_score=1.1), "min_score"),
        (SearchArguments(query="x", min_score=float("nan")), "min_score"),
    ],
)
def test_search_refuses(arguments: SearchArguments, field: str) -> None:
    """A query is 1 to 4,096 bytes that say something; a score is 0 to 1."""
    with pytest.raises(InvalidArguments) as refused:
        rules.check_search(arguments)
    assert field_of(refused) == field


@pytest.mark.parametrize(
    "arguments",
    [
        ProfileSetArguments(timezone=" Asia/Shanghai\n"),
        ProfileSetArguments(locale="zh-Hant-TW"),
        ProfileSetArguments(locale="a" * 35),
        ProfileSetArguments(location="x" * 200),
        ProfileSetArguments(location=" " * 500 + "🍵" * 200),
        ProfileSetArguments(timezone="UTC", locale="de", location="Berlin"),
    ],
)
def test_profile_set_accepts(arguments: ProfileSetArguments) -> None:
    """Each fact up to its limit, counted after trimming."""
    rules.check_profile_set(arguments)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (ProfileSetArguments(), None),
        (ProfileSetArguments(timezone="Nowhere/City"), "timezone"),
        (ProfileSetArguments(timezone=""), "timezone"),
        (ProfileSetArguments(timezone="asia/tokyo"), "timezone"),
        (ProfileSetArguments(locale=""), "locale"),
        (ProfileSetArguments(locale="en_US"), "locale"),
        (ProfileSetArguments(locale="en--US"), "locale"),
        (ProfileSetArguments(locale="-en"), "locale"),
        (ProfileSetArguments(locale="en-"), "locale"),
        (ProfileSetArguments(locale="en\n"), "locale"),
        (ProfileSetArguments(locale="français"), "locale"),
        (ProfileSetArguments(locale="a" * 36), "locale"),
        (ProfileSetArguments(location="  "), "location"),
        (ProfileSetArguments(location="x" * 201), "location"),
        (ProfileSetArguments(location="👩‍👩‍👧" * 45), "location"),
        (ProfileSetArguments(location="a\0"), "location"),
        (ProfileSetArguments(locale="en", location=""), "location"),
    ],
)
def test_profile_set_refuses(arguments: ProfileSetArguments, field: str | None) -> None:
    """Nothing at all, and each fact beyond its rule."""
    with pytest.raises(InvalidArguments) as refused:
        rules.check_profile_set(arguments)
    assert field_of(refused) == field


def test_arguments_are_values() -> None:
    """They can't be changed, take no unknown name, and don't turn one type into another."""
    arguments = WriteArguments(content="x")
    with pytest.raises(ValidationError):
        arguments.content = "y"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        WriteArguments(contents="x")  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        SearchArguments(query="x", limit="3")  # type: ignore[arg-type]


def test_arguments_can_be_dumped_as_json_for_a_fingerprint() -> None:
    """Equal calls print equally, so that a retry can be told from a reused request id."""
    sent = {"target": "n.md", "content": "é", "metadata": {"b": 1, "a": [2]}}
    assert parse_write(sent).model_dump_json() == parse_write(json.loads(json.dumps(sent))).model_dump_json()
