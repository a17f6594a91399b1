"""The documents are plain files: what a person or an attacker does in the folder, and what callers see of it."""

from __future__ import annotations

import os
import stat

import pytest

from tests.caller import ADMIN, Refusal, ToolRefusal
from tests.server_process import wait_until
from tests.wire.folder import documents_folder, scope_folder
from tests.wire.refusals import MARKER, check_form, check_silence, refused

SEARCHABLE_SECONDS = 2.0


@pytest.fixture
def documents(caller, server):
    """The folder of the caller's documents, with one document in it."""
    caller.write("n.md", "first")
    return documents_folder(server, caller)


def found(caller, query):
    """Return the paths that a search finds."""
    return [result["path"] for result in caller.tool("search", query=query)["results"]]


def test_files_are_named_as_their_paths(caller, documents):
    """A document is a file of its path and bytes, and nothing else lies beside it."""
    caller.write("会议/周会 记录.md", "一\r\n二")
    assert (documents / "会议" / "周会 记录.md").read_bytes() == "一\r\n二".encode()
    assert sorted(p.name for p in documents.rglob("*")) == ["n.md", "会议", "周会 记录.md"]


def test_modes(caller, documents, server):
    """Files are for their owner alone, and so are folders."""
    caller.write("a/b/c.md", "x", metadata={"k": 1})
    caller.write("a/b/c.md", "y", request_id="r1")
    tenant = server.data_dir / "tenants" / caller.scope["tenant"]
    for path in [server.data_dir, tenant, *tenant.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_hand_edit(caller, documents):
    """An edit by hand is read at once and found within two seconds, and what it replaced isn't found any more."""
    caller.write("n.md", "prefers xylophone")
    assert found(caller, "xylophone") == ["n.md"]
    (documents / "n.md").write_text("prefers marimba")
    assert caller.read("n.md") == "prefers marimba"
    wait_until(lambda: found(caller, "marimba") == ["n.md"], SEARCHABLE_SECONDS, "the edit is found")
    assert found(caller, "xylophone") == []


def test_document_made_by_hand(caller, documents):
    """A file that a person puts there is a document: read, listed, found, changed, deleted."""
    (documents / "notes").mkdir(mode=0o755)
    (documents / "notes" / "hand.md").write_text("made by marimba")
    assert caller.read("notes/hand.md") == "made by marimba"
    assert caller.tree() == [{"notes/": ["hand.md"]}, "n.md"]
    wait_until(lambda: found(caller, "marimba") == ["notes/hand.md"], SEARCHABLE_SECONDS, "the file is found")
    caller.append("notes/hand.md", "and more")
    assert (documents / "notes" / "hand.md").read_text() == "made by marimba\nand more\n"
    caller.call(f"{ADMIN}/DeleteDocument", {"path": "notes/hand.md"})
    assert caller.tree() == ["n.md"]


def test_document_removed_by_hand(caller, documents):
    """A file that a person removes is gone from reads and tree at once, and from search within two seconds."""
    caller.write("n.md", "prefers xylophone")
    assert found(caller, "xylophone") == ["n.md"]
    (documents / "n.md").unlink()
    with refused("NOT_FOUND"):
        caller.read("n.md")
    assert caller.tree() == []
    wait_until(lambda: found(caller, "xylophone") == [], SEARCHABLE_SECONDS, "it isn't found any more")


def test_replaced_by_rename(caller, documents):
    """An editor that saves by renaming over the file is followed as well."""
    (documents / "n.md.new").write_text("prefers marimba")
    os.replace(documents / "n.md.new", documents / "n.md")
    assert caller.read("n.md") == "prefers marimba"
    wait_until(lambda: found(caller, "marimba") == ["n.md"], SEARCHABLE_SECONDS, "the edit is found")


def test_file_that_is_not_text(caller, documents):
    """A file that isn't UTF-8 can't be read, says why, and doesn't spoil search or tree for the others."""
    (documents / "bytes.md").write_bytes(b"\xff\xfe" + MARKER.encode())
    (documents / "half.md").write_bytes("é".encode()[:1])
    for path in ("bytes.md", "half.md"):
        with refused("DOCUMENT_NOT_TEXT"):
            caller.read(path)
    assert caller.tree() == ["bytes.md", "half.md", "n.md"]
    assert found(caller, "first") == ["n.md"]


@pytest.fixture
def outside(tmp_path):
    """A folder outside the data folder, with a secret in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text(f"{MARKER} secret\n")
    return folder


def refused_somehow(call, *hides):
    """Assert that the call is refused for some reason of the contract, and tells nothing."""
    with pytest.raises(Refusal) as raised:
        call()
    check_form(raised.value)
    check_silence(raised.value, *hides)
    assert raised.value.code != "INTERNAL"


def test_link_to_a_file(caller, documents, outside):
    """A link in place of a document is neither followed by a read nor written through."""
    (documents / "link.md").symlink_to(outside / "secret.md")
    with refused("NOT_FOUND", hides=(outside,)):
        caller.read("link.md")
    for change in ({"content": "x"}, {"content": "x", "append": False}, {"old_string": "secret", "new_string": "x"}):
        refused_somehow(lambda c=change: caller.call("Write", {"target": "link.md", **c}), outside)
    refused_somehow(lambda: caller.call(f"{ADMIN}/DeleteDocument", {"path": "link.md"}), outside)
    assert (outside / "secret.md").read_text() == f"{MARKER} secret\n"
    assert "link.md" not in caller.tree()


def test_dangling_link(caller, documents, outside):
    """A link to a file that doesn't exist doesn't let a write create it."""
    (documents / "link.md").symlink_to(outside / "created.md")
    refused_somehow(lambda: caller.write("link.md", "x"), outside)
    assert not (outside / "created.md").exists()


def test_link_to_a_folder(caller, documents, outside):
    """A link in place of a folder is not gone through, in any operation."""
    (documents / "folder").symlink_to(outside)
    refused_somehow(lambda: caller.read("folder/secret.md"), outside)
    refused_somehow(lambda: caller.write("folder/new.md", "x"), outside)
    refused_somehow(lambda: caller.write("folder/deep/new.md", "x"), outside)
    refused_somehow(lambda: caller.call(f"{ADMIN}/DeleteDocument", {"path": "folder/secret.md"}), outside)
    assert sorted(p.name for p in outside.iterdir()) == ["secret.md"]
    assert "secret" not in str(caller.tree())
    assert caller.tool("tree", path="folder") == []


def test_links_are_not_searched(caller, documents, outside):
    """What lies behind a link is never found, while documents made later are."""
    (documents / "folder").symlink_to(outside)
    (documents / "link.md").symlink_to(outside / "secret.md")
    (documents / "later.md").write_text("marimba")
    wait_until(lambda: found(caller, "marimba") == ["later.md"], SEARCHABLE_SECONDS, "the later document is found")
    assert found(caller, f"{MARKER} secret") == []


@pytest.mark.parametrize("level", ["documents", "scope", "user"])
def test_link_above_the_documents(level, caller, server, documents):
    """A folder of the scope itself that became a link to another user's doesn't lead there."""
    other = caller.within(user="bob")
    other.write("secret.md", f"{MARKER} secret")
    victims = {
        "documents": (documents, documents_folder(server, other)),
        "scope": (scope_folder(server, caller), scope_folder(server, other)),
        "user": (scope_folder(server, caller).parents[3], scope_folder(server, other).parents[3]),
    }
    mine, theirs = victims[level]
    mine.rename(mine.with_name(f"{mine.name}-moved"))
    mine.symlink_to(theirs)
    refused_somehow(lambda: caller.read("secret.md"), server.data_dir)
    refused_somehow(lambda: caller.write("new.md", "x"), server.data_dir)
    assert other.tree() == ["secret.md"]
    for tool, arguments in (("tree", {}), ("search", {"query": MARKER})):
        try:
            assert "secret" not in str(caller.tool(tool, **arguments))
        except (ToolRefusal, Refusal):
            continue  # refusing is fine as well


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.mkdir()], ids=["pipe", "folder"])
def test_no_regular_file(make, caller, documents):
    """A pipe or folder in place of a document hangs nobody and is no document."""
    make(documents / "odd.md")
    with refused("NOT_FOUND"):
        caller.read("odd.md")
    refused_somehow(lambda: caller.write("odd.md", "x"))
    assert "odd.md" not in caller.tree()
    assert found(caller, "first") == ["n.md"]


def test_documents_that_became_a_file(caller, documents, server):
    """When the folder of documents itself is spoilt, calls fail with a reason and without the folder's name."""
    documents.rename(documents.with_name("moved"))
    documents.write_text("not a folder")
    refused_somehow(lambda: caller.write("n.md", "x"), server.data_dir)
    refused_somehow(lambda: caller.read("n.md"), server.data_dir)


def test_everything_derived_comes_back(caller, documents, server):
    """The index and the tally may be deleted at any time; documents, versions and search are as before."""
    caller.write("n.md", "prefers xylophone")
    assert found(caller, "xylophone") == ["n.md"]
    for path in sorted((scope_folder(server, caller) / "index").rglob("*"), reverse=True):
        path.unlink() if not path.is_dir() else path.rmdir()
    (scope_folder(server, caller) / "usage").unlink(missing_ok=True)
    wait_until(lambda: found(caller, "xylophone") == ["n.md"], SEARCHABLE_SECONDS, "search is back")
    caller.write("m.md", "plays marimba")
    assert found(caller, "marimba") == ["m.md"]
    assert caller.call(f"{ADMIN}/ReadVersion", {"path": "n.md", "version": 1})["content"] == "first"
