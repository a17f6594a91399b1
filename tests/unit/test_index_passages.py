"""Cutting documents into passages."""

from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.index.passages import PACKED_BYTES, PASSAGE_BYTES, character_floor, cut_passages

LINES = st.lists(st.text(max_size=200) | st.sampled_from(["# One", "## Two", "```", "", "- fact"]), max_size=40)


def texts(content):
    return [content[p.start : p.start + p.length] for p in cut_passages(content)]


@given(LINES.map("\n".join))
def test_every_word_is_in_one_passage(text):
    """Passages come in reading order, don't overlap, and leave out nothing but white space."""
    content = text.encode()
    end = 0
    for passage in cut_passages(content):
        assert passage.start >= end
        assert not content[end : passage.start].strip()
        end = passage.start + passage.length
    assert not content[end:].strip()


@given(LINES.map("\n".join))
def test_passages_are_whole_characters_and_bounded(text):
    """A passage fits a snippet and can be decoded."""
    for piece in texts(text.encode()):
        assert len(piece) <= max(PACKED_BYTES, PASSAGE_BYTES)
        piece.decode()


@given(LINES.map("\n".join), LINES.map("\n".join))
def test_appending_changes_the_last_passage_only(text, more):
    """What stands before the last passage is cut alike, whatever is appended."""
    before = list(cut_passages(f"{text}\n".encode()))
    after = list(cut_passages(f"{text}\n{more}\n".encode()))
    kept = before[:-1]
    assert after[: len(kept)] == kept


def test_a_heading_starts_a_passage_and_is_known_below():
    """A section's passages know the headings above them."""
    passages = list(cut_passages(b"intro\n# Trip\none\n## Hotel\ntwo\n# Work\nthree\n"))
    assert [p.headings for p in passages] == ["", "Trip", "Trip / Hotel", "Work"]
    assert [p.line for p in passages] == [1, 2, 4, 6]


def test_a_fenced_block_stays_whole():
    """Code of a few lines isn't torn, even over blank lines and lines that look like headings."""
    block = b"```python\n# not a heading\nx = 1\n\n\ny = 2\n```"
    content = b"word " * 60 + b"\n\n" + block + b"\n\nafter\n"
    assert any(block in piece for piece in texts(content))


def test_an_unclosed_fence_is_cut_like_the_rest():
    """A forgotten closing fence doesn't make one passage of all that follows."""
    assert max(map(len, texts(b"```\n" + b"a line of log\n" * 500))) <= PASSAGE_BYTES


def test_a_long_line_is_cut_after_a_sentence():
    """A paragraph on one line is cut where a sentence ends."""
    pieces = texts(b"This is a sentence of some length that goes on. " * 40)
    assert all(piece.rstrip().endswith(b".") for piece in pieces)


def test_unspaced_text_is_cut_between_characters():
    """A megabyte without a space is cut into passages of whole characters."""
    pieces = texts(("茶" * 350_000).encode())
    assert max(map(len, pieces)) <= PASSAGE_BYTES
    assert "".join(piece.decode() for piece in pieces) == "茶" * 350_000


@given(st.text(min_size=1), st.integers(min_value=1))
def test_cutting_never_splits_a_character(text, size):
    """The floor of an offset is a character boundary of valid text, at most one character back."""
    content = text.encode()
    end = character_floor(content, min(size, len(content)))
    if size >= 4:
        content[:end].decode()
        assert min(size, len(content)) - end < 4


def test_short_messages_of_an_exchange_share_a_passage():
    """A row of short sections of one level is one passage, so that an answer stands with its question."""
    content = b"# Talk\n\n## user\nWhich tea?\n\n## assistant\nGreen.\n\n## user\nThanks.\n"
    passages = list(cut_passages(content))
    assert any(b"Which tea?" in text and b"Green." in text for text in _texts(content, passages))


def test_a_long_section_is_not_joined_with_the_next():
    """A section that fills half of a passage stands alone, and so does one of another level."""
    long = b"x" * 300
    content = b"## a\n" + long + b"\n## b\nshort\n# c\nother\n"
    texts = _texts(content, list(cut_passages(content)))
    assert [text[:4] for text in texts] == [b"## a", b"## b", b"# c\n"]


def _texts(content, passages):
    return [content[each.start : each.start + each.length] for each in passages]
