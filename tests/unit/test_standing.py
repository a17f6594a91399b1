"""MEMORY.md as chunks: what is shown of it, in whole lines, and that nothing is left out without a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.memory.standing import (
    HEAD_BYTES,
    MAX_CHUNK_BYTES,
    MAX_CHUNKS,
    SEPARATOR,
    TRUNCATED,
    StandingDocument,
    StandingLines,
    clip,
    pack_lines,
    read_lines,
)


def pack(text, max_chunks=MAX_CHUNKS):
    content = text.encode()
    return pack_lines(read_lines(content, len(content)), max_chunks)


def size(text):
    return len(text.encode())


def test_lines_are_joined_and_blank_ones_dropped():
    """Short lines become one chunk, trimmed, joined by '; '."""
    assert pack("one\n\n  two \r\n\t\nthree") == StandingDocument(("one; two; three",), ("one", "two", "three"), 0)


@pytest.mark.parametrize("text", ["", "\n", " \t\n\r\n"])
def test_nothing_is_no_chunk(text):
    """A document without a word gives no chunk at all, and no mark."""
    assert pack(text) == StandingDocument()


def test_a_line_that_finds_no_room_starts_the_next_chunk():
    """A chunk ends where the next whole line would exceed 400 bytes, the separator counted."""
    exact, spill = ["a" * 199, "b" * 199], ["a" * 199, "b" * 200]
    assert pack("\n".join(exact)).chunks == ("; ".join(exact),)
    assert size(pack("\n".join(exact)).chunks[0]) == MAX_CHUNK_BYTES
    assert pack("\n".join(spill)).chunks == tuple(spill)


def test_what_is_left_out_is_counted_and_marked_within_the_budget():
    """Of 100 lines those shown are whole; the last chunk says that there are more, within its 400 bytes."""
    lines = [f"fact {number:03} " + "x" * 40 for number in range(100)]
    standing = pack("\n".join(lines))
    assert len(standing.chunks) == MAX_CHUNKS
    assert standing.chunks[-1].endswith(TRUNCATED)
    assert all(size(chunk) <= MAX_CHUNK_BYTES for chunk in standing.chunks)
    shown = SEPARATOR.join(standing.chunks).removesuffix(TRUNCATED).split(SEPARATOR)
    assert shown == lines[: len(shown)]
    assert standing.omitted_lines == 100 - len(shown)


@pytest.mark.parametrize(("length", "omitted"), [(400, 0), (401, 1), (1200, 1)])
def test_a_line_is_clipped_only_when_a_chunk_cannot_hold_it(length, omitted):
    """A line of 400 bytes is shown whole and unmarked; a longer one is clipped, marked and counted."""
    standing = pack("a" * length)
    assert standing.omitted_lines == omitted
    assert (standing.chunks[0] == "a" * length) == (not omitted)
    assert standing.chunks[0].endswith(TRUNCATED) == bool(omitted)


def test_a_clip_before_the_last_chunk_is_marked_at_the_end():
    """A clipped line further up is told of by the last chunk, which loses nothing for it that it needn't."""
    standing = pack("a" * 500 + "\nb")
    assert standing.chunks == ("a" * 400, "b" + TRUNCATED)
    assert standing.omitted_lines == 1


def test_a_line_that_goes_for_the_mark_counts():
    """Where the mark needs room, a whole line makes it, and is counted among those left out."""
    lines = ["a" * 190, "b" * 190, "c" * 400, "d" * 400, "e" * 390, "f" * 8, "g"]
    standing = pack("\n".join(lines))
    assert standing.chunks[-1] == "e" * 388 + TRUNCATED
    assert standing.omitted_lines == 3  # e is clipped, f made room, g found none


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
def test_no_more_chunks_than_asked_for_nor_than_four(most):
    """The caller's limit and the contract's both hold."""
    assert len(pack("\n".join("x" * 400 for _ in range(9)), most).chunks) == min(most, MAX_CHUNKS)


def test_a_clip_never_cuts_a_character():
    """A four-byte character at the edge goes as a whole."""
    assert pack("🐢" * 101).chunks == ("🐢" * 97 + TRUNCATED,)
    assert clip("a🐢", 4) == "a"


def test_a_document_beyond_its_head_is_marked_though_the_head_would_fit():
    """When the document goes on, that is said even where everything that was read is shown."""
    assert pack_lines(StandingLines(("one", "two"), goes_on=True), 4) == StandingDocument(
        ("one; two" + TRUNCATED,), ("one", "two"), 1
    )


def test_a_head_may_end_within_a_character():
    """A head cut within a character of a longer file is text; the same bytes as a whole file aren't."""
    head = "é".encode()[:1]
    assert read_lines(b"tea\n" + head, 99).lines == ("tea",)
    with pytest.raises(UnicodeDecodeError):
        read_lines(b"tea\n" + head, 5)
    with pytest.raises(UnicodeDecodeError):
        read_lines(b"tea \xff tea", HEAD_BYTES)


LINES = st.lists(st.one_of(st.text(max_size=20), st.text(min_size=100, max_size=500)), max_size=30)


@given(LINES, st.integers(0, 6))
def test_chunks_are_the_document_from_its_head(lines, most):
    """Whatever the text: at most 4 chunks of at most 400 bytes, whole lines in order, and a mark when some miss."""
    text = "\n".join(lines)
    kept = [line.strip() for line in text.splitlines() if line.strip()]
    standing = pack(text, most)
    assert len(standing.chunks) <= min(most, MAX_CHUNKS)
    assert all(0 < size(chunk) <= MAX_CHUNK_BYTES for chunk in standing.chunks)
    if not standing.chunks:
        assert standing.omitted_lines == len(kept)
        return
    assert standing.chunks[-1].endswith(TRUNCATED) >= bool(standing.omitted_lines)
    assert list(standing.shown) == kept[: len(standing.shown)]
    if not standing.omitted_lines:
        assert SEPARATOR.join(standing.chunks) == SEPARATOR.join(kept)


@given(LINES.map("\n".join), st.integers(1, 300))
def test_a_head_shows_what_the_whole_document_does(text, cut):
    """What a head that holds more than is shown shows is what the document shows, but for the count."""
    content = text.encode()
    whole = pack_lines(read_lines(content, len(content)), 4)
    longer = content + b"\n" + b"more\n" * 500
    head = longer[: len(content) + 1 + cut]
    assert pack_lines(read_lines(head, len(longer)), 4).shown[: max(0, len(whole.shown) - 1)] == whole.shown[:-1]
