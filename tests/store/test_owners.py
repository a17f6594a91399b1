"""Which scopes a data directory holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import Change
from ironclaw_memory.contract.path import parse_document_path
from ironclaw_memory.contract.scope import Scope
from tests.store.workbench import SCOPE, Workbench

SCOPES = {SCOPE, Scope("acme", "Ada"), Scope("acme", "ada", "coder"), Scope("_none", "李", "x" * 256, "a.b")}


@pytest.fixture
def owned(bench: Workbench) -> Workbench:
    """A store in which each of the scopes has a document."""
    for scope in SCOPES:
        bench.store.change_document(
            scope, parse_document_path("a.md"), lambda _: Change(b"x"), deadline=Deadline.after(20)
        )
    return bench


def test_every_scope_is_listed_by_its_ids(owned: Workbench):
    """Ids come back word for word, however they are encoded in folder names."""
    assert sorted(map(repr, owned.store.list_scopes())) == sorted(map(repr, SCOPES))


def test_an_empty_directory_has_no_scopes(bench: Workbench):
    """Before the first write there is nothing to list, and listing makes nothing."""
    assert list(bench.store.list_scopes()) == []


def _damage(mark: Path) -> None:
    mark.write_text('{"tenant": "acme"}')


def _misplace(mark: Path) -> None:
    mark.write_text(mark.read_text().replace("notes", "other"))


def _replace_by_link(mark: Path) -> None:
    root = mark.parent
    shutil.move(root, root.with_name("elsewhere"))
    root.symlink_to(root.with_name("elsewhere"))


@pytest.mark.parametrize("harm", [Path.unlink, _damage, _misplace, _replace_by_link])
def test_a_folder_that_is_not_its_scope_s_is_left_out(owned: Workbench, harm):
    """A lost or damaged mark, a backup in the wrong place and a link hide that scope, and no other."""
    harm(owned.root / "scope.json")
    assert set(owned.store.list_scopes()) == SCOPES - {SCOPE}
