"""What a search finds, in which order, and what it shows."""

import pytest

from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index import SearchQuery, catalogue
from tests.unit.index_source import ALICE, Memory


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path) as memory:
        yield memory


def test_the_best_comes_first_with_score_one(memory):
    """A document that shares no term isn't found; the best has score 1.0 and shows its text."""
    memory.write("notes/kayak.md", "The kayak races start in autumn. The kayak is red.")
    memory.write("notes/tea.md", "User prefers green tea.")
    answer = memory.search("kayak races")
    assert [(hit.path.text, hit.score) for hit in answer.hits] == [("notes/kayak.md", 1.0)]
    assert answer.hits[0].content == "The kayak races start in autumn. The kayak is red."
    assert answer.documents_searched == 2


@pytest.mark.parametrize(
    "query",
    [
        *(
            "C++",
            '"foo',
            "status: done",
            'timeout "error',
            "foo/bar",
            "retry OR",
            "NEAR(",
            "*",
            "(",
            "^a",
            "gpt-4",
            "it's",
        ),
        *(
            "AND",
            "a'); DROP TABLE x;--",
            "well-known",
            "GB/s",
            "20.04",
            "path:",
            "-x",
            "\0",
            "a" * 4096,
            "%",
            "_",
            "🙂",
        ),
    ],
)
def test_no_query_is_syntax(memory, query):
    """Any text is searched, and a document that holds the query's words is found by it."""
    memory.write("notes/all.md", f"timeout status: {query} retry error")
    answer = memory.search(query)
    assert bool(answer.hits) == any(c.isalnum() for c in query)


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("我喜欢喝绿茶，住在上海。", "绿茶"),
        ("我喜欢喝绿茶，住在上海。", "用户喜欢什么茶"),
        ("昨日は東京タワーに行った。今日Pythonを学んだ。", "東京"),
        ("昨日は東京タワーに行った。今日Pythonを学んだ。", "Python"),
        ("사용자는 서울에서 커피를 마신다", "커피"),
        ("ผู้ใช้ชอบชาเขียว", "ชาเขียว"),
        ("likes green tea", "what tea does the user like to drink?"),
        ("She was running with Élodie.", "run"),
        ("getUserName snake_case_id", "user name"),
        ("written in Go and C", "Go"),
        ("written in Go and C", "C"),
        ("that was great!", "great"),
    ],
)
def test_finds_across_languages_and_forms(memory, content, query):
    """One shared word is enough, in any script and any form of it."""
    memory.write("notes/other.md", "zzz")
    memory.write("notes/one.md", content)
    assert memory.paths(query) == ["notes/one.md"]


@pytest.mark.parametrize(("limit", "count"), [(5, 5), (0, 1), (-3, 1), (20, 20), (1000, 25)])
def test_limit_is_clamped(memory, limit, count):
    """One to a hundred documents, as many as were asked for."""
    for i in range(25):
        memory.write(f"n/{i}.md", f"zebra {i}")
    assert len(memory.search("zebra", limit=limit).hits) == count


def test_equal_scores_are_ordered_by_path(memory):
    """Documents that match equally come in the order of their paths, in whatever order they were written."""
    for name in ("c", "a", "b"):
        memory.write(f"{name}.md", "a zebra")
    answer = memory.search("zebra")
    assert [hit.path.text for hit in answer.hits] == ["a.md", "b.md", "c.md"]
    assert [hit.score for hit in answer.hits] == [1.0, 1.0, 1.0]


def test_a_document_takes_one_slot(memory):
    """Many matching passages of one document neither fill the answer nor crowd out the better document."""
    memory.write("long.md", "\n\n".join(f"Entry {i}: tea was served " + "and so on " * 30 for i in range(60)))
    memory.write("short.md", "Her favourite tea is sencha tea.")
    assert memory.paths("favourite tea") == ["short.md", "long.md"]
    assert 1 < len(memory.search("tea").hits[1].passages) <= 8


def test_the_newer_of_two_facts_comes_first(memory):
    """A correction precedes what it corrects, by the dates in the paths and by the order in one document."""
    memory.write("daily/2026-03-01.md", "The user lives in Berlin.")
    memory.write("daily/2026-09-01.md", "The user lives in Munich.")
    assert memory.paths("where does the user live") == ["daily/2026-09-01.md", "daily/2026-03-01.md"]
    filler = "\n\nUnrelated words about nothing in particular. " * 12
    memory.write("log.md", f"# Log\n\nPin is 1111.\n{filler}\n\n# Log\n\nPin is 2222.\n")
    assert "2222" in memory.search("pin").hits[0].passages[0].text


def test_min_score_cuts_weak_matches(memory):
    """A match on one common word is far below the best, and can be left out."""
    memory.write("a.md", "The blue heron project ships its label printer in May.")
    for i in range(30):
        memory.write(f"b/{i}.md", f"The project number {i} has some other matter to settle.")
    assert len(memory.search("blue heron label printer project").hits) == 5
    answer = memory.search("blue heron label printer project", min_score=0.3)
    assert [hit.path.text for hit in answer.hits] == ["a.md"]


def test_headings_path_and_dates_help(memory):
    """A passage is found by the heading above it, the document's name, and the date it carries in any spelling."""
    memory.write("projects/osprey/notes.md", "# Catering\n\n" + "Budget talk. " * 60 + "\n\nTwo trays for Friday.\n")
    memory.write("daily/2023-05-08.md", "Went to the doctor.")
    assert "Catering" in memory.search("catering trays").hits[0].passages[0].text
    assert memory.paths("osprey") == ["projects/osprey/notes.md"]
    assert memory.paths("what happened on 8 May 2023?")[0] == "daily/2023-05-08.md"


def test_a_long_document_shows_its_matches(memory):
    """The content is bounded, holds every match, in reading order, joined by an ellipsis."""
    filler = "filler " * 3000
    memory.write("long.md", f"{filler}the needle-alpha record{filler}\nsecond needle-alpha\n{filler}")
    content = memory.search("needle-alpha").hits[0].content
    assert len(content.encode()) <= 8192
    assert content.index("the needle-alpha record") < content.index("…") < content.index("second needle-alpha")


def test_passages_fit_a_snippet_and_name_their_line(memory):
    """A passage is at most 512 bytes of whole lines, and says on which line it begins."""
    lines = [f"Line {i}: the cat number {i} sleeps on chair {i * 7}." for i in range(200)]
    memory.write("cats.md", "# Cats\n\n" + "\n".join(lines) + "\n")
    best = memory.search("cat number 137").hits[0].passages[0]
    shown = best.text.removeprefix("# Cats\n")
    assert len(best.text.encode()) <= 512
    assert "Line 137:" in shown
    first = memory.file("cats.md").read_text().splitlines()[best.line - 1]
    assert shown.splitlines()[0] == first


def test_passages_can_be_asked_for_smaller(memory):
    """A caller that puts something around a passage gets it with less of its neighbourhood."""
    memory.write("cats.md", "# Cats\n\n" + "\n".join(f"Line {i}: the cat sleeps on chair {i}." for i in range(200)))
    for size in (448, 512):
        sizes = [len(p.text.encode()) for p in memory.search("cat chair 77", passage_bytes=size).hits[0].passages]
        assert size - 64 < max(sizes) <= size


@pytest.mark.parametrize("filler", ["🙂", "茶", "é", "👨‍👩‍👧"])
def test_excerpts_are_cut_between_characters(memory, filler):
    """Wide characters at the edge of what is shown neither crash nor break."""
    memory.write("wide.md", filler * 700 + " needle " + filler * 5000)
    hit = memory.search("needle").hits[0]
    assert "needle" in hit.content
    assert "\ufffd" not in hit.content + hit.passages[0].text


def test_a_query_over_4096_bytes_is_refused(memory):
    """The size is checked before anything is searched, in bytes, and blames the query."""
    for text in ("a" * 4097, "茶" * 1366, "x" * 1_000_000):
        with pytest.raises(InvalidArguments) as refusal:
            memory.search(text)
        assert refusal.value.field == "query"
    memory.search("茶" * 1365)


@pytest.mark.parametrize("text", ["", " \n\t", "\ud800"])
def test_a_query_without_text_is_refused(memory, text):
    """A blank query, or one that isn't Unicode, is an input error."""
    with pytest.raises(InvalidArguments):
        memory.search(text)


def test_prefix_and_exclusions_come_before_the_cut(memory):
    """Filtered documents take no slot; exclusions ignore letter case, the prefix doesn't."""
    for i in range(30):
        memory.write(f"Threads/t1/{i}.md", "osprey osprey osprey")
    memory.write("MEMORY.md", "osprey")
    memory.write("notes/osprey.md", "a bird of prey, the osprey, seen once")
    assert memory.paths("osprey", exclude=("memory.md", "threads/")) == ["notes/osprey.md"]
    assert memory.paths("osprey", path_prefix="notes/") == ["notes/osprey.md"]
    assert memory.paths("osprey", path_prefix="threads/") == []
    assert memory.search("osprey", exclude=("threads/",)).documents_searched == 2
    assert len(memory.paths("osprey", path_prefix="Threads/t1/", limit=9)) == 9


def test_filters_hold_in_a_large_scope(memory):
    """Where a filter leaves too many documents to list, it still comes before the cut."""
    for i in range(1200):
        memory.edit(f"{'keep' if i % 2 else 'drop'}/{i}.md", "common word" + (" rare" if i == 77 else ""))
    found = memory.paths("common rare", exclude=("drop/",), limit=100)
    assert found[0] == "keep/77.md"
    assert len(found) == 100
    assert all(path.startswith("keep/") for path in found)


def test_skip_indexing_removes_a_document(memory):
    """A document that opts out is no longer found; opting in brings it back."""
    memory.write("notes/s.md", "wombat")
    assert memory.paths("wombat") == ["notes/s.md"]
    memory.source.metadata["notes/s.md"] = {"skip_indexing": True}
    memory.write("notes/s.md", "wombat again")
    assert memory.paths("wombat") == []
    memory.source.metadata["notes/s.md"] = {}
    memory.note("notes/s.md")
    assert memory.paths("wombat") == ["notes/s.md"]


def test_a_folder_opts_out_and_in_again(memory):
    """A change of a folder's `.config` counts for every document below it, and for no other."""
    memory.write("private/a/b.md", "wombat one")
    memory.write("privateer.md", "wombat two")
    memory.source.metadata["private/.config"] = {"skip_indexing": True}
    memory.write("private/.config", "{}")
    assert memory.paths("wombat") == ["privateer.md"]
    memory.source.metadata.clear()
    memory.delete("private/.config")
    assert sorted(memory.paths("wombat")) == ["private/a/b.md", "privateer.md"]


def test_scopes_never_meet(memory):
    """What one user wrote isn't found by another."""
    memory.write("secret.md", "wombat")
    bob = Scope("acme", "bob")
    assert memory.index.search(bob, SearchQuery("wombat")).hits == ()
    assert memory.index.search(ALICE, SearchQuery("wombat")).hits


def test_one_bad_document_does_not_stop_the_others(memory):
    """Binary and unreadable documents are named with their problem; the rest is searched."""
    memory.write("binary.md", b"wombat \xff\xfe")
    memory.write("locked.md", "wombat")
    memory.source.unreadable.add("locked.md")
    memory.write("good.md", "wombat")
    assert memory.paths("wombat") == ["good.md"]
    stats = memory.index.stats(ALICE)
    assert dict(stats.problems) == {
        DocumentPath("binary.md"): "not UTF-8 text",
        DocumentPath("locked.md"): "unreadable: STORAGE_UNAVAILABLE",
    }
    assert (stats.documents, stats.bytes, stats.passages) == (1, 6, 1)


def test_a_text_that_breaks_the_analysis_is_put_aside(memory, monkeypatch):
    """A mistake of ours in one document is named in the statistics and takes search away from no other."""
    real = catalogue.analyse

    def broken(text, language):
        if "poison" in text:
            raise RecursionError
        return real(text, language)

    monkeypatch.setattr(catalogue, "analyse", broken)
    memory.write("good.md", "wombat")
    memory.write("bad.md", "wombat")
    assert memory.paths("wombat") == ["bad.md", "good.md"]
    memory.write("bad.md", "wombat poison")
    assert memory.paths("wombat") == ["good.md"]
    assert dict(memory.index.stats(ALICE).problems) == {DocumentPath("bad.md"): "analysis failed: RecursionError"}


def test_an_unreadable_document_is_tried_again(memory):
    """A document that could be read again is found without anybody writing it."""
    memory.source.unreadable.add("locked.md")
    memory.write("locked.md", "wombat")
    assert memory.paths("wombat") == []
    memory.source.unreadable.clear()
    memory.clock.now += 2
    assert memory.paths("wombat") == ["locked.md"]


def test_a_megabyte_on_one_line_is_indexed(memory):
    """Minified text and garbage of the largest size are found by what stands at their end."""
    memory.write("one-line.md", "const a=[" + ",".join(f"{{k{i}:'v{i}'}}" for i in range(60_000)) + "]; needle")
    memory.write("garbage.md", "Ab9_" * 250_000 + " needle")
    assert sorted(memory.paths("needle")) == ["garbage.md", "one-line.md"]


def test_an_answer_is_shown_with_its_question(memory):
    """The lines after a match are among the passages though they share no word with the query."""
    filler = "\n".join(f"Ann: Topic {i} was interesting, wasn't it, and how it went on for hours." for i in range(40))
    question, answer = "Ann: What happened at the picnic? " + "Tell me. " * 30, "Bob: Charades, then a scavenger hunt."
    memory.write("talk.md", f"# Talk\n\n{filler}\n{question}\n{answer + ' Fun.' * 60}\n{filler}\n")
    texts = [passage.text for passage in memory.search("what happened at the picnic").hits[0].passages[:2]]
    assert "picnic" in texts[0]
    assert any("Charades" in text for text in texts)


def test_a_companion_word_finds_less_than_the_word_itself(memory):
    """`job` finds what an employer's note says, after the notes that say `job`."""
    memory.write("a.md", "Her employer is the city library.\n")
    memory.write("b.md", "She likes her job.\n")
    memory.write("c.md", "It rains.\n")
    assert memory.paths("job") == ["b.md", "a.md"]


def test_excerpts_that_touch_are_joined_as_in_the_document(memory):
    """An ellipsis stands only where something was left out."""
    lines = "\n".join(f"- kestrel number {i} nests on ledge {i * 3} of the old mill by the river" for i in range(60))
    memory.write("birds.md", f"{lines}\n{'filler ' * 1500}\n")
    content = memory.search("kestrel").hits[0].content
    shown = content.split("\n…\n")
    assert all(part.strip() in memory.file("birds.md").read_text() for part in shown)
