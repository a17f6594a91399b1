"""A claim and its end under a clock that the test moves: leases that run out, completions sent again, broken sinks."""

from datetime import UTC, datetime, timedelta

import pytest

from ironclaw_memory.contract.arguments import WriteArguments
from ironclaw_memory.contract.faults import LeaseInvalid
from ironclaw_memory.memory.curation import Completion, Outcome, Report, distinct_lines, loses_too_much
from ironclaw_memory.memory.interactions import is_due
from ironclaw_memory.memory.profile import ProfileZone
from ironclaw_memory.memory.write import Writer
from tests.crash.curator import Bench

OLD, NEW = "likes tea\nlikes green tea\n", "likes green tea\n"


class Clock:
    def __init__(self):
        self.now = datetime(2026, 12, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, seconds):
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def bench(tmp_path, clock):
    """A scope with ten turns and a MEMORY.md."""
    bench = Bench(tmp_path / "data", now=clock)
    write(bench, OLD)
    for number in range(10):
        bench.record("t", number)
    yield bench
    bench.index.close()


def write(bench, text):
    arguments = WriteArguments(target="memory", content=text, append=False)
    Writer(bench.changes, ProfileZone(bench.store)).write(bench.call(), arguments)


def claim(bench, request_id=None, seconds=None, force=False):
    return bench.curator.claim(bench.call(request_id=request_id), seconds, force=force)


def complete(bench, lease, content=None, **arguments):
    return bench.curator.complete(bench.call(), Completion(lease.lease_id, content, **arguments))


def test_a_lease_ends_by_the_clock(bench, clock):
    """After 300 seconds its holder can't end it any more, and anybody may claim; the count is untouched."""
    lease = claim(bench).lease
    clock.move(299)
    assert claim(bench) is None
    clock.move(1)
    with pytest.raises(LeaseInvalid):
        complete(bench, lease, NEW)
    assert bench.turns() == 10
    assert claim(bench).lease.lease_id != lease.lease_id
    with pytest.raises(LeaseInvalid):
        complete(bench, lease, NEW)


def test_a_request_id_finds_its_lease_only_while_that_holds(bench, clock):
    """A claim sent again gets its lease with its old end; later it gets a new one, if the curation is still due."""
    first = claim(bench, "r", seconds=10)
    clock.move(5)
    assert claim(bench, "r", seconds=10) == first
    clock.move(5)
    assert claim(bench, "r", seconds=10).lease.lease_id != first.lease.lease_id


def test_a_claim_sent_again_has_the_text_of_now(bench):
    """When somebody wrote between the two tries, the lease is for the text that its holder got last."""
    claim(bench, "r")
    write(bench, OLD + "new fact\n")
    again = claim(bench, "r")
    assert again.document == OLD + "new fact\n"
    assert complete(bench, again.lease, OLD).outcome is Outcome.REWRITTEN


def test_a_completion_whose_answer_was_lost_is_known_for_good(bench, clock):
    """Sent again, after the lease's time too, it tells what it did and does nothing."""
    lease = claim(bench).lease
    done = complete(bench, lease, NEW)
    bench.record("t", 10)
    write(bench, "somebody else's\n")
    clock.move(10_000)
    assert complete(bench, lease, NEW) == done
    assert bench.turns() == 1
    with pytest.raises(LeaseInvalid):
        complete(bench, lease, NEW, report=Report(kept=1))


def test_a_text_that_is_there_already_was_written_by_this_completion(bench):
    """A server that died between write and answer left the new text: the completion finds it and goes on."""
    lease = claim(bench).lease
    write(bench, NEW)
    assert complete(bench, lease, NEW).outcome is Outcome.REWRITTEN
    assert bench.turns() == 0


@pytest.mark.parametrize("abandon", [True, False])
def test_without_a_text_nothing_is_looked_at(bench, abandon):
    """Nothing to do, and giving back, hold whatever became of the document; only the first restarts the count."""
    lease = claim(bench).lease
    write(bench, "somebody else's\n")
    outcome = complete(bench, lease, abandon=abandon).outcome
    assert outcome is (Outcome.ABANDONED if abandon else Outcome.UNCHANGED)
    assert bench.turns() == (10 if abandon else 0)
    assert (claim(bench) is not None) == abandon


def test_a_broken_sink_ends_no_curation_otherwise(bench):
    """The event is lost and the curation is done all the same: MEMORY.md was checked, and its event isn't required."""

    class Broken:
        def record(self, finding):
            raise OSError("full")

    lease = claim(bench).lease
    call = bench.call(recorder=Broken())
    assert bench.curator.complete(call, Completion(lease.lease_id, NEW)).outcome is Outcome.REWRITTEN


@pytest.mark.parametrize(
    ("before", "after", "accounted", "too_much"),
    [(10, 5, 0, False), (10, 4, 0, True), (10, 4, 1, False), (1, 1, 0, False), (2, 1, 0, False), (3, 1, 0, True),
     (0, 0, 0, False), (0, 9, 0, False), (10, 0, 10, False), (9, 4, 0, True), (9, 5, 0, False)],
)  # fmt: skip
def test_more_than_half_is_too_much(before, after, accounted, too_much):
    """Exactly half may go without a word, one line more may not."""
    assert loses_too_much(before, after, accounted) == too_much


def test_lines_are_told_apart_by_their_text():
    """Blank lines, margins and repetitions are no facts."""
    assert distinct_lines("a\n\n  a \r\nb\n\t\n") == {"a", "b"}


@pytest.mark.parametrize(
    ("turns", "every", "due"), [(9, 10, False), (10, 10, True), (11, 10, True), (0, 0, False), (99, 0, False)]
)
def test_due_from_the_set_number_on(turns, every, due):
    """From the set number of turns on; never when that is 0."""
    assert is_due(turns, every) == due
