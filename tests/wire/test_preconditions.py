"""Preconditions: a host changes a document only if it is what the host knows."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.caller import ADMIN, Refusal
from tests.wire.refusals import MARKER, refused


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


CHANGES = {
    "replace": {"content": f"{MARKER} new", "append": False},
    "append": {"content": f"{MARKER} new"},
    "patch": {"old_string": "old", "new_string": "new"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_stale_hash(change, caller):
    """A change that expects other content is refused with the current hash, and changes nothing."""
    caller.write("n.md", f"{MARKER} old")
    with refused("CONTENT_CHANGED") as caught:
        caller.call("Write", {"target": "n.md", "expected_sha256": sha256("something else"), **change})
    assert caught[0].metadata["current_sha256"] == sha256(f"{MARKER} old")
    assert caller.read("n.md") == f"{MARKER} old"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_current_hash(change, caller):
    """A change that expects what is there goes through, and its answer's hash fits the next change."""
    first = caller.write("n.md", f"{MARKER} old")
    second = caller.call("Write", {"target": "n.md", "expected_sha256": first["content_sha256"], **change})
    assert second["content_sha256"] == sha256(caller.read("n.md")) != first["content_sha256"]
    caller.write("n.md", "third", expected_sha256=second["content_sha256"])


def test_hash_in_upper_case(caller):
    """A hash is a number in hexadecimal, whatever its letters' case."""
    first = caller.write("n.md", "old")
    caller.write("n.md", "new", expected_sha256=first["content_sha256"].upper())


def test_hash_of_a_missing_document(caller):
    """Expecting content where no document is is refused with an empty hash, and creates nothing."""
    with refused("CONTENT_CHANGED") as caught:
        caller.write("n.md", MARKER, expected_sha256=sha256("x"))
    assert caught[0].metadata["current_sha256"] == ""
    assert caller.tree() == []


NO_HASHES = ["", "abc", "g" * 64, "0" * 63, "0" * 65, " " + "0" * 63]


@pytest.mark.parametrize("value", NO_HASHES)
def test_hash_that_is_none(value, caller):
    """What isn't 64 hex digits is an error of the arguments, not a precondition that fails."""
    with refused("INVALID_ARGUMENTS", "expected_sha256"):
        caller.write("n.md", MARKER, expected_sha256=value)


@pytest.mark.parametrize("value", NO_HASHES)
@pytest.mark.parametrize("method", ["DeleteDocument", "RestoreVersion"])
def test_hash_that_is_none_in_admin_changes(method, value, caller):
    """Deleting and restoring are as particular as writing, and change nothing."""
    caller.write("n.md", f"{MARKER} one")
    caller.write("n.md", f"{MARKER} two")
    request = {"path": "n.md", **({"version": 1} if method == "RestoreVersion" else {})}
    with refused("INVALID_ARGUMENTS", "expected_sha256"):
        caller.call(f"{ADMIN}/{method}", {**request, "expected_sha256": value})
    assert caller.read("n.md") == f"{MARKER} two"


def test_must_not_exist(caller):
    """A write that only creates goes through once."""
    caller.write("n.md", f"{MARKER} first", must_not_exist=True)
    with refused("CONTENT_CHANGED") as caught:
        caller.write("n.md", f"{MARKER} second", must_not_exist=True)
    assert caught[0].metadata["current_sha256"] == sha256(f"{MARKER} first")
    assert caller.read("n.md") == f"{MARKER} first"


def test_must_not_exist_false_is_no_precondition(caller):
    """Setting the field to false asks for nothing."""
    caller.write("n.md", "first", must_not_exist=False)
    caller.write("n.md", "second", must_not_exist=False)


@pytest.mark.parametrize("method", ["DeleteDocument", "RestoreVersion"])
def test_admin_changes_take_the_hash_too(method, caller):
    """Deleting and restoring with a stale hash change nothing; with the current one they go through."""
    caller.write("n.md", f"{MARKER} one")
    current = caller.write("n.md", f"{MARKER} two")["content_sha256"]
    request = {"path": "n.md", **({"version": 1} if method == "RestoreVersion" else {})}
    with refused("CONTENT_CHANGED") as caught:
        caller.call(f"{ADMIN}/{method}", {**request, "expected_sha256": sha256("stale")})
    assert caught[0].metadata["current_sha256"] == current
    assert caller.read("n.md") == f"{MARKER} two"
    caller.call(f"{ADMIN}/{method}", {**request, "expected_sha256": current})


def test_one_of_many_writers_wins(caller):
    """Of eight hosts that know the same content, one changes it, and the others learn that they are late."""
    known = caller.write("n.md", "start")["content_sha256"]

    def change(number):
        try:
            caller.write("n.md", f"writer {number}", expected_sha256=known)
        except Refusal as refusal:
            return refusal.reason
        return number

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(change, range(8)))
    winners = [outcome for outcome in outcomes if isinstance(outcome, int)]
    assert len(winners) == 1
    assert outcomes.count("CONTENT_CHANGED") == 7
    assert caller.read("n.md") == f"writer {winners[0]}"
