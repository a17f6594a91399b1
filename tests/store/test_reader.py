"""Reading again what was read before: spared is only what can't have changed."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime

import pytest

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.faults import DocumentMissing
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.store import DocumentStore, StoreLimits, reader
from ironclaw_memory.store.history import History, Replaced
from ironclaw_memory.store.layout import log_name
from tests.store.workbench import SCOPE, Workbench, next_tick

PATH = DocumentPath("a/b/n.md")


def _read(bench):
    found = bench.store.read_document(SCOPE, PATH)
    assert found.sha256 == hashlib.sha256(found.content).hexdigest()
    return found.content, found.version


@pytest.fixture
def known(bench, settled):
    """A document with one version that the store has read, and reads again, as it is."""
    bench.put(PATH.text, b"one")
    bench.put(PATH.text, b"two")
    assert _read(bench) == _read(bench) == (b"two", 1)
    next_tick(bench.documents)
    return bench


def test_an_untouched_document_costs_no_look_at_its_history(known):
    """The number is known from the first read; a history taken away by hand shows at the next change."""
    known.log_file().unlink()
    assert _read(known) == (b"two", 1)
    known.put(PATH.text, b"three", keep_version=False)
    assert _read(known) == (b"three", 0)


@pytest.mark.usefixtures("unsettled")
def test_a_stat_that_proves_nothing_is_not_relied_on(bench):
    """A file changed a moment ago may change again without a trace in its times: all is looked up."""
    bench.put(PATH.text, b"one")
    bench.put(PATH.text, b"two")
    assert _read(bench) == (b"two", 1)
    bench.log_file().unlink()
    assert _read(bench) == (b"two", 0)


def test_an_edit_in_place_is_seen(known):
    """Same file, same size, even the same time of writing: the time of change tells."""
    file = known.documents / PATH.text
    found = file.stat()
    with file.open("r+b") as opened:
        opened.write(b"TWO")
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert _read(known) == (b"TWO", 1)


@pytest.mark.parametrize("content", [b"", b"2", b"two and more"])
def test_an_edit_that_changes_the_size_is_seen(known, content):
    """Shorter, longer or empty."""
    (known.documents / PATH.text).write_bytes(content)
    assert _read(known) == (content, 1)


def test_a_file_put_in_its_place_is_seen(known):
    """An editor that saves a new file under the old name, with the old size and time."""
    file = known.documents / PATH.text
    found = file.stat()
    fresh = file.with_name("fresh")
    fresh.write_bytes(b"TWO")
    os.utime(fresh, ns=(found.st_atime_ns, found.st_mtime_ns))
    fresh.rename(file)
    assert _read(known) == (b"TWO", 1)


def test_what_another_process_changes_is_seen(known):
    """Two stores on one directory, as two processes have them."""
    other = Workbench(known.data_dir.path)
    for number, content in enumerate((b"333", b"444", b"555"), start=2):
        other.put(PATH.text, content)
        next_tick(known.documents)
        assert _read(known) == _read(other) == (content, number)


def test_a_delete_and_a_purge_are_seen(known):
    """Nothing is there, and what is written then has no history."""
    known.put(PATH.text, None, purge_versions=True)
    with pytest.raises(DocumentMissing):
        _read(known)
    known.put(PATH.text, b"two")
    assert _read(known) == (b"two", 0)


def test_a_link_in_its_place_is_seen(known):
    """A name that leads elsewhere leads nowhere, though the bytes there are the same file's."""
    file = known.documents / PATH.text
    aside = file.with_name("aside.md")
    file.rename(aside)
    file.symlink_to(aside)
    with pytest.raises(DocumentMissing):
        _read(known)


def test_one_file_under_two_names_has_two_histories(known):
    """A hard link made by hand: each name has its own number."""
    (known.documents / "other.md").hardlink_to(known.documents / PATH.text)
    for _ in range(2):
        assert known.store.read_document(SCOPE, DocumentPath("other.md")).version == 0
        assert _read(known) == (b"two", 1)


def test_a_number_that_may_be_taken_back_is_not_remembered(known):
    """While a change keeps what it will replace, a read may see the next number; when the change fails it is gone."""
    found = known.store.read_document(SCOPE, PATH)
    modified_ns = (known.documents / PATH.text).stat().st_mtime_ns
    folder = os.open(known.root / "history", os.O_RDONLY)
    history = History(folder, log_name(PATH))
    sha256 = bytes.fromhex(found.sha256)
    pending = history.append_locked(
        Replaced(PATH.text, found.content, sha256, modified_ns, "replaced", datetime.now(UTC))
    )
    fresh = DocumentStore(known.data_dir, StoreLimits())
    assert fresh.read_document(SCOPE, PATH).version == 2
    pending.take_back()
    history.close()
    os.close(folder)
    assert fresh.read_document(SCOPE, PATH).version == 1


def test_metadata_and_trimming_leave_the_number(tmp_path, settled):
    """What changes neither the bytes nor the count of versions changes nothing for a reader."""
    bench = Workbench(tmp_path / "data", StoreLimits(version_count=4))
    for number in range(9):
        bench.put(PATH.text, b"%d" % number)
        assert _read(bench) == (b"%d" % number, number)
    bench.put(PATH.text, b"8", metadata={"k": 1})
    assert _read(bench) == (b"8", 8)


def test_what_is_known_is_bounded_and_forgotten_with_its_scope(known, monkeypatch):
    """The oldest goes first; of an erased scope nothing stays."""
    monkeypatch.setattr(reader, "MAX_KNOWN", 2)
    for number in range(5):
        known.put(f"{number}.md", b"%d" % number)
        known.read(f"{number}.md")
    kept = known.store._reader._known
    assert [path.text for _, path in kept] == ["3.md", "4.md"]
    known.store.erase_scope(SCOPE, deadline=Deadline.after(20))
    assert kept == {}
