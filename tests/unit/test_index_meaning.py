"""Searching by meaning: what a model changes, what it must not change, and that everything works without one."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Mapping, Sequence

import pytest

from ironclaw_memory.index import IndexSettings
from ironclaw_memory.index.meaning import likeness
from ironclaw_memory.index.word_vectors import load_word_vectors
from tests.unit.index_source import Memory

VECTORS = {
    # word: sea, mountain
    "harbour": (1.0, 0.0),
    "sailing": (1.0, 0.1),
    "summit": (0.0, 1.0),
    "climbing": (0.1, 1.0),
}


class TwoSubjects:
    """A model that knows four words and two subjects."""

    name = "two-subjects/1"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._pack(text) for text in texts]

    def compare(self, words: Mapping[str, float], vectors: Sequence[bytes]) -> list[float]:
        sea, mountain = (sum(VECTORS.get(word, (0, 0))[i] * weight for word, weight in words.items()) for i in (0, 1))
        return [sea * x + mountain * y for x, y in (struct.unpack("2f", vector) for vector in vectors)]

    def _pack(self, text: str) -> bytes:
        known = [vector for word, vector in VECTORS.items() if word in text]
        return struct.pack("2f", *map(sum, zip(*known, strict=True))) if known else b""


@pytest.fixture
def fill():
    def put(memory: Memory) -> None:
        memory.write("a.md", "The plan for Robin names the summit.\n")
        memory.write("b.md", "The plan for Robin names the harbour.\n")
        memory.write("c.md", "Sailing lessons begin on Monday.\n")

    return put


def test_meaning_orders_what_the_words_leave_equal(tmp_path, fill):
    """Of two documents with the same words of a query, the one nearer to its meaning comes first."""
    with Memory(tmp_path, TwoSubjects()) as memory:
        fill(memory)
        assert memory.paths("Robin's plan for the harbour, sailing")[0] == "b.md"
        assert memory.paths("climbing plan of Robin") == ["a.md", "b.md"]


def test_words_and_meaning_agree_on_a_hybrid_match(tmp_path, fill):
    """A hit is marked where both ways of searching find it, and only there."""
    with Memory(tmp_path, TwoSubjects()) as memory:
        fill(memory)
        marks = {hit.path.text: hit.is_hybrid_match for hit in memory.search("climbing plan of Robin").hits}
        assert marks == {"a.md": True, "b.md": False}


def test_meaning_alone_finds_nothing(tmp_path, fill):
    """What shares no word with a query stays unfound, however near it is."""
    with Memory(tmp_path, TwoSubjects()) as memory:
        fill(memory)
        assert memory.paths("climbing") == []


def test_without_a_model_the_words_decide(tmp_path, fill):
    """The same documents are found, and none is marked."""
    with Memory(tmp_path) as memory:
        fill(memory)
        hits = memory.search("climbing plan of Robin").hits
        assert {hit.path.text for hit in hits} == {"a.md", "b.md"}
        assert not any(hit.is_hybrid_match for hit in hits)


def test_an_index_without_vectors_is_built_anew_for_a_model(tmp_path, fill):
    """Switching a model on, or to another one, needs nobody to delete the index."""
    with Memory(tmp_path) as memory:
        fill(memory)
        assert memory.paths("plan")
    with Memory(tmp_path, TwoSubjects()) as memory:
        assert memory.paths("climbing plan of Robin") == ["a.md", "b.md"]
        assert memory.search("climbing plan of Robin").hits[0].is_hybrid_match


def test_vectors_missing_after_a_time_without_the_model_come_back(tmp_path, fill):
    """What was indexed while the model was away gets its vector when the model returns."""
    with Memory(tmp_path, TwoSubjects()) as memory:
        fill(memory)
        assert memory.paths("plan")
    with Memory(tmp_path) as memory:
        memory.write("d.md", "Robin and the plan of the summit, again the summit.\n")
        assert "d.md" in memory.paths("plan")
    with Memory(tmp_path, TwoSubjects()) as memory:
        marks = {hit.path.text: hit.is_hybrid_match for hit in memory.search("climbing plan of Robin").hits}
        assert marks["d.md"]


def test_likeness_runs_from_the_mean_to_the_best():
    """The likest passage has 1, the mean and what is below it 0, and one without a vector isn't judged."""
    vectors = {1: struct.pack("2f", 1, 0), 2: struct.pack("2f", 0, 1), 3: b"", 4: struct.pack("2f", 0.5, 0)}
    found = likeness(TwoSubjects(), {"harbour": 1.0}, vectors)
    assert found == {1: 1.0, 2: 0.0, 4: 0.0}
    assert likeness(TwoSubjects(), {}, vectors) == {}
    assert likeness(TwoSubjects(), {"harbour": 1.0}, {1: vectors[1]}) == {}


def test_semantic_takes_three_words():
    """A mistyped setting is told at once, with what it may be."""
    with pytest.raises(ValueError, match="auto, on or off"):
        IndexSettings(semantic="yes")  # type: ignore[arg-type]


@pytest.mark.skipif(importlib.util.find_spec("wordllama") is not None, reason="the package is installed")
def test_a_model_that_must_be_there_is_missed_at_the_start(tmp_path):
    """`semantic = on` without its package stops the start instead of quietly searching by words alone."""
    with pytest.raises(ValueError, match="wordllama"):
        Memory(tmp_path, semantic="on")


@pytest.mark.skipif(importlib.util.find_spec("wordllama") is None, reason="needs the extra `semantic`")
def test_word_vectors_know_what_is_alike():
    """The model of the package puts a wedding nearer to being married than a printer."""
    model = load_word_vectors()
    assert model is not None
    married, printer = model.compare({"married": 1.0}, model.embed(["Their wedding was in May.", "The printer jams."]))
    assert married > printer
    assert model.embed([""]) == [b""]
