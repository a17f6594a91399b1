"""Links that someone planted inside a scope never lead out of it, whichever call meets them."""

from __future__ import annotations

import pytest

from ironclaw_memory.contract.faults import DocumentMissing, PathConflict, StorageUnavailable
from ironclaw_memory.contract.path import DocumentPath, FolderPath
from ironclaw_memory.store import DocumentStore, StoreLimits
from tests.store.workbench import SCOPE, next_tick

pytestmark = pytest.mark.usefixtures("way")


@pytest.fixture
def outside(tmp_path):
    """A folder outside the data directory, with a file that nobody may see or change."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_bytes(b"secret")
    return folder


@pytest.fixture(params=["document", "folder", "ancestor"])
def planted(request, bench, outside):
    """The path of a document that only a link leads to, and where the link starts."""
    bench.put("a/b/doc.md", b"inside")
    if request.param == "document":
        (bench.documents / "a/b/secret.md").symlink_to(outside / "secret.md")
        return "a/b/secret.md"
    if request.param == "folder":
        (bench.documents / "a/b/out").symlink_to(outside)
        return "a/b/out/secret.md"
    (outside / "deep").mkdir()
    (outside / "deep/secret.md").write_bytes(b"secret")
    (bench.documents / "out").symlink_to(outside)
    return "out/deep/secret.md"


def test_nothing_is_read_through_a_link(bench, planted):
    """There is no such document."""
    with pytest.raises(DocumentMissing):
        bench.read(planted)


@pytest.mark.parametrize("content", [b"changed", lambda old: (old or b"") + b"more"])
def test_nothing_is_written_through_a_link(bench, planted, outside, content):
    """A write is a conflict; what the link leads to is untouched, and nothing appears beside it."""
    before = sorted(str(file) for file in outside.rglob("*"))
    with pytest.raises(PathConflict):
        bench.put(planted, content)
    assert (outside / "secret.md").read_bytes() == b"secret"
    assert sorted(str(file) for file in outside.rglob("*")) == before
    assert bench.names() == ["a/b/doc.md"]


def test_nothing_is_deleted_through_a_link(bench, planted, outside):
    """Deleting a document that a link imitates leaves the link's target alone."""
    with pytest.raises((PathConflict, DocumentMissing)):
        bench.decide(planted, _delete)
    assert (outside / "secret.md").exists()


def _delete(before):
    raise DocumentMissing if before.content is None else AssertionError("it was read through the link")


def test_no_walk_follows_or_shows_a_link(bench, planted):
    """Tree, listing and count know only what is really inside."""
    entries, _ = bench.store.tree(SCOPE, FolderPath(""), 10, 100)
    assert "secret" not in str(entries)
    assert "out" not in str(entries)
    assert bench.names() == ["a/b/doc.md"]
    folder = planted.rpartition("/")[0]
    if folder != "a/b":
        assert bench.store.tree(SCOPE, FolderPath(folder), 1, 10) == ((), False)
    assert bench.store.usage(SCOPE) == (1, 6)


def test_metadata_is_not_read_through_a_link(bench, planted, outside):
    """A `.config` outside doesn't govern anything inside."""
    bench.put(".config", b"{}", metadata={"k": 1})
    (outside / ".config").write_bytes(b"{}")
    assert bench.store.effective_metadata(SCOPE, DocumentPath(planted)) == {"k": 1}


@pytest.mark.parametrize("part", ["documents", "history", "metadata", "requests", "locks"])
def test_a_link_in_place_of_a_part_of_the_scope_is_not_followed(bench, outside, part):
    """Neither a running store nor a fresh one reads or writes through it."""
    bench.put("a.md", b"one", metadata={"k": 1})
    (bench.root / part).rename(outside / part)
    (bench.root / part).symlink_to(outside / part)
    before = {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()}
    for store in (bench.store, DocumentStore(bench.data_dir, StoreLimits())):
        bench.store = store
        with pytest.raises(PathConflict):
            bench.put("a.md", b"two")
        with pytest.raises(StorageUnavailable):
            bench.read("a.md")
    assert {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()} == before


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("part", ["documents", "history", "metadata", "requests", "locks"])
def test_a_part_that_was_replaced_is_seen_at_once(bench, outside, part):
    """Also when the scope's folder has been recognised without a look at its parts."""
    for content in (b"one", b"two"):
        bench.put("a.md", content)
        bench.read("a.md")
    next_tick(bench.root / part)
    (bench.root / part).rename(outside / part)
    (bench.root / part).symlink_to(outside / part)
    before = {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()}
    with pytest.raises(PathConflict):
        bench.put("a.md", b"three")
    assert {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()} == before


@pytest.mark.usefixtures("settled")
def test_a_link_in_place_of_the_scope_is_not_followed(bench, outside):
    """A scope that was moved away and linked to is no scope any more, for a running store as for a fresh one."""
    bench.put("a.md", b"one")
    bench.root.rename(outside / "notes")
    bench.root.symlink_to(outside / "notes")
    for store in (bench.store, DocumentStore(bench.data_dir, StoreLimits())):
        bench.store = store
        with pytest.raises(DocumentMissing):
            bench.read("a.md")
        with pytest.raises(PathConflict):
            bench.put("a.md", b"two")
    assert (outside / "notes/documents/a.md").read_bytes() == b"one"
