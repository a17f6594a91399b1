"""The index follows the documents, whoever changes them, and comes back from damage by itself."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index import SearchQuery
from ironclaw_memory.index.folder import PENDING_BYTES, IndexFolder
from tests.unit.index_source import ALICE, Memory

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path) as memory:
        yield memory


def databases(memory):
    return [file for file in memory.index_files() if file.suffix == ".sqlite"]


def test_every_write_is_searchable_when_it_is_noted(memory):
    """New, replaced and deleted text shows in the very next search, without a comparison with the files."""
    memory.write("c.md", "prefers xylophone")
    assert memory.paths("xylophone") == ["c.md"]
    memory.write("c.md", "prefers marimba")
    assert memory.paths("xylophone") == []
    assert memory.paths("marimba") == ["c.md"]
    memory.delete("c.md")
    assert memory.search("marimba").documents_searched == 0


def test_deleted_documents_take_no_slots(memory):
    """After a deletion as many documents as asked for are still found."""
    for i in range(20):
        memory.write(f"{i:02}.md", "zebra")
    memory.paths("zebra")
    for i in range(10):
        memory.delete(f"{i:02}.md")
    assert memory.paths("zebra", limit=10) == [f"{i:02}.md" for i in range(10, 20)]


def test_a_hand_edit_is_found_within_two_seconds(memory):
    """What a person edits, adds or removes counts as soon as the last comparison is over 1.5 s old."""
    memory.write("a.md", "old heron")
    memory.write("b.md", "old heron")
    memory.paths("heron")
    memory.edit("a.md", "new osprey")
    memory.edit("sub/c.md", "another osprey")
    memory.file("b.md").unlink()
    memory.clock.now += 1.6
    assert sorted(memory.paths("osprey")) == ["a.md", "sub/c.md"]
    assert memory.paths("heron") == []
    assert memory.index.stats(ALICE).documents == 2


def test_a_deletion_by_hand_is_never_shown(memory):
    """A document that is gone isn't shown even before the comparison, and the next ones move up."""
    for name in ("a", "b", "c"):
        memory.write(f"{name}.md", "osprey")
    memory.paths("osprey")
    memory.file("a.md").unlink()
    assert memory.paths("osprey", limit=2) == ["b.md", "c.md"]


def test_an_edit_that_keeps_size_and_time_is_not_shown_as_it_was(memory):
    """Even where the stat hides an edit, a search never shows text that isn't in the file, and mends the index."""
    memory.write("c.md", "prefers xylophone")
    os.utime(memory.file("c.md"), ns=(10**18, 10**18))
    memory.clock.now += 2
    assert memory.paths("xylophone") == ["c.md"]
    with memory.file("c.md").open("r+b") as file:
        file.write(b"prefers marimbaaa")
    os.utime(memory.file("c.md"), ns=(10**18, 10**18))
    memory.clock.now += 2
    assert memory.paths("xylophone") == []
    assert memory.paths("marimbaaa") == ["c.md"]


def test_a_second_edit_in_the_same_instant_is_found(memory):
    """A file whose time is too young to tell two edits apart is read again by the next comparison."""
    memory.edit("c.md", "prefers xylophone")
    memory.paths("anything")
    stat = memory.file("c.md").stat()
    with memory.file("c.md").open("r+b") as file:
        file.write(b"prefers marimbaaa")
    os.utime(memory.file("c.md"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    memory.clock.now += 2
    assert memory.paths("marimbaaa") == ["c.md"]


def test_a_restored_backup_is_found(memory, tmp_path):
    """Replacing the whole tree by an older copy brings the older text back."""
    memory.write("a.md", "first heron")
    memory.write("b.md", "second heron")
    shutil.copytree(memory.file("."), tmp_path / "backup")
    memory.write("a.md", "osprey")
    memory.delete("b.md")
    assert memory.paths("heron") == []
    shutil.rmtree(memory.file("."))
    shutil.copytree(tmp_path / "backup", memory.file("."))
    memory.clock.now += 2
    assert memory.paths("heron") == ["a.md", "b.md"]
    assert memory.paths("osprey") == []


def test_unchanged_documents_are_not_read_again(memory):
    """A comparison reads no document whose stat is what it was."""
    for i in range(30):
        memory.write(f"{i}.md", "zebra")
        os.utime(memory.file(f"{i}.md"), ns=(10**18, 10**18))
    memory.clock.now += 2
    memory.paths("nothing")
    before = memory.source.reads
    memory.clock.now += 2
    memory.paths("nothing")
    assert memory.source.reads == before


def test_an_append_to_a_long_document_keeps_its_passages(memory):
    """Only the end of the document is indexed again."""
    text = "".join(f"Entry {i}: something about topic {i % 17} was said.\n" for i in range(5000))
    memory.write("log.md", text)
    memory.paths("topic")

    def passages():
        with sqlite3.connect(databases(memory)[0]) as connection:
            return {row[0] for row in connection.execute("SELECT id FROM passages")}

    before = passages()
    memory.write("log.md", text + "Entry 5000: the needle.\n")
    found = memory.search("needle").hits[0].passages[0]
    assert "the needle" in found.text
    assert len(passages() - before) <= 2


def test_an_insertion_moves_what_follows(memory):
    """After an edit at the top, the passages below are shown from their new places."""
    body = "".join(f"Entry {i}: word{i} was said at length, and more was said after it.\n" for i in range(300))
    memory.write("log.md", body)
    memory.paths("word250")
    memory.write("log.md", "# A new heading\n\nAnd a new line.\n" + body)
    best = memory.search("word250").hits[0].passages[0]
    assert "Entry 250: word250" in best.text
    lines = memory.file("log.md").read_text().splitlines()
    assert lines[best.line - 1] in best.text


@pytest.mark.parametrize("damage", [b"", b"this is no database", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_index_is_rebuilt(memory, damage):
    """Whatever the file holds, the search answers, and the index comes back."""
    memory.write("a.md", "osprey")
    memory.paths("osprey")
    memory.index.close()
    for file in databases(memory):
        file.write_bytes(damage)
    with Memory(memory.source.root) as again:
        assert again.paths("osprey") == ["a.md"]
        assert again.index.stats(ALICE).documents == 1
        assert again.paths("osprey") == ["a.md"]


def test_pages_damaged_in_the_middle_are_noticed(memory):
    """Damage that only shows while searching makes the answer come from the files."""
    for i in range(300):
        memory.edit(f"{i}.md", f"osprey number {i} " + "with many different words " * 20)
    memory.paths("osprey")
    memory.index.close()
    file = databases(memory)[0]
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    file.write_bytes(content)
    with Memory(memory.source.root) as again:
        assert len(again.paths("osprey")) == 5
        assert again.index.stats(ALICE).documents == 300


def test_a_deleted_index_comes_back(memory):
    """Deleting the index folder while it is open loses nothing."""
    memory.write("a.md", "osprey")
    memory.paths("osprey")
    shutil.rmtree(memory.source.index_folder(ALICE))
    assert memory.paths("osprey") == ["a.md"]
    shutil.rmtree(memory.source.index_folder(ALICE))
    memory.write("b.md", "osprey")
    assert memory.paths("osprey") == ["a.md", "b.md"]
    assert len(databases(memory)) == 1


def test_an_index_of_another_format_is_rebuilt(memory):
    """An index that an older or newer version made isn't trusted."""
    memory.write("a.md", "osprey")
    memory.paths("osprey")
    old = databases(memory)[0]
    pointer = memory.source.index_folder(ALICE) / "current"
    pointer.write_text("999 " + pointer.read_text().partition(" ")[2])
    assert memory.paths("osprey") == ["a.md"]
    assert databases(memory) != [old]


def test_search_answers_from_the_files_while_there_is_no_index(tmp_path):
    """Without waiting for the build, a search reads the files: same documents, same rules."""
    with Memory(tmp_path, build_wait_seconds=0) as memory:
        memory.edit("notes/a.md", "She was running with Élodie.")
        memory.edit("notes/zh.md", "我喜欢喝绿茶")
        memory.edit("notes/skipped.md", "running")
        memory.edit("notes/binary.md", b"running \xff")
        memory.source.metadata["notes/skipped.md"] = {"skip_indexing": True}
        lock = IndexFolder(str(memory.source.index_folder(ALICE)))
        with lock.locked("build.lock", 0) as held:
            assert held
            assert memory.paths("runs") == ["notes/a.md"]
            assert memory.paths("elodie") == ["notes/a.md"]
            assert memory.paths("茶") == ["notes/zh.md"]
            assert memory.paths("runs", path_prefix="other/") == []
            assert memory.paths("runs", exclude=("NOTES/",)) == []
            assert databases(memory) == []


def test_a_folder_that_takes_no_note_is_made_up_for(memory):
    """When the note of a change is lost, noting doesn't raise, and the next search compares everything."""
    memory.write("a.md", "heron")
    memory.paths("heron")
    pending = memory.source.index_folder(ALICE) / "pending"
    pending.unlink()
    pending.mkdir()
    memory.write("a.md", "osprey")
    assert memory.paths("osprey") == ["a.md"]


def test_the_list_of_changes_is_started_anew(memory):
    """The pending file doesn't grow without end, and no change is lost when it starts anew."""
    memory.write("a.md", "heron")
    memory.paths("heron")
    pending = memory.source.index_folder(ALICE) / "pending"
    pending.write_bytes(b"a.md\n" * (PENDING_BYTES // 5 + 1))
    memory.write("a.md", "osprey")
    assert memory.paths("osprey") == ["a.md"]
    assert not pending.exists()
    memory.write("a.md", "kestrel")
    assert memory.paths("kestrel") == ["a.md"]
    assert pending.stat().st_size == len("a.md\n")


def test_torn_lines_in_the_list_of_changes_are_ignored(memory):
    """A line that isn't a path, or has no end, harms nothing."""
    memory.write("a.md", "osprey")
    memory.paths("osprey")
    with (memory.source.index_folder(ALICE) / "pending").open("ab") as file:
        file.write(b"../escape\n\xff\xfe\n\nhalf a li")
    assert memory.paths("osprey") == ["a.md"]
    memory.write("b.md", "osprey")
    memory.clock.now += 2
    assert memory.paths("osprey") == ["a.md", "b.md"]


def test_erase_leaves_no_bytes(memory):
    """After an erasure no file of the index holds anything, and the scope can be used again."""
    memory.write("canary-path.md", "canaryword canaryword")
    memory.paths("canaryword")
    shutil.rmtree(memory.file("."))
    memory.index.erase(ALICE)
    assert memory.index_files() == []
    assert memory.paths("canaryword") == []
    memory.write("new.md", "osprey")
    assert memory.paths("osprey") == ["new.md"]


def test_a_deleted_document_leaves_no_text_in_the_index(memory):
    """Words are never in the index's files, and a deleted path is overwritten in the database."""
    memory.write("secretive-name.md", "canaryword is the password")
    memory.write("other.md", "osprey")
    assert memory.paths("canaryword") == ["secretive-name.md"]
    memory.delete("secretive-name.md")
    assert memory.paths("canaryword") == []
    memory.index.close()
    for file in memory.index_files():
        assert b"canaryword" not in file.read_bytes()
    assert b"secretive-name" not in databases(memory)[0].read_bytes()


def test_index_files_are_private(memory):
    """Everything in the index folder is for the owner alone."""
    memory.write("a.md", "osprey")
    memory.paths("osprey")
    assert {file.name: oct(file.stat().st_mode & 0o077) for file in memory.index_files()} == {
        file.name: "0o0" for file in memory.index_files()
    }


def test_many_scopes_keep_few_files_open(tmp_path):
    """Only the scopes used last keep their database open; the others still answer."""
    with Memory(tmp_path, open_scopes=4) as memory:
        for i in range(30):
            scope = Scope("acme", f"user{i}")
            folder = memory.source.folder(scope)
            folder.mkdir(parents=True)
            (folder / "a.md").write_text(f"zebra {i}")
            memory.index.note_changed(scope, DocumentPath("a.md"))
            assert memory.index.search(scope, SearchQuery("zebra")).hits
        open_files = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_link(fd)]
        assert sum(str(tmp_path) in name and name.endswith(".sqlite") for name in open_files) <= 4


def _is_link(fd):
    return os.path.lexists(f"/proc/self/fd/{fd}")


def test_threads_search_and_write_together(memory):
    """Sixteen threads that write and search one scope get no error, and each finds its own writes."""

    def work(number):
        for i in range(15):
            memory.write(f"{number}/{i}.md", f"topic{number}x{i} osprey")
            assert memory.paths(f"topic{number}x{i}")[0] == f"{number}/{i}.md"

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert memory.search("osprey").documents_searched == 240


def test_the_background_follows_hand_edits(tmp_path):
    """With the background thread running, a hand edit is in the index before anyone searches again."""
    settings = {"background_seconds": 0.02, "fresh_seconds": 0.02, "compare_ahead_seconds": 0}
    with Memory(tmp_path, monotonic=time.monotonic, **settings) as memory:
        memory.write("a.md", "heron")
        memory.paths("heron")
        file = databases(memory)[0]
        memory.edit("b.md", "osprey")
        deadline = time.monotonic() + 10
        paths = []
        while "b.md" not in paths and time.monotonic() < deadline:
            with sqlite3.connect(file) as connection:
                paths = [row[0] for row in connection.execute("SELECT path FROM documents")]
            connection.close()
        assert "b.md" in paths


def test_the_background_indexes_what_was_written(tmp_path):
    """With the background thread running, a write is in the index before anyone searches again."""
    with Memory(tmp_path, monotonic=time.monotonic, background_seconds=0.02) as memory:
        memory.write("a.md", "heron")
        memory.paths("heron")
        before = memory.source.reads
        memory.write("b.md", "osprey")
        deadline = time.monotonic() + 10
        while memory.source.reads == before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert memory.source.reads > before


def test_closing_ends_what_waits(tmp_path):
    """An index that is closed right after a write comes to an end, and the next one finds what was written."""
    with Memory(tmp_path, monotonic=time.monotonic, background_seconds=0.02) as memory:
        memory.write("a.md", "heron")
        memory.paths("heron")
        memory.write("b.md", "osprey")
    with Memory(tmp_path) as again:
        assert again.paths("osprey") == ["b.md"]


CHILD = """
import sys
from pathlib import Path
from tests.unit.index_source import Memory
with Memory(Path(sys.argv[1])) as memory:
    for i in range(int(sys.argv[3])):
        memory.write(f"{sys.argv[2]}/{i}.md", f"{sys.argv[2]} word{i} osprey")
        print("noted", i, flush=True)
        if i % 3 == 0:
            assert memory.paths(f"{sys.argv[2]} word{i}")
"""


def child(root, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(root), name, str(count)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}/service:{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def noted(process):
    """Yield the number of each write as soon as the process has noted it; the log's lines stand between."""
    for line in process.stdout:
        if line.startswith("noted "):
            yield int(line.split()[1])


def test_a_write_of_another_process_is_found_at_once(memory):
    """Processes share one index: what one has written, the next search of another finds."""
    memory.paths("osprey")
    with child(memory.source.root, "b", 40) as other:
        for number in noted(other):
            assert f"b/{number}.md" in memory.paths(f"b word{number}", limit=100)
    assert other.returncode == 0
    assert memory.search("osprey").documents_searched == 40


def test_a_killed_process_leaves_a_sound_index(memory):
    """SIGKILL in the middle of writing and indexing loses no acknowledged write and blocks nobody."""
    for round_number in range(3):
        name = f"r{round_number}"
        with child(memory.source.root, name, 100_000) as other:
            last = -1
            for last in noted(other):
                if last == 25 + 7 * round_number:
                    other.send_signal(signal.SIGKILL)
                    break
        for i in range(last + 1):
            assert f"{name}/{i}.md" in memory.paths(f"{name} word{i}", limit=100)
    with sqlite3.connect(databases(memory)[0]) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_the_parent_of_a_fork_keeps_its_connections(memory):
    """A forked child opens its own database and answers like its parent."""
    memory.write("a.md", "osprey")
    assert memory.paths("osprey") == ["a.md"]
    assert threading.active_count() >= 1
    child_pid = os.fork()
    if child_pid == 0:
        try:
            os._exit(0 if memory.paths("osprey") == ["a.md"] else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child_pid, 0)[1]) == 0
    assert memory.paths("osprey") == ["a.md"]


def test_a_stopped_indexer_does_not_stop_searches(memory, monkeypatch):
    """While another process sits on the lock, a search answers from the files, the latest write included."""
    monkeypatch.setattr("ironclaw_memory.index.upkeep.LOCK_SECONDS", 0.05)
    memory.write("a.md", "osprey")
    assert memory.paths("osprey") == ["a.md"]
    folder = IndexFolder(str(memory.source.index_folder(ALICE)))
    with folder.locked("write.lock", 0):
        memory.write("b.md", "osprey")
        assert memory.paths("osprey") == ["a.md", "b.md"]
    assert memory.search("osprey").documents_searched == 2


def test_an_erasure_during_a_build_wins(memory):
    """An index that was being built when its scope was erased isn't put in use afterwards."""
    memory.write("canary-path.md", "osprey")
    folder = IndexFolder(str(memory.source.index_folder(ALICE)))
    file = folder.new_name()
    Path(file).touch()
    memory.index.erase(ALICE)
    folder.publish(file)
    assert memory.index_files() == []


def test_a_search_survives_the_closing_of_its_scope(tmp_path):
    """Threads whose scope is pushed out by others' scopes still get right answers."""
    with Memory(tmp_path, open_scopes=1) as memory:
        scopes = [Scope("acme", f"user{i}") for i in range(4)]

        def work(scope):
            for i in range(10):
                file = memory.source.folder(scope) / f"{i}.md"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"zebra{i}")
                memory.index.note_changed(scope, DocumentPath(f"{i}.md"))
                assert memory.index.search(scope, SearchQuery(f"zebra{i}")).hits

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, scopes))


def test_stats_tell_what_is_indexed(memory):
    """Documents, bytes, passages and age follow the documents."""
    memory.write("a.md", "osprey")
    memory.write("b.md", "heron\n\n# Two\n\nmore\n")
    stats = memory.index.stats(ALICE)
    assert (stats.documents, stats.bytes, stats.passages, stats.age_seconds) == (2, 25, 3, 0.0)
    assert stats.index_bytes > 0
    memory.clock.now += 1
    assert memory.index.stats(ALICE).age_seconds == 1.0
    memory.delete("a.md")
    assert memory.index.stats(ALICE).documents == 1
