"""The lanes over a real store and index: the order of passages, and how large they are."""

import pytest

from ironclaw_memory.contract.arguments import WriteArguments
from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.lanes import MAX_SNIPPETS, LaneQuery
from ironclaw_memory.index import SearchQuery
from ironclaw_memory.memory.lanes import LaneReader
from ironclaw_memory.memory.profile import ProfileZone
from ironclaw_memory.memory.write import Writer
from tests.crash.curator import SCOPE, Bench


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path / "data")
    yield bench
    bench.index.close()


def write(bench, path, text):
    arguments = WriteArguments(target=path, content=text, append=False)
    Writer(bench.changes, ProfileZone(bench.store)).write(bench.call(), arguments)


def test_several_passages_of_one_document_come_before_a_poorer_one_of_another(bench):
    """Passages are ordered over all documents, so the two answers of one note precede the mention in another."""
    note = "\n\n".join(
        f"# {name}\n\nThe kestrel {name} eats mice. " + "It is well. " * 30 for name in ("Fips", "Fuchs")
    )
    write(bench, "birds.md", note)
    write(bench, "other.md", "We spoke of many things, of the weather, of eating, and once of a kestrel. " * 4)
    lanes = LaneReader(bench.store, bench.index)
    found = lanes.long_term_passages(bench.call(), LaneQuery("kestrel eats mice", 50), 50)
    assert [snippet.path for snippet in found][:3] == ["birds.md", "birds.md", "other.md"]


@pytest.mark.parametrize("size", [448, 512])
def test_a_passage_is_as_small_as_it_is_asked_for(bench, size):
    """What is shown around a match fits the size, its heading included, and the match is in it."""
    lines = [f"{number}: " + "filler words of no interest " * 6 for number in range(40)]
    lines[20] = "20: the kestrel's key hangs behind the door " + "with other keys " * 8
    write(bench, "long.md", "# A heading that is rather long, so that it counts\n\n" + "\n".join(lines))
    answer = bench.index.search(SCOPE, SearchQuery("kestrel key", passage_bytes=size))
    passages = [passage.text for hit in answer.hits for passage in hit.passages]
    assert passages
    assert all(len(text.encode()) <= size for text in passages)
    assert "behind the door" in passages[0]


@pytest.mark.parametrize(("given", "held"), [(-1, 0), (0, 0), (7, 7), (50, 50), (51, MAX_SNIPPETS), (2**31 - 1, 50)])
def test_a_limit_is_clamped(given, held):
    """Any number may be sent; 0 to 50 is what counts, and 0 disables."""
    query = LaneQuery("", given)
    assert (query.max_snippets, query.is_disabled) == (held, held == 0)


@pytest.mark.parametrize("query", ["x" * 4097, "é" * 2049, "\0"])
def test_a_query_is_bounded(query):
    """More than 4,096 bytes, or NUL, is an input error."""
    with pytest.raises(InvalidArguments):
        LaneQuery(query, 5)
