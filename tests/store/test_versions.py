"""The history of a document: every replaced content comes back, damage is noticed, limits hold."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironclaw_memory.contract.faults import DocumentCorrupt, DocumentMissing
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.store import StoreLimits
from ironclaw_memory.store.history import History, Replaced
from ironclaw_memory.store.layout import log_name
from tests.store.workbench import SCOPE, Workbench

# A change either adds to the document, as appends do, or replaces it.
STEPS = st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=40)), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One store for the generated cases; each purges what it made."""
    return Workbench(tmp_path_factory.mktemp("shared") / "data")


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_every_version_comes_back(shared, steps):
    """Whatever mixture of appends and replaces: version n is what the n-th change replaced."""
    contents = []
    for adds, piece in steps:
        content = (contents[-1] if adds and contents else b"") + piece
        if not contents or content != contents[-1]:
            contents.append(content)
            shared.put("v.md", content)
    assert shared.versions("v.md") == list(range(len(contents) - 1, 0, -1))
    for number, content in enumerate(contents[:-1], start=1):
        assert shared.version("v.md", number) == content
    shared.put("v.md", None, purge_versions=True)
    assert shared.versions("v.md") == []


def test_a_version_says_what_it_was(bench):
    """Number, hash, size, time and reason of each version are told, newest first."""
    moments = iter(datetime(2026, 12, 1, 8, minute, tzinfo=UTC) for minute in range(60))
    bench = Workbench(bench.data_dir.path, now=lambda: next(moments))
    bench.put("n.md", b"one")
    first = bench.put("n.md", b"two")
    bench.put("n.md", None)
    newest, oldest = bench.store.list_versions(SCOPE, DocumentPath("n.md"))
    assert (newest.version, newest.sha256, newest.size_bytes, newest.reason) == (2, first.sha256, 3, "deleted")
    assert (oldest.version, oldest.reason) == (1, "replaced")
    assert datetime(2026, 12, 1, 8, tzinfo=UTC) <= oldest.kept_at < newest.kept_at


def test_an_empty_document_leaves_no_version(bench):
    """Nothing is kept of nothing."""
    bench.put("n.md", b"")
    bench.put("n.md", b"one")
    assert bench.versions("n.md") == []


def test_a_change_can_go_without_a_version(bench):
    """A change that keeps none leaves the history alone, and the next one keeps what it replaces."""
    bench.put("n.md", b"one")
    bench.put("n.md", b"two", keep_version=False)
    assert bench.versions("n.md") == []
    bench.put("n.md", b"three")
    assert bench.version("n.md", 1) == b"two"


def test_the_same_content_at_different_times_is_kept_each_time(bench):
    """A document that goes back and forth has a version for each step, also over a delete."""
    for content in (b"a", b"b", b"a", None, b"a", b"b"):
        bench.put("n.md", content)
    assert [bench.version("n.md", number) for number in (1, 2, 3, 4)] == [b"a", b"b", b"a", b"a"]


def test_appends_cost_the_history_about_the_document_once(bench):
    """The log of a document that grew by 300 entries is not much larger than the document."""
    for number in range(300):
        bench.append("n.md", b"On day %d the user said something worth keeping.\n" % number)
    assert bench.log_file().stat().st_size < 4 * (bench.documents / "n.md").stat().st_size
    assert bench.version("n.md", 299) == b"".join(
        b"On day %d the user said something worth keeping.\n" % number for number in range(299)
    )


def test_a_missing_version_is_missing(bench):
    """Zero, a number not given yet, and any number of an unknown document."""
    bench.put("n.md", b"one")
    bench.put("n.md", b"two")
    for path, number in (("n.md", 0), ("n.md", 2), ("other.md", 1)):
        with pytest.raises(DocumentMissing):
            bench.version(path, number)


@pytest.mark.parametrize("torn", [1, 40, 90])
def test_a_torn_end_is_cut_by_the_next_writer(bench, torn):
    """A log whose last frame a crash tore shows the versions before it, and the next change continues there."""
    for content in (b"one", b"two", b"three"):
        bench.put("n.md", content)
    log = bench.log_file()
    log.write_bytes(log.read_bytes()[:-torn])
    assert bench.versions("n.md") == [1]
    assert bench.store.read_document(SCOPE, DocumentPath("n.md")).version == 1
    bench.put("n.md", b"four")
    assert [bench.version("n.md", number) for number in bench.versions("n.md")] == [b"three", b"one"]


def test_a_flipped_bit_is_never_handed_out(bench):
    """Wherever in the log a bit flips, each version comes back as it was, or is said to be damaged or missing."""
    for number in range(5):
        bench.append("n.md", b"content %d\n" % number)
    whole = {number: bench.version("n.md", number) for number in range(1, 5)}
    log = bench.log_file()
    intact = log.read_bytes()
    noticed = 0
    for position in range(0, len(intact), 5):
        log.write_bytes(intact[:position] + bytes((intact[position] ^ 4,)) + intact[position + 1 :])
        assert set(bench.versions("n.md")) <= set(whole)
        for number, content in whole.items():
            try:
                assert bench.version("n.md", number) == content
            except (DocumentCorrupt, DocumentMissing):
                noticed += 1
    assert noticed > 50


def test_damage_that_is_no_torn_end_is_set_aside(bench):
    """Whole versions behind a damage aren't cut off: the log is kept beside, and numbers go on."""
    for number in range(6):
        bench.put("n.md", b"content %d" % number)
    log = bench.log_file()
    content = log.read_bytes()
    damaged = content[:200] + b"\0" * 300 + content[200:] + b"torn"
    log.write_bytes(damaged)
    bench.put("n.md", b"after")
    assert bench.versions("n.md") == [6]
    assert bench.version("n.md", 6) == b"content 5"
    assert log.with_name(log.name + ".damaged").read_bytes() == damaged


def test_garbage_for_a_log_does_not_stop_writes(bench):
    """A log that is no log at all is replaced."""
    bench.put("n.md", b"one")
    bench.put("n.md", b"two")
    bench.log_file().write_bytes(b"not a log")
    assert bench.versions("n.md") == []
    bench.put("n.md", b"three")
    assert bench.version("n.md", 1) == b"two"


def test_the_oldest_versions_go_first_and_numbers_are_never_given_twice(tmp_path):
    """Over its count the log is cut to three quarters; numbers go on, and the rest can still be read."""
    bench = Workbench(tmp_path / "data", StoreLimits(version_count=8))
    for number in range(60):
        bench.append("n.md", b"%d\n" % number)
        assert len(bench.versions("n.md")) <= 8
    kept = bench.versions("n.md")
    assert kept[0] == 59
    assert 6 <= len(kept) <= 8
    for number in kept:
        assert bench.version("n.md", number) == b"".join(b"%d\n" % each for each in range(number))


def test_a_history_takes_no_more_room_than_its_limit(tmp_path):
    """Contents that don't compress are cut by bytes; the newest version always stays."""
    bench = Workbench(tmp_path / "data", StoreLimits(version_bytes=20_000))
    random = Random(7)
    for _ in range(40):
        bench.put("n.md", random.randbytes(3_000))
        if bench.versions("n.md"):
            assert bench.log_file().stat().st_size < 20_000 + 3_300
    assert 4 <= len(bench.versions("n.md")) <= 6
    big, last = random.randbytes(50_000), b"small"
    bench.put("n.md", big)
    bench.put("n.md", last)
    assert bench.version("n.md", bench.versions("n.md")[0]) == big


def test_versions_expire(tmp_path):
    """What was replaced too long ago is no longer shown, and its bytes go with a later change."""
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    bench = Workbench(tmp_path / "data", StoreLimits(version_age_days=10), now=lambda: clock[0])
    bench.put("n.md", b"first secret")
    bench.put("n.md", b"second")
    clock[0] += timedelta(days=6)
    bench.put("n.md", b"third")
    clock[0] += timedelta(days=6)
    assert bench.versions("n.md") == [2]
    with pytest.raises(DocumentMissing):
        bench.version("n.md", 1)
    bench.put("n.md", b"fourth")
    assert bench.versions("n.md") == [3, 2]
    assert bench.log_file().read_bytes().count(b"1vMI") == 3  # the opening and two versions: the first is gone


def test_a_purge_removes_the_history_and_numbers_restart(bench):
    """Nothing of the old contents stays on the disk."""
    bench.put("n.md", b"one")
    bench.put("n.md", b"two")
    bench.put("n.md", None, purge_versions=True)
    assert list((bench.root / "history").iterdir()) == []
    bench.put("n.md", b"new")
    assert bench.put("n.md", b"newer").version == 1


def test_versions_of_a_document_deleted_before_can_be_purged(bench):
    """A later decision that nothing shall be there may take the history along."""
    bench.put("n.md", b"one")
    bench.put("n.md", None)
    assert bench.versions("n.md") == [1]
    bench.put("n.md", None, purge_versions=True)
    assert bench.versions("n.md") == []


def test_a_version_left_by_a_dead_writer_is_used(bench):
    """The content that a killed writer had kept already isn't kept twice."""
    bench.put("n.md", b"one")
    file = bench.documents / "n.md"
    found = bench.store.read_document(SCOPE, DocumentPath("n.md"))
    folder = os.open(bench.root / "history", 0)
    replaced = Replaced(
        "n.md", b"one", bytes.fromhex(found.sha256), file.stat().st_mtime_ns, "replaced", datetime.now(UTC)
    )
    history = History(folder, log_name(DocumentPath("n.md")))
    history.append_locked(replaced)
    history.close()
    os.close(folder)
    assert bench.put("n.md", b"two").version == 1
    assert bench.versions("n.md") == [1]


def test_what_replaced_a_version_outlives_compaction(tmp_path):
    """The source class stays with its version when the oldest are dropped and the first kept one is stored anew."""
    bench = Workbench(tmp_path / "data", StoreLimits(version_count=4))
    sources = ("user", "agent", "tool", "import", "")
    for number in range(12):
        bench.append("n.md", b"%d\n" % number, source_class=sources[number % len(sources)])
    kept = bench.store.list_versions(SCOPE, DocumentPath("n.md"))
    assert 0 < len(kept) <= 4
    # Version n is what change n (counted from 0) replaced.
    assert [info.replaced_by for info in kept] == [sources[info.version % len(sources)] for info in kept]
