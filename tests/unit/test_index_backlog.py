"""When changes get into the index though nobody searches: when calls pause, and when too many wait."""

import pytest

from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index.backlog import QUIET_SECONDS, WAITING_DOCUMENTS, WAITING_SECONDS, Backlog

ALICE, BOB = Scope("acme", "alice"), Scope("acme", "bob")


@pytest.fixture
def backlog():
    return Backlog()


def test_changes_wait_for_a_pause(backlog):
    """While calls keep coming nothing is due; once they pause everything is."""
    backlog.note_change(ALICE, "a.md", 10.0)
    backlog.note_change(BOB, "b.md", 10.05)
    backlog.note_call(10.1)
    assert backlog.due(10.1) == []
    assert backlog.due(10.2 + QUIET_SECONDS) == [ALICE, BOB]


def test_changes_wait_only_so_long(backlog):
    """Under calls without a pause a scope's changes are due after a while, from the first of them on."""
    backlog.note_change(ALICE, "a.md", 10.0)
    backlog.note_change(BOB, "b.md", 11.0)
    backlog.note_change(ALICE, "c.md", 10.0 + WAITING_SECONDS)
    assert backlog.due(10.0 + WAITING_SECONDS) == [ALICE]


def test_only_so_many_documents_wait(backlog):
    """Documents are counted, not writes: the same one again is no more work for the next search."""
    for _ in range(WAITING_DOCUMENTS):
        backlog.note_change(ALICE, "a.md", 10.0)
    assert backlog.due(10.0) == []
    assert not backlog.wake.is_set()
    for number in range(1, WAITING_DOCUMENTS):
        backlog.note_change(ALICE, f"{number}.md", 10.0)
    assert backlog.due(10.0) == [ALICE]
    assert backlog.wake.is_set()


def test_what_was_taken_is_not_due(backlog):
    """A scope whose changes are taken in is forgotten until the next change."""
    backlog.note_change(ALICE, "a.md", 10.0)
    backlog.take(ALICE)
    backlog.take(BOB)
    assert not backlog
    assert backlog.due(20.0) == []
    backlog.note_change(ALICE, "b.md", 20.0)
    assert backlog.due(20.1 + QUIET_SECONDS) == [ALICE]
