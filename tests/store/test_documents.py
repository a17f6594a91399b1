"""The store's face: what is written is read, what is refused changes nothing, what is listed is there."""

from __future__ import annotations

import os
import shutil
import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import NOTHING, Change, DocumentStat
from ironclaw_memory.contract.faults import (
    CallCancelled,
    CasExhausted,
    DeadlineExceeded,
    DocumentMissing,
    DocumentTooLarge,
    PathConflict,
    ScopeQuota,
    StorageUnavailable,
)
from ironclaw_memory.contract.path import DocumentPath, FolderPath, parse_document_path
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store import DocumentStore, StoreLimits
from tests.store.workbench import SCOPE, Workbench, next_tick

SEGMENTS = st.text(min_size=1, max_size=12)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One store for the generated cases, which use names of their own."""
    return Workbench(tmp_path_factory.mktemp("shared") / "data")


@given(content=st.binary(max_size=4096), again=st.binary(max_size=4096))
def test_what_is_written_is_read_byte_for_byte(shared, content, again):
    """Any bytes come back as they were, after a create and after a replace."""
    for each in (content, again):
        committed = shared.put("any/bytes.md", each)
        document = shared.store.read_document(SCOPE, DocumentPath("any/bytes.md"))
        assert document.content == each
        assert document.sha256 == committed.sha256
        assert committed.size_bytes == len(each)


@given(st.lists(SEGMENTS, min_size=1, max_size=3))
def test_every_legal_path_is_stored_under_its_own_name(shared, segments):
    """A path that the grammar accepts is written, listed and read under exactly that name."""
    try:
        path = parse_document_path("/".join(("named", *segments, "end")))
    except Exception:
        return
    shared.put(path.text, b"x")
    assert shared.documents.joinpath(path.text).read_bytes() == b"x"
    assert path.text in shared.names()
    shared.put(path.text, None)
    assert path.text not in shared.names()


def test_hand_edits_are_read_at_once(bench):
    """A file that a person made or changed is a document, without any call in between."""
    bench.put("a.md", b"one")
    (bench.documents / "a.md").write_bytes(b"by hand")
    (bench.documents / "new").mkdir()
    (bench.documents / "new/b.md").write_bytes(b"made by hand")
    assert bench.read("a.md") == b"by hand"
    assert bench.read("new/b.md") == b"made by hand"
    assert bench.append("new/b.md", b"!").size_bytes == 13


def test_files_are_private(bench):
    """Folders are 0700 and files 0600, all the way, whatever the umask."""
    before = os.umask(0)
    try:
        bench.put("a/b.md", b"one", metadata={"k": 1})
        bench.put("a/b.md", b"two")
    finally:
        os.umask(before)
    for file in bench.data_dir.path.rglob("*"):
        expected = 0o700 if file.is_dir() else 0o600
        assert stat.S_IMODE(file.stat().st_mode) == expected, file


def test_the_same_content_again_writes_nothing(bench):
    """A replace by what is there leaves the file, its time and its versions alone."""
    bench.put("a.md", b"one")
    before = (bench.documents / "a.md").stat()
    committed = bench.put("a.md", b"one")
    after = (bench.documents / "a.md").stat()
    assert not committed.changed
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert bench.versions("a.md") == []


def test_a_missing_document_is_missing(bench):
    """Neither a scope that was never written nor a name that isn't there is taken for an empty document."""
    for path in ("a.md", "a/b/c.md"):
        with pytest.raises(DocumentMissing):
            bench.read(path)
        bench.put("other.md", b"x")


def test_documents_of_different_scopes_never_meet(bench):
    """A write in one scope isn't seen in a scope that differs on one axis, nor in one that lacks it."""
    bench.put("a.md", b"x")
    for other in (Scope("acme", "ada"), Scope("acme", "eve", None, "notes"), Scope("acme", "ada", "notes", "notes")):
        with pytest.raises(DocumentMissing):
            bench.store.read_document(other, DocumentPath("a.md"))
        assert list(bench.store.list_documents(other)) == []


def test_a_refused_change_leaves_no_trace(bench):
    """What decide raises reaches the caller, and nothing was written: no document, no folder, no version."""

    def refuse(before):
        raise DocumentMissing

    with pytest.raises(DocumentMissing):
        bench.decide("deep/er/a.md", refuse)
    assert list(bench.documents.iterdir()) == []


def test_a_document_over_the_limit_is_refused_and_the_old_one_stays(tmp_path):
    """One byte too many changes nothing; the limit itself is allowed."""
    bench = Workbench(tmp_path / "data", StoreLimits(document_bytes=10))
    bench.put("a.md", b"x" * 10)
    with pytest.raises(DocumentTooLarge) as refused:
        bench.put("a.md", b"x" * 11)
    assert refused.value.details == {"size_bytes": "11", "limit_bytes": "10"}
    assert bench.read("a.md") == b"x" * 10
    assert bench.versions("a.md") == []


@pytest.mark.parametrize(
    ("first", "second"), [("a.md", "a.md/b.md"), ("a.md", "a.md/b/c.md"), ("a.md/b.md", "a.md"), ("a/b/c", "a/b")]
)
def test_a_document_and_a_folder_cannot_share_a_name(bench, first, second):
    """The second of the two is a conflict, whichever it is, and the first stays."""
    bench.put(first, b"first")
    with pytest.raises(PathConflict):
        bench.put(second, b"second")
    assert bench.read(first) == b"first"
    assert bench.files() == [first]
    with pytest.raises(DocumentMissing):
        bench.read(second)


def test_names_that_differ_by_case_conflict_where_the_file_system_cannot_tell(bench):
    """On such a file system the second spelling is refused, for documents and for folders on the way."""
    store = DocumentStore(type(bench.data_dir)(bench.data_dir.path, ignores_case=True), StoreLimits())
    bench.store = store
    bench.put("Notes/alpha.md", b"x")
    for other in ("Notes/Alpha.md", "notes/beta.md"):
        with pytest.raises(PathConflict):
            bench.put(other, b"y")
    bench.put("Notes/alpha.md", b"z")
    assert bench.read("Notes/alpha.md") == b"z"


def test_a_deleted_document_is_gone_with_its_empty_folders(bench):
    """A delete removes the file and the folders that held nothing else; its versions stay until they are purged."""
    bench.put("a/b/c.md", b"one", metadata={"k": 1})
    bench.put("a/d.md", b"x")
    committed = bench.put("a/b/c.md", None)
    assert (committed.sha256, committed.size_bytes, committed.version) == ("", 0, 1)
    assert bench.files() == ["a/d.md"]
    assert not (bench.documents / "a/b").exists()
    assert bench.version("a/b/c.md", 1) == b"one"
    assert bench.store.metadata(SCOPE, DocumentPath("a/b/c.md"))[0] == {}
    bench.put("a/d.md", None)
    assert list(bench.documents.iterdir()) == []


def test_deleting_nothing_is_no_change(bench):
    """When the caller's decision on an absent document is absence, nothing happens and nothing fails."""
    assert not bench.put("a.md", None).changed


def test_a_document_made_again_has_none_of_the_old_metadata(bench):
    """Metadata goes with its document, also when a person removed the file by hand."""
    bench.put("a.md", b"one", metadata={"read_only": True})
    (bench.documents / "a.md").unlink()
    assert bench.store.metadata(SCOPE, DocumentPath("a.md"))[0] == {}
    bench.put("a.md", b"two")
    assert bench.store.metadata(SCOPE, DocumentPath("a.md"))[0] == {}


def test_a_change_is_decided_again_when_a_person_edits_meanwhile(bench):
    """An edit saved between the read and the commit isn't overwritten: the append starts from it."""
    bench.put("a.md", b"one\n")
    edits = iter([b"edited\n"])

    def decide(before):
        for edit in edits:
            (bench.documents / "a.md").write_bytes(edit)
        return Change(before.content + b"appended\n")

    bench.decide("a.md", decide)
    assert bench.read("a.md") == b"edited\nappended\n"
    assert bench.version("a.md", 1) == b"edited\n"
    assert bench.versions("a.md") == [1]
    assert bench.files() == ["a.md"]


def test_a_document_that_changes_under_every_try_is_given_up(bench):
    """After 8 tries the caller hears so, the person's text stays, and no version or temporary is left."""
    bench.put("a.md", b"one")
    tries = []

    def decide(before):
        tries.append(before.content)
        (bench.documents / "a.md").write_bytes(b"edit %d" % len(tries))
        return Change(b"ours")

    with pytest.raises(CasExhausted):
        bench.decide("a.md", decide)
    assert len(tries) == 8
    assert bench.read("a.md") == b"edit 8"
    assert bench.versions("a.md") == []
    assert bench.files() == ["a.md"]


def test_a_document_that_a_person_makes_meanwhile_is_not_overwritten(bench):
    """A create that finds a file of its name at the last look decides again."""

    def decide(before):
        if before.content is None:
            bench.documents.mkdir(exist_ok=True)
            (bench.documents / "a.md").write_bytes(b"theirs\n")
        return Change((before.content or b"") + b"ours\n")

    bench.decide("a.md", decide)
    assert bench.read("a.md") == b"theirs\nours\n"


@pytest.mark.parametrize(
    ("seconds", "is_gone", "fault"),
    [
        (0, False, DeadlineExceeded),
        (60, True, CallCancelled),
    ],
)
@pytest.mark.parametrize("content", [b"two", None])
def test_a_call_that_is_over_before_its_commit_point_changes_nothing(bench, seconds, is_gone, fault, content):
    """Neither a late call nor one whose caller left has any effect, not even a version or a folder."""
    deadline = Deadline.after(seconds, cancelled=lambda: is_gone)
    bench.put("a.md", b"one")
    with pytest.raises(fault):
        bench.store.change_document(SCOPE, DocumentPath("a.md"), lambda _: Change(content), deadline=deadline)
    with pytest.raises(fault):
        bench.store.change_document(SCOPE, DocumentPath("n/b.md"), lambda _: Change(b"new"), deadline=deadline)
    assert bench.files() == ["a.md"]
    assert bench.read("a.md") == b"one"
    assert bench.versions("a.md") == []
    assert not (bench.documents / "n").exists()
    assert bench.store.usage(SCOPE) == (1, 3)


# Many documents


def test_the_tree_shows_folders_first_each_sorted(bench):
    """Folders come before documents, both by code point, and depth bounds what is opened."""
    for path in ("b.md", "a.md", "notes/z.md", "notes/deep/y.md", "daily/d.md"):
        bench.put(path, b"x")
    entries, truncated = bench.store.tree(SCOPE, FolderPath(""), 1, 100)
    assert [(entry.name, entry.is_folder, entry.children) for entry in entries] == [
        ("daily", True, None),
        ("notes", True, None),
        ("a.md", False, None),
        ("b.md", False, None),
    ]
    assert not truncated
    notes, _ = bench.store.tree(SCOPE, FolderPath("notes"), 3, 100)
    assert [entry.name for entry in notes] == ["deep", "z.md"]
    assert [entry.name for entry in notes[0].children] == ["y.md"]


def test_an_unknown_folder_is_an_empty_tree(bench):
    """A scope without documents, a folder that isn't there, and a document's name are empty trees."""
    assert bench.store.tree(SCOPE, FolderPath(""), 3, 10) == ((), False)
    bench.put("a.md", b"x")
    for folder in ("nowhere", "no/where", "a.md", "a.md/b"):
        assert bench.store.tree(SCOPE, FolderPath(folder), 3, 10) == ((), False)


def test_a_tree_stops_at_its_limit_and_says_so(bench):
    """At most so many entries come back, and the caller hears that there is more."""
    for number in range(10):
        bench.put(f"f/{number}.md", b"x")
    ((folder,), truncated) = bench.store.tree(SCOPE, FolderPath(""), 2, 5)
    assert (len(folder.children), truncated) == (4, True)
    _, truncated = bench.store.tree(SCOPE, FolderPath(""), 2, 11)
    assert not truncated


def test_only_documents_are_listed(bench):
    """Temporaries, links, pipes, and names that no document may have are in no listing, tree or count."""
    bench.put("a/b.md", b"four")
    folder = bench.documents / "a"
    (folder / ".ironclaw-0123456789abcdef0123456789abcdef.tmp").write_bytes(b"half")
    (folder / "link.md").symlink_to("b.md")
    (folder / "x.meta").write_bytes(b"x")
    (folder / "back\\slash").write_bytes(b"x")
    (folder / "e\u0301.md").write_bytes(b"x")
    (folder / os.fsdecode(b"latin\xe9.md")).write_bytes(b"x")
    (bench.documents / "~").mkdir()
    (bench.documents / "~/home.md").write_bytes(b"x")
    os.mkfifo(folder / "pipe.md")
    (found,) = bench.store.list_documents(SCOPE)
    at = (folder / "b.md").stat()
    assert found == DocumentStat(DocumentPath("a/b.md"), 4, at.st_mtime_ns, at.st_ino)
    entries, _ = bench.store.tree(SCOPE, FolderPath(""), 3, 100)
    assert [[child.name for child in entry.children] for entry in entries] == [["b.md"]]
    assert bench.store.usage(SCOPE) == (1, 4)
    with pytest.raises(DocumentMissing):
        bench.read("a/pipe.md")


# Quota


def test_a_scope_takes_no_more_documents_than_its_limit(tmp_path):
    """The document too many is refused; a delete makes room again, and replacing needs none."""
    bench = Workbench(tmp_path / "data", StoreLimits(scope_documents=2))
    bench.put("a.md", b"x")
    bench.put("b.md", b"x")
    with pytest.raises(ScopeQuota) as refused:
        bench.put("c.md", b"x")
    assert refused.value.details == {"quota": "documents", "limit": "2"}
    bench.put("a.md", b"longer")
    bench.put("b.md", None)
    bench.put("c.md", b"x")
    assert bench.names() == ["a.md", "c.md"]


def test_a_scope_takes_no_more_bytes_than_its_limit(tmp_path):
    """Growing past the limit is refused and shrinking never is, also when files were put there by hand."""
    bench = Workbench(tmp_path / "data", StoreLimits(scope_bytes=100))
    bench.put("a.md", b"x" * 60)
    with pytest.raises(ScopeQuota):
        bench.append("a.md", b"x" * 41)
    (bench.documents / "hand.md").write_bytes(b"x" * 80)
    bench.store.usage(SCOPE)
    bench.put("a.md", b"x" * 10)
    with pytest.raises(ScopeQuota):
        bench.append("a.md", b"x" * 11)
    (bench.documents / "hand.md").unlink()
    bench.append("a.md", b"x" * 90)
    assert bench.store.usage(SCOPE) == (1, 100)


def test_a_lost_or_damaged_tally_comes_back(tmp_path):
    """The tally is derived: without it, or with garbage in its place, the limit still holds."""
    bench = Workbench(tmp_path / "data", StoreLimits(scope_documents=2))
    bench.put("a.md", b"x")
    for damage in (lambda file: file.unlink(), lambda file: file.write_bytes(b"garbage" * 9)):
        damage(bench.root / "usage")
        bench.put("b.md", b"x")
        with pytest.raises(ScopeQuota):
            bench.put("c.md", b"x")
        bench.put("b.md", None)


def test_writers_side_by_side_do_not_pass_the_limit_together(tmp_path):
    """Of 16 threads that each make a document, exactly as many succeed as there is room."""
    bench = Workbench(tmp_path / "data", StoreLimits(scope_documents=5))
    bench.put("first.md", b"x")
    refused = []

    def make(number):
        try:
            bench.put(f"{number}.md", b"x")
        except ScopeQuota:
            refused.append(number)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(bench.names()), len(refused)) == (5, 12)


# Metadata


def test_metadata_is_kept_with_the_document(bench):
    """Own metadata is stored whole, replaced whole, left alone by None, and removed by an empty object."""
    path = DocumentPath("a.md")
    bench.put("a.md", b"one", metadata={"skip_indexing": True, "x": {"y": [1, "é"]}})
    assert bench.store.metadata(SCOPE, path)[0] == {"skip_indexing": True, "x": {"y": [1, "é"]}}
    bench.put("a.md", b"two")
    assert bench.store.metadata(SCOPE, path)[0]["skip_indexing"] is True
    assert not bench.put("a.md", b"two", metadata={"z": 1}).changed
    assert bench.store.metadata(SCOPE, path)[0] == {"z": 1}
    bench.put("a.md", b"two", metadata={})
    assert bench.store.metadata(SCOPE, path) == ({}, {})
    assert list((bench.root / "metadata").iterdir()) == []


def test_metadata_is_inherited_from_the_nearest_config(bench):
    """The nearest ancestor's `.config` counts, whole; own keys lie over it; a `.config` doesn't inherit from itself."""
    bench.put(".config", b"{}", metadata={"a": 0, "b": 0})
    bench.put("data/.config", b"{}", metadata={"a": 1})
    bench.put("data/x/doc.md", b"x", metadata={"c": 2})
    bench.put("doc.md", b"x")
    effective = bench.store.effective_metadata
    assert effective(SCOPE, DocumentPath("data/x/doc.md")) == {"a": 1, "c": 2}
    assert effective(SCOPE, DocumentPath("data/x/new.md")) == {"a": 1}
    assert effective(SCOPE, DocumentPath("not/yet/there.md")) == {"a": 0, "b": 0}
    assert effective(SCOPE, DocumentPath("doc.md")) == {"a": 0, "b": 0}
    assert bench.store.metadata(SCOPE, DocumentPath("data/.config")) == ({"a": 1}, {"a": 0, "b": 0})
    bench.put("data/.config", None)
    assert effective(SCOPE, DocumentPath("data/x/doc.md")) == {"a": 0, "b": 0, "c": 2}


def test_decide_sees_the_metadata_and_the_version(bench):
    """What a change starts from is given whole: bytes, hash, versions so far, own and inherited metadata."""
    bench.put(".config", b"{}", metadata={"a": 0})
    bench.put("d.md", b"one", metadata={"c": 1})
    bench.put("d.md", b"two")
    seen = []
    bench.decide("d.md", lambda before: seen.append(before) or Change(b"three"))
    (before,) = seen
    assert (before.content, before.version) == (b"two", 1)
    assert (dict(before.own_metadata), dict(before.inherited_metadata)) == ({"c": 1}, {"a": 0})
    assert len(before.sha256) == 64


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"metadata": 3}', b'{"metadata": {}, "pending": 1}', b"\xff"])
def test_metadata_that_cannot_be_parsed_counts_as_absent(bench, damage):
    """A damaged sidecar neither fails a read nor a write, and the next metadata change mends it."""
    bench.put("a.md", b"one", metadata={"k": 1})
    (sidecar,) = (bench.root / "metadata").iterdir()
    sidecar.write_bytes(damage)
    assert bench.store.metadata(SCOPE, DocumentPath("a.md"))[0] == {}
    bench.put("a.md", b"two")
    bench.put("a.md", b"two", metadata={"k": 2})
    assert bench.store.metadata(SCOPE, DocumentPath("a.md"))[0] == {"k": 2}


# The scope as a whole


def test_an_erased_scope_is_empty_and_usable(bench):
    """Erase removes documents, versions, metadata and request ids, not other scopes, and the scope works on."""
    other = Scope("acme", "eve")
    bench.store.change_document(other, DocumentPath("a.md"), lambda _: Change(b"eve"), deadline=Deadline.after(9))
    bench.put("a.md", b"canary-1", metadata={"k": "canary-2"})
    bench.put("a.md", b"canary-3")
    bench.put("b/gone.md", b"canary-4")
    bench.put("b/gone.md", None)
    assert bench.store.erase_scope(SCOPE, deadline=Deadline.after(9)) == (1, 8)
    assert bench.names() == []
    assert bench.versions("a.md") == []
    assert bench.versions("b/gone.md") == []
    assert not any(b"canary" in file.read_bytes() for file in bench.root.rglob("*") if file.is_file())
    assert bench.put("a.md", b"new").version == 0
    assert bench.store.metadata(SCOPE, DocumentPath("a.md"))[0] == {}
    assert bench.store.read_document(other, DocumentPath("a.md")).content == b"eve"


def test_a_restored_backup_is_seen_at_once(bench):
    """A scope whose folder is replaced under a running store is read and written in its new folder."""
    bench.put("a.md", b"old")
    bench.read("a.md")
    aside = bench.root.with_name("aside")
    bench.root.rename(aside)
    with pytest.raises(DocumentMissing):
        bench.read("a.md")
    bench.put("a.md", b"new")
    assert bench.read("a.md") == b"new"
    assert (aside / "documents/a.md").read_bytes() == b"old"


@pytest.mark.parametrize(
    "part", ["documents", "history", "metadata", "requests", "locks", "index", "usage", "scope.json"]
)
def test_a_part_that_was_removed_comes_back(bench, part):
    """Whatever a person deletes beside the documents, the next write works."""
    bench.put("a.md", b"one", metadata={"k": 1})
    target = bench.root / part
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    if part != "documents":
        assert Workbench(bench.data_dir.path).read("a.md") == b"one", "a fresh store needs only the documents"
    bench.put("a.md", b"two")
    assert bench.read("a.md") == b"two"


def test_a_folder_of_other_ids_is_refused(bench):
    """A scope's folder that was restored in another scope's place serves nobody."""
    bench.put("a.md", b"ada's")
    wrong = bench.root.parents[4] / "eve/agents/_none/projects"
    wrong.mkdir(parents=True)
    bench.root.rename(wrong / "notes")
    with pytest.raises(StorageUnavailable):
        bench.store.read_document(Scope("acme", "eve", None, "notes"), DocumentPath("a.md"))


def test_the_index_has_a_folder_beside_the_documents(bench):
    """The folder exists, is private, and is the same on every call; a link in its place is refused."""
    folder = bench.store.index_folder(SCOPE)
    assert folder == bench.root / "index"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()
    folder.symlink_to("/tmp")  # noqa: S108 - never followed, which is the point
    with pytest.raises(StorageUnavailable):
        bench.store.index_folder(SCOPE)


def test_more_scopes_than_are_kept_open_work(bench):
    """Scopes that were closed to make room are opened again, from several threads."""
    scopes = [Scope("acme", f"user-{number}") for number in range(100)]
    path = DocumentPath("a.md")

    def use(part):
        for scope in part:
            bench.store.change_document(
                scope, path, lambda _, scope=scope: Change(scope.user.encode()), deadline=Deadline.after(20)
            )

    threads = [threading.Thread(target=use, args=(scopes[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [bench.store.read_document(scope, path).content.decode() for scope in scopes] == [s.user for s in scopes]
    assert len(os.listdir("/proc/self/fd")) < 600


@pytest.mark.usefixtures("settled")
def test_metadata_that_another_process_sets_is_seen(bench):
    """Its own and inherited, by a store that knew of none, and again when they are taken away."""
    bench.put("a/b/n.md", b"one")
    other = Workbench(bench.data_dir.path)
    path = DocumentPath("a/b/n.md")
    for own, above in ((NOTHING, NOTHING), ({"k": 1}, {"c": 2}), (NOTHING, {"c": 3}), (NOTHING, NOTHING)):
        next_tick(bench.root / "metadata")
        other.put("a/.config", b"", metadata=above)
        other.put("a/b/n.md", b"one", metadata=own)
        assert bench.store.metadata(SCOPE, path) == (own, above)
        before = _before(bench, "a/b/n.md")
        assert (before.own_metadata, before.inherited_metadata) == (own, above)


def _before(bench, path):
    seen = []
    bench.decide(path, lambda before: seen.append(before) or Change(before.content))
    return seen[0]
