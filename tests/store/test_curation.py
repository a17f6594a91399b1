"""What a scope keeps about curation: an exact count of turns and one lease, whatever dies and whoever writes beside."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.faults import DeadlineExceeded, PathConflict
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store.curation import MAX_LINES, REMEMBERED, turn_digest
from tests.store.workbench import SCOPE, Workbench


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def bench(tmp_path, clock):
    """A store whose clock the test moves."""
    return Workbench(tmp_path / "data", now=clock)


def soon() -> Deadline:
    return Deadline.after(20)


def turn(number: int) -> bytes:
    return turn_digest("t", f"run-{number}")


def note(bench: Workbench, number: int, *, was_recorded: bool = False) -> bool:
    return bench.store.curation.note_turn(SCOPE, turn(number), was_recorded=was_recorded, deadline=soon())


def count(bench: Workbench) -> int:
    return bench.store.curation.count_turns(SCOPE, deadline=soon())


def hold(bench: Workbench):
    return bench.store.curation.hold(SCOPE, soon())


def restart(bench: Workbench):
    with hold(bench) as desk:
        lease = desk.give_lease("0" * 64, 300, "")
        desk.restart_count(lease)
        return lease


def again(bench: Workbench, clock: Clock | None = None) -> Workbench:
    """The same directory as another process sees it."""
    return Workbench(bench.data_dir.path, **({"now": clock} if clock else {}))


def log(bench: Workbench):
    return bench.root / "curation" / "turns.log"


def test_a_turn_counts_once(bench):
    """Noting a turn again, in this process or another, counts nothing."""
    assert [note(bench, number) for number in (1, 2, 1)] == [True, True, False]
    assert not note(again(bench), 2)
    assert count(again(bench)) == 2


def test_a_turn_of_another_thread_or_scope_is_another(bench):
    """The same run id in another thread counts, and in another scope it counts there."""
    assert turn_digest("t", "r") != turn_digest("u", "r")
    assert turn_digest("a", "b/c") != turn_digest("a/b", "c/c")
    note(bench, 1)
    other = Scope("acme", "bob")
    bench.store.curation.note_turn(other, turn(1), was_recorded=False, deadline=soon())
    assert count(bench) == bench.store.curation.count_turns(other, deadline=soon()) == 1


def test_a_recorded_turn_that_nobody_remembers_is_old(bench):
    """A record that was there before the turn was ever noted doesn't count."""
    assert not note(bench, 1, was_recorded=True)
    assert count(bench) == 0


def test_a_withdrawn_turn_may_count_later(bench):
    """A turn whose record was refused doesn't count, and counts once its record is stored."""
    note(bench, 1)
    bench.store.curation.withdraw_turn(SCOPE, turn(1), deadline=soon())
    assert count(bench) == 0
    assert note(bench, 1)
    assert count(bench) == 1


def test_a_turn_that_another_call_took_back_is_counted_by_its_record(bench):
    """Two calls record one run; the refused one takes it back while the other commits: it counts all the same."""
    note(bench, 1)
    assert not note(bench, 1)
    bench.store.curation.withdraw_turn(SCOPE, turn(1), deadline=soon())
    assert bench.store.curation.count_turns(SCOPE, recorded=turn(1), deadline=soon()) == 1
    assert bench.store.curation.count_turns(SCOPE, recorded=turn(1), deadline=soon()) == 1


def test_a_restart_forgets_no_turn(bench):
    """After a curation the count is 0, and a turn from before it doesn't count again."""
    for number in range(5):
        note(bench, number)
    restart(bench)
    assert count(bench) == 0
    assert not note(again(bench), 3)
    assert note(bench, 5)
    assert count(bench) == 1


def test_a_lease_restarts_the_count_once(bench):
    """When its completion is done again after a crash, turns that came in between still count."""
    note(bench, 1)
    lease = restart(bench)
    note(bench, 2)
    with hold(bench) as desk:
        desk.restart_count(lease)
    assert count(bench) == 1


def test_a_long_log_is_written_anew_with_the_same_count(bench):
    """A scope that is never curated keeps an exact count in a log of bounded length."""
    note(bench, 0)
    lines = b"".join(b"\nrun %s\n" % turn(number) for number in range(1, MAX_LINES))
    with log(bench).open("ab") as file:
        file.write(lines)
    assert count(bench) == MAX_LINES
    assert note(bench, MAX_LINES)
    assert count(bench) == MAX_LINES + 1
    assert len(log(bench).read_bytes().split()) < 2 * (REMEMBERED + 5)
    assert not note(bench, MAX_LINES - 1)
    bench.store.curation.withdraw_turn(SCOPE, turn(MAX_LINES - 1), deadline=soon())
    assert count(bench) == MAX_LINES


@pytest.mark.parametrize("torn", [b"\nrun 0123", b"\nru", b"\n\xff\x00", b"\nrun " + b"g" * 32, b"\nbase 7"])
def test_a_torn_line_is_no_turn(bench, torn):
    """What a crash left of a line counts nothing and spoils no line after it."""
    note(bench, 1)
    with log(bench).open("ab") as file:
        file.write(torn)
    assert count(bench) == 1
    assert note(bench, 2)
    assert count(again(bench)) == 2


def test_threads_and_stores_count_exactly(bench):
    """Eight threads over two stores note a hundred turns, each turn three times: a hundred count."""
    stores = (bench, again(bench))
    work = [number for number in range(100) for _ in range(3)]

    def run(part: int) -> None:
        for number in work[part::8]:
            note(stores[part % 2], number)

    threads = [threading.Thread(target=run, args=(part,)) for part in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert count(bench) == 100


def test_a_lease_outlives_the_process_and_ends_by_the_clock(bench, clock):
    """Another process finds the lease as it was given, until its time is over and not a moment longer."""
    with hold(bench) as desk:
        lease = desk.give_lease("a" * 64, 60, "asker")
    with hold(again(bench, clock)) as desk:
        assert desk.held_lease() == lease
        clock.now += timedelta(seconds=59)
        assert desk.held_lease() == lease
        clock.now += timedelta(seconds=1)
        assert desk.held_lease() is None
        assert desk.last_lease() == lease


def test_a_lease_from_a_wrong_clock_is_over(bench, clock):
    """A clock that was set back years doesn't leave the scope without curation for years."""
    with hold(bench) as desk:
        desk.give_lease("a" * 64, 60, "")
        clock.now -= timedelta(days=400)
        assert desk.held_lease() is None


def test_an_ended_lease_says_how(bench):
    """Whoever ends it again finds how it ended, under which arguments, and that nobody holds it."""
    with hold(bench) as desk:
        lease = desk.give_lease("a" * 64, 60, "")
        desk.end_lease(lease, "print", "rewritten", "b" * 64)
        ended = desk.last_lease()
        assert (ended.lease_id, ended.ended_by, ended.outcome, ended.content_sha256) == (
            lease.lease_id,
            "print",
            "rewritten",
            "b" * 64,
        )
        assert desk.held_lease() is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"lease_id": 1, "expires_at": "yesterday"}'])
def test_a_lease_that_cannot_be_read_is_none(bench, content):
    """A damaged file jams nothing: its holder claims again."""
    restart(bench)
    (bench.root / "curation" / "lease.json").write_bytes(content)
    with hold(bench) as desk:
        assert desk.last_lease() is None
        assert desk.give_lease("0" * 64, 1, "")


def test_the_files_are_private_and_hold_no_id(bench):
    """Modes are 0600 and 0700, and neither thread nor run id stands in the log."""
    note(bench, 1)
    restart(bench)
    folder = bench.root / "curation"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert b"run-1" not in log(bench).read_bytes()
    assert json.loads((folder / "lease.json").read_text())["outcome"] == ""


def test_waiting_for_the_desk_ends_at_the_deadline(bench):
    """A caller whose time is over while another holds the curation is told so, and nothing was counted."""
    with hold(bench), pytest.raises(DeadlineExceeded):
        bench.store.curation.note_turn(SCOPE, turn(1), was_recorded=False, deadline=Deadline.after(0.05))
    assert count(bench) == 0


def test_asking_makes_nothing(bench):
    """A scope that is only asked about gets no folder."""
    assert not bench.store.curation.has_files(SCOPE)
    assert not bench.root.exists()
    note(bench, 1)
    assert again(bench).store.curation.has_files(SCOPE)


def test_an_erased_scope_counts_from_nothing(bench):
    """Erasing removes turns and lease, also for a store that had the folder open."""
    bench.put("MEMORY.md", b"x\n")
    note(bench, 1)
    restart(bench)
    bench.store.erase_scope(SCOPE, deadline=soon())
    assert not log(bench).exists()
    assert count(bench) == 0
    with hold(bench) as desk:
        assert desk.last_lease() is None


def test_a_link_in_place_of_the_folder_is_not_followed(bench, tmp_path):
    """A planted link leads nowhere: the call is refused and nothing is written through it."""
    bench.put("MEMORY.md", b"x\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.root / "curation").symlink_to(outside)
    with pytest.raises(PathConflict):
        note(bench, 1)
    assert not list(outside.iterdir())


def test_a_head_is_read_however_large_the_document_is(bench):
    """The first bytes and the size come back without reading the rest, also of a file that `read` refuses."""
    bench.put("MEMORY.md", b"first\nsecond\n")
    path = bench.documents / "MEMORY.md"
    read = bench.store.read_head
    assert read(SCOPE, DocumentPath("MEMORY.md"), 5) == (b"first", 13)
    assert read(SCOPE, DocumentPath("MEMORY.md"), 99) == (b"first\nsecond\n", 13)
    assert read(SCOPE, DocumentPath("MEMORY.md"), 0) == (b"", 13)
    with path.open("r+b") as file:
        file.truncate(64 << 20)
    assert read(SCOPE, DocumentPath("MEMORY.md"), 5) == (b"first", 64 << 20)
