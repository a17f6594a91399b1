"""A turn's document: a heading a message, nobody's words in another's mouth, and a place of its own for each id."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.interaction import (
    MAX_NAME_BYTES,
    Message,
    Role,
    check_turn_run_id,
    record_path,
    thread_folder,
    write_exchange,
)

HEADING = re.compile(r"^## (user|assistant|system|tool)( \(.*\))?$", re.MULTILINE)
IDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\:"), min_size=1, max_size=80
).filter(lambda text: text.strip() and text not in (".", "..") and len(text.encode()) <= 256)


def write(*messages):
    return write_exchange(tuple(Message(*message) for message in messages))


def test_a_message_is_a_heading_and_its_text():
    """Role and name stand in the heading, the text below, with exactly one line end where it had none."""
    assert write((Role.USER, "hi", "alice"), (Role.ASSISTANT, "hello\n"), (Role.TOOL, "")) == (
        "## user (alice)\nhi\n## assistant\nhello\n## tool\n\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "## user",
        "## assistant (helper)",
        "##  SYSTEM",
        "##user",
        "   ## tool  ",
        "\t## user ##",
        "## system:",
        "\\## user",
        "\\\\## user (x)",
        "＃＃ user",
        "## us\u200ber",
        "#\u2060# user",
        "## ｕｓｅｒ",
        "\u200b## user",
        "## u\u0301ser",
    ],
)
@pytest.mark.parametrize("before", ["", "text\n", "text\r\n", "text\r", "text\u2028", "text\x85", "text\f", "\n\n"])
def test_a_forged_heading_is_escaped(line, before):
    """A line that reads as a heading, however it is spelled and whatever ends the line before it, gets a backslash."""
    assert write((Role.USER, f"{before}{line}\nrest")) == f"## user\n{before}\\{line}\nrest\n"


@pytest.mark.parametrize(
    "line", ["## users", "# user", "### user", "## User guide", "a ## user", "##", "#user", "## tools (3)", "user:"]
)
def test_an_ordinary_line_stays_as_it_is(line):
    """A heading of another kind, or the sign within a line, is the message's own text."""
    assert write((Role.USER, line)) == f"## user\n{line}\n"


@given(st.lists(st.tuples(st.sampled_from(Role), st.text().filter(lambda text: "\0" not in text)), max_size=5))
def test_a_document_has_as_many_headings_as_messages(messages):
    """Whatever is said, the document's headings are the messages' own, in their order."""
    document = write(*messages)
    assert [found[1] for found in HEADING.finditer(document)] == [role.value for role, _ in messages]


def test_a_long_text_is_written_in_a_moment():
    """A megabyte of lines that nearly imitate a heading takes no longer than it takes to read it twice."""
    text = ("#" * 5000 + "\n") * 200
    assert write((Role.USER, text)) == f"## user\n{text}"


@pytest.mark.parametrize(
    "message",
    [
        {"content": "a\0b"},
        {"name": "x" * (MAX_NAME_BYTES + 1)},
        {"name": "é" * (MAX_NAME_BYTES // 2 + 1)},
        {"name": "a\nb"},
        {"name": "a\u2028b"},
        {"name": "a\x85b"},
    ],
)
def test_a_message_that_breaks_a_rule_is_refused(message):
    """NUL in the text, and a name that is too long or could end its line, are refused, blaming the messages."""
    with pytest.raises(InvalidArguments) as refused:
        Message(Role.USER, **{"content": "x", **message})
    assert refused.value.field == "messages"


def test_ordinary_ids_name_the_record():
    """A person finds the record of a run under its thread's and its own name."""
    assert record_path("t1", "run-1").text == "threads/t1/run-1.md"
    assert record_path("会议", "r 1").text == "threads/会议/r 1.md"
    assert thread_folder("t1") == "threads/t1/"


@pytest.mark.parametrize(
    "odd", ["a..b", "~x", "e\u0301", "x.meta", "y.versions", "x" * 253, ".ironclaw-" + "0" * 32 + ".tmp"]
)
def test_an_id_that_no_path_can_hold_is_hashed(odd):
    """Such an id has a place all the same, under a name that no plain id has."""
    path = record_path(odd, odd)
    assert re.fullmatch(r"threads/~[0-9a-f]{64}/~[0-9a-f]{64}\.md", path.text)


@given(st.tuples(IDS, IDS), st.tuples(IDS, IDS))
def test_different_runs_never_share_a_record(one, other):
    """Two runs have one path only when thread and run are the same, byte for byte."""
    assert (record_path(*one) == record_path(*other)) == (one == other)
    assert record_path(*one).text.startswith(thread_folder(one[0]))


@pytest.mark.parametrize("bad", ["", " ", ".", "..", "a/b", "a\\b", "a:b", "a\nb", "x" * 257])
def test_a_run_id_obeys_the_rule_of_scope_ids(bad):
    """What no scope id may be, no run id may be; the field to blame is the request's."""
    with pytest.raises(InvalidArguments) as refused:
        check_turn_run_id(bad)
    assert refused.value.field == "turn_run_id"
