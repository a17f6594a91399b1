"""The lists of terms: a merge changes no answer, and the best scores are those of adding every entry up."""

import math
import os
import random
import sqlite3
import time

import pytest

from ironclaw_memory.index import catalogue, inverted, scoring
from ironclaw_memory.index.catalogue import Catalogue
from ironclaw_memory.index.database import Database
from ironclaw_memory.index.filter import Filter
from ironclaw_memory.index.inverted import TermLists, read_totals
from ironclaw_memory.index.postings import STRENGTH_SCALE, PostingList, join_blocks, pack, unpack
from ironclaw_memory.index.ranking import rank_documents
from ironclaw_memory.index.scoring import Question, Scoring, Worth, best_of
from ironclaw_memory.index.tables import create, create_in_memory, finish

WORDS = [f"{first}{second}" for first in ("heron", "osprey", "kestrel", "merlin") for second in "abcdefgh"]


def text_of(chosen):
    return "".join(" ".join(chosen.choices(WORDS, k=9)) + ".\n" for _ in range(chosen.randint(1, 12)))


def change_at_random(connection, chosen, count, merges):
    """Write and remove documents; `merges` says after which changes the lists are brought up to date."""
    for number in range(count):
        editor = Catalogue(connection, "english")
        path = f"{chosen.randrange(12)}.md"
        if chosen.random() < 0.2:
            editor.remove(path)
        else:
            content = text_of(chosen).encode()
            editor.put(path, content, f"{number:064}", (len(content), 0, 0), 700_000, editor.entry(path))
        if merges(number):
            editor.merge()
        editor.save_totals()


def answers(connection):
    return [
        [(found.path, found.score, found.passages) for found in rank_documents(connection, query, Filter(), 5)]
        for query in (*WORDS, "heron osprey", "herona ospreyb kestrelc", "merlind merline ospreyf")
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_merge_changes_no_answer(seed, monkeypatch):
    """Whether the lists are brought up to date after each change, now and then or never, the answers are the same."""
    monkeypatch.setattr(catalogue, "MERGE_PASSAGES", 10**6)
    found = []
    for merges in (lambda _: True, lambda number: number % 7 == 3, lambda _: False):
        connection = create_in_memory()
        change_at_random(connection, random.Random(seed), 60, merges)
        found.append(answers(connection))
        Catalogue(connection, "english").merge()
        connection.close()
    assert found[0] == found[1] == found[2]
    assert any(found[0])


@pytest.mark.parametrize("block", [4, 64])
def test_lists_hold_what_passages_hold(block, monkeypatch):
    """Over many blocks and after deletions, a term's list names just the passages that have the term."""
    monkeypatch.setattr(inverted, "BLOCK_PASSAGES", block)
    connection = create_in_memory()
    change_at_random(connection, random.Random(3), 80, lambda number: number % 5 == 0)
    held = {}
    for passage, body, context in connection.execute("SELECT id, body, context FROM passages"):
        for term in inverted.terms_of(body, context):
            held.setdefault(term, []).append(passage)
    lists = TermLists(connection, read_totals(connection), held)
    assert lists.frequencies() == {term: len(passages) for term, passages in held.items()}
    for term, passages in held.items():
        assert list(lists.of(term).passages) == sorted(passages)


def test_many_changes_are_merged_by_the_write_itself(monkeypatch):
    """No search ever has more than so many passages to go through that the lists don't have."""
    monkeypatch.setattr(catalogue, "MERGE_PASSAGES", 20)
    connection = create_in_memory()
    change_at_random(connection, random.Random(5), 100, lambda _: False)
    totals = read_totals(connection)
    assert totals.merged > 0
    assert totals.next_passage - totals.merged + totals.gone <= 20


class GivenLists:
    """Lists at hand, in the place of those of an index."""

    def __init__(self, lists):
        self._lists = lists

    def of(self, term, newest=None):
        return self._lists[term]


def random_question(chosen, passages):
    lists, worths = {}, {}
    for term in range(chosen.randint(1, 6)):
        held = sorted(chosen.sample(range(passages), chosen.randint(1, passages)))
        lists[term] = PostingList(unpack(pack(held)), bytes(chosen.randint(1, 255) for _ in held))
        worths[term] = Worth(math.log(1 + passages / len(held)), len(held))
    ordered = dict(sorted(worths.items(), key=lambda item: -item[1].worth))
    return lists, Question(GivenLists(lists), ordered)


@pytest.mark.parametrize("seed", range(20))
def test_the_best_scores_are_those_of_adding_everything_up(seed, monkeypatch):
    """What is left out, because it can't be among the best, isn't."""
    monkeypatch.setattr(scoring, "CHECK_BUDGET", 10**6)
    chosen = random.Random(seed)
    lists, question = random_question(chosen, 400)
    expected = {}
    for term, (worth, _) in question.worths.items():
        for passage, strength in lists[term].table().items():
            expected[passage] = expected.get(passage, 0.0) + worth / STRENGTH_SCALE * strength
    found = Scoring(20)
    found.look_up(question, None)
    scores = found.scores()
    assert all(score == pytest.approx(expected[passage]) for passage, score in scores.items())
    assert [scores[p] for p in best_of(scores, 20)] == pytest.approx([expected[p] for p in best_of(expected, 20)])
    every = Scoring(None)
    every.look_up(question, None)
    assert every.scores() == pytest.approx(expected)


def test_a_list_is_looked_through_or_searched_to_the_same_end():
    """Few passages are looked for one by one, many by going through the list."""
    entries = join_blocks([(pack(range(0, 900, 3)), bytes(range(1, 151)) * 2)])
    for wanted in ({3, 4, 897, 2000}, set(range(500))):
        assert entries.among(wanted) == {p: s for p, s in entries.table().items() if p in wanted}
    assert entries.strength_at(1) == 150
    assert entries.strength_at(301) == 0


@pytest.fixture
def file(tmp_path):
    """An index file that was finished a while ago."""
    path = str(tmp_path / "passages-0.sqlite")
    connection = create(path)
    change_at_random(connection, random.Random(1), 5, lambda _: True)
    finish(connection, path)
    os.utime(path, (time.time() - 60,) * 2)
    return path


def count(connection):
    return connection.execute("SELECT documents FROM totals").fetchone()[0]


def test_an_index_at_rest_is_read_without_a_journal(file):
    """Reading makes no file, and what another process commits is seen all the same, as soon as it is there."""
    database, other = Database(file), Database(file)
    before = database.read(count)
    assert not os.path.exists(f"{file}-wal")
    with other.writing() as connection:
        connection.execute("UPDATE totals SET documents = documents + 1")
    assert database.read(count) == before + 1
    other.close()
    database.close()
    os.utime(file, (time.time() - 30,) * 2)
    assert Database(file).read(count) == before + 1


def test_a_change_during_a_reading_at_rest_is_noticed(file):
    """What was read from a file that changed meanwhile is thrown away and read again."""
    database, seen = Database(file), []

    def look(connection):
        seen.append(count(connection))
        if len(seen) == 1:
            other = Database(file)
            with other.writing() as writing:
                writing.execute("UPDATE totals SET documents = documents + 1")
            other.close()
        return count(connection)

    assert database.read(look) == seen[0] + 1
    assert len(seen) == 2
    database.close()


def test_an_index_comes_to_rest(file):
    """A journal that nobody wrote to for a while is moved into the file and deleted; one in use isn't."""
    database = Database(file)
    with database.writing() as connection:
        connection.execute("UPDATE totals SET documents = 77")
    database.come_to_rest()
    assert os.path.exists(f"{file}-wal")
    os.utime(f"{file}-wal", (time.time() - 60,) * 2)
    database.come_to_rest()
    assert not os.path.exists(f"{file}-wal")
    with sqlite3.connect(file) as connection:
        assert count(connection) == 77
    connection.close()
    database.close()
