"""What is kept of a document's past: listing, reading, restoring, deleting, and doing without."""

from __future__ import annotations

import pytest

from tests.caller import ADMIN, Caller
from tests.server_process import run_server
from tests.wire.refusals import refused


def admin(caller, method, **request):
    return caller.call(f"{ADMIN}/{method}", request)


def numbers(caller, path="n.md", **page):
    return [int(v["version"]) for v in admin(caller, "ListVersions", path=path, **page)["versions"]]


def test_versions_are_listed_in_pages_newest_first(caller):
    """The token continues where the page ended, also when a version was added in between."""
    for text in ("a", "b", "c", "d", "e"):
        caller.write("n.md", text)
    first = admin(caller, "ListVersions", path="n.md", page_size=2)
    assert [int(v["version"]) for v in first["versions"]] == [4, 3]
    caller.write("n.md", "f")
    second = admin(caller, "ListVersions", path="n.md", page_size=2, page_token=first["next_page_token"])
    assert [int(v["version"]) for v in second["versions"]] == [2, 1]
    assert second["next_page_token"] == ""


@pytest.mark.parametrize("page", [{"page_size": -1}, {"page_token": "x"}, {"page_token": "9" * 30}])
def test_a_page_that_cannot_be_asked_for(page, caller):
    """A negative size and a token that the service didn't give are errors of the arguments."""
    with refused("INVALID_ARGUMENTS", next(iter(page))):
        admin(caller, "ListVersions", path="n.md", **page)


def test_a_version_that_is_not_there(caller):
    """A number beyond the history is NOT_FOUND, number 0 is none."""
    caller.write("n.md", "a")
    with refused("NOT_FOUND"):
        admin(caller, "ReadVersion", path="n.md", version=1)
    with refused("INVALID_ARGUMENTS", "version"):
        admin(caller, "RestoreVersion", path="n.md", version=0)


def test_a_deletion_can_be_undone(caller):
    """The deleted content is kept under the number that the answer gives, and comes back by a restore."""
    caller.write("n.md", "one")
    kept = int(admin(caller, "DeleteDocument", path="n.md")["kept_version"])
    assert numbers(caller) == [kept]
    admin(caller, "RestoreVersion", path="n.md", version=kept)
    assert caller.read("n.md") == "one"


def test_a_purge_leaves_no_past(caller):
    """With purge_versions nothing is kept, nor listed."""
    caller.write("n.md", "one")
    caller.write("n.md", "two")
    assert admin(caller, "DeleteDocument", path="n.md", purge_versions=True)["kept_version"] == "0"
    assert numbers(caller) == []


def test_an_empty_document_is_deleted_without_a_version(caller):
    """Where nothing was, nothing is kept, and the answer says so."""
    caller.call("Write", {"target": "bootstrap"})
    assert admin(caller, "DeleteDocument", path="BOOTSTRAP.md")["kept_version"] == "0"
    assert numbers(caller, "BOOTSTRAP.md") == []


def test_a_document_can_be_sealed_with_its_first_content(caller):
    """read_only may come with the content that it seals; from then on the content stays, until it is lifted."""
    caller.write("n.md", "sealed", metadata={"read_only": True})
    for change in ({"content": "other", "append": False}, {"content": "more"}):
        with refused("DOCUMENT_READ_ONLY"):
            caller.call("Write", {"target": "n.md", **change})
    with refused("DOCUMENT_READ_ONLY"):
        admin(caller, "DeleteDocument", path="n.md")
    caller.write("n.md", "open", metadata={"read_only": False})
    assert caller.read("n.md") == "open"


def test_an_operator_can_do_without_versions(tmp_path):
    """With version_count 0 nothing is kept, whatever the change."""
    with run_server(tmp_path / "data", version_count=0) as server, server.channel() as channel:
        caller = Caller(channel, {"tenant": "t", "user": "alice"})
        for text in ("one", "two", "three"):
            caller.write("n.md", text)
        assert admin(caller, "DeleteDocument", path="n.md")["kept_version"] == "0"
        assert numbers(caller) == []


def test_a_scope_in_numbers(caller):
    """The statistics count documents, bytes and passages, and name the limits."""
    caller.write("a.md", "one two")
    caller.write("b.md", "three")
    caller.call("Search", {"query": "three"})
    stats = admin(caller, "GetScopeStats")
    assert {name: int(stats[name]) for name in ("documents", "size_bytes", "indexed_documents", "passages")} == {
        "documents": 2,
        "size_bytes": 12,
        "indexed_documents": 2,
        "passages": 2,
    }
    assert int(stats["document_limit"]) == 10_000
    assert stats["problems"] == []


def test_a_document_that_cannot_be_searched_is_named(fresh_server):
    """A file that isn't text doesn't stop the others and is listed with its problem."""
    with fresh_server.channel() as channel:
        caller = Caller(channel, {"tenant": "t", "user": "alice"})
        caller.write("good.md", "walrus")
        documents = next(fresh_server.data_dir.rglob("good.md")).parent
        (documents / "bad.md").write_bytes(b"\xff\xfe walrus")
        assert [hit["path"] for hit in caller.call("Search", {"query": "walrus"})["results"]] == ["good.md"]
        stats = admin(caller, "GetScopeStats")
    assert [problem["path"] for problem in stats["problems"]] == ["bad.md"]
    assert int(stats["documents"]) == 2
