"""Request ids: a change is made once, however often and from wherever it is tried."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import Change
from ironclaw_memory.contract.faults import (
    DeadlineExceeded,
    DocumentMissing,
    OutcomeUnknown,
    RequestIdReused,
)
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store import DocumentStore, StoreLimits
from tests.store.workbench import SCOPE, Workbench, next_tick, request


def _without_verdict(bench) -> None:
    """Take the last verdict off the journal, as a power cut does: it isn't flushed."""
    (journal,) = (bench.root / "requests").iterdir()
    lines = [line for line in journal.read_bytes().split(b"\n") if line]
    assert json.loads(lines[-1])["is"] == "done"
    journal.write_bytes(b"\n".join(lines[:-1]) + b"\n")


def _restarted(bench) -> Workbench:
    return Workbench(bench.data_dir.path)


def test_a_retry_returns_the_first_result_and_writes_nothing(bench):
    """The second try of an append answers as the first did, in this process and after a restart."""
    first = bench.append("log.md", b"entry\n", request=request(1), result={"status": "written"})
    for each in (bench, _restarted(bench)):
        again = each.append("log.md", b"entry\n", request=request(1), result={"status": "other"})
        assert again.replayed
        assert (again.sha256, again.size_bytes, again.version, again.result, again.changed) == (
            first.sha256,
            first.size_bytes,
            first.version,
            {"status": "written"},
            True,
        )
        assert each.store.find_request(SCOPE, request(1)) == again
    assert bench.read("log.md") == b"entry\n"


def test_an_id_with_other_arguments_is_refused(bench):
    """The same id with another fingerprint changes nothing and says what is wrong."""
    bench.append("log.md", b"entry\n", request=request(1))
    with pytest.raises(RequestIdReused):
        bench.append("log.md", b"other\n", request=request(1, "e"))
    with pytest.raises(RequestIdReused):
        bench.store.find_request(SCOPE, request(1, "e"))
    assert bench.read("log.md") == b"entry\n"


def test_an_unknown_id_is_unknown(bench):
    """A lookup before the first write of a scope finds nothing, and so does one of an id that was never used."""
    assert bench.store.find_request(SCOPE, request(1)) is None
    bench.append("log.md", b"entry\n", request=request(1))
    assert bench.store.find_request(SCOPE, request(2)) is None


def test_the_same_id_in_another_scope_is_another_request(bench):
    """Ids are remembered by scope."""
    other = Scope("acme", "eve")
    bench.append("log.md", b"entry\n", request=request(1))
    committed = bench.store.change_document(
        other, DocumentPath("log.md"), lambda _: Change(b"eve"), deadline=Deadline.after(9), request=request(1, "e")
    )
    assert not committed.replayed


def test_concurrent_tries_of_one_request_write_once(bench):
    """Of 8 threads with one id, one writes and seven get its result."""
    answers = []

    def send():
        answers.append(bench.append("log.md", b"entry\n", request=request(1)))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 7
    assert bench.read("log.md") == b"entry\n"


def test_a_try_that_failed_can_be_tried_again(bench):
    """Neither a refusal nor a passed deadline uses the id up."""

    def refuse(before):
        raise DocumentMissing

    with pytest.raises(DocumentMissing):
        bench.decide("log.md", refuse, request=request(1))
    with pytest.raises(DeadlineExceeded):
        bench.append("log.md", b"entry\n", request=request(1), seconds=0)
    assert bench.store.find_request(SCOPE, request(1)) is None
    assert not bench.append("log.md", b"entry\n", request=request(1)).replayed
    assert bench.read("log.md") == b"entry\n"


def test_a_request_that_changed_nothing_is_remembered_too(bench):
    """A replace by the same bytes is done: its retry must not undo what others wrote since."""
    bench.put("a.md", b"one")
    assert not bench.put("a.md", b"one", request=request(1)).changed
    bench.put("a.md", b"two")
    again = _restarted(bench).put("a.md", b"one", request=request(1))
    assert (again.replayed, again.changed) == (True, False)
    assert bench.read("a.md") == b"two"


def test_a_delete_is_done_once(bench):
    """The retry of a delete doesn't delete what was written since."""
    bench.put("a.md", b"one")
    bench.put("a.md", None, request=request(1))
    bench.put("a.md", b"two")
    assert bench.put("a.md", None, request=request(1)).replayed
    assert bench.read("a.md") == b"two"


@pytest.mark.parametrize("since", [[], [b"two\n"], [b"two\n", None], [b"entry\n"]])
def test_a_lost_verdict_is_reached_again(bench, since):
    """When only the `open` line of a done append survives, its retry still writes nothing, whatever came after it."""
    bench.append("log.md", b"entry\n", request=request(1))
    _without_verdict(bench)
    restarted = _restarted(bench)
    for content in since:
        restarted.put("log.md", content)
    before = restarted.files()
    again = _restarted(restarted).append("log.md", b"entry\n", request=request(1))
    assert again.replayed
    assert restarted.files() == before


def test_a_lost_verdict_on_a_change_that_never_happened_is_reached_again(bench):
    """When a writer dies between its `open` line and the rename, the retry writes, once."""
    bench.put("log.md", b"old\n")
    bench.append("log.md", b"entry\n", request=request(1))
    _without_verdict(bench)
    (bench.documents / "log.md").write_bytes(b"old\n")
    (bench.root / "history").joinpath(bench.log_file().name).unlink()
    for replayed in (False, True):
        again = _restarted(bench).append("log.md", b"entry\n", request=request(1))
        assert again.replayed is replayed
    assert bench.read("log.md") == b"old\nentry\n"


def test_the_next_writer_settles_what_a_dead_one_left(bench):
    """Another change of the document doesn't blur the evidence: the dead writer's retry is still told apart."""
    bench.put("log.md", b"old\n")
    bench.append("log.md", b"entry\n", request=request(1), keep_version=False)
    _without_verdict(bench)
    (bench.documents / "log.md").write_bytes(b"old\n")  # it died before the rename
    restarted = _restarted(bench)
    restarted.append("log.md", b"entry\n", keep_version=False)  # another's entry, word for word the same
    restarted.append("log.md", b"entry\n", request=request(1))
    assert bench.read("log.md") == b"old\nentry\nentry\n"


def test_when_the_evidence_is_gone_nobody_guesses(bench):
    """A document that matches neither state and has no versions: the retry is told so and writes nothing."""
    bench.append("log.md", b"entry\n", request=request(1))
    _without_verdict(bench)
    (bench.documents / "log.md").write_bytes(b"something else entirely\n")
    for each in (bench, _restarted(bench)):
        with pytest.raises(OutcomeUnknown):
            each.append("log.md", b"entry\n", request=request(1))
    assert bench.read("log.md") == b"something else entirely\n"


def test_a_retry_that_goes_to_another_document_finds_the_first(bench):
    """A daily log retried after midnight: the entry is in yesterday's document and stays out of today's."""
    bench.append("daily/2026-12-01.md", b"entry\n", request=request(1))
    _without_verdict(bench)
    again = _restarted(bench).append("daily/2026-12-02.md", b"entry\n", request=request(1))
    assert again.replayed
    assert bench.files() == ["daily/2026-12-01.md"]


def test_a_torn_line_does_not_hide_the_lines_after_it(bench):
    """What a crash left half-written in the journal is skipped, and later ids are found."""
    bench.append("log.md", b"one\n", request=request(1))
    (journal,) = (bench.root / "requests").iterdir()
    with journal.open("ab") as file:
        file.write(b'\n{"id":"0123')
    bench.append("log.md", b"two\n", request=request(2))
    restarted = _restarted(bench)
    for number in (1, 2):
        assert restarted.append("log.md", b"x", request=request(number)).replayed


def test_ids_are_remembered_for_a_day_over_midnight(tmp_path):
    """An id is known until its 24 hours are over, then it is new; old journals are removed."""
    clock = [datetime(2026, 12, 1, 23, 59, tzinfo=UTC)]
    bench = Workbench(tmp_path / "data", now=lambda: clock[0])
    bench.append("log.md", b"one\n", request=request(1))
    clock[0] += timedelta(hours=23, minutes=59)
    restarted = Workbench(tmp_path / "data", now=lambda: clock[0])
    for each in (bench, restarted):
        assert each.append("log.md", b"one\n", request=request(1)).replayed
    clock[0] += timedelta(minutes=2)
    assert not bench.append("log.md", b"one\n", request=request(1)).replayed
    assert bench.read("log.md") == b"one\none\n"
    clock[0] += timedelta(days=3)
    bench.append("log.md", b"two\n", request=request(2))
    assert [file.name for file in (bench.root / "requests").iterdir()] == ["2026-12-06.jsonl"]


def test_the_journal_holds_no_ids_in_the_clear(bench):
    """A host's request id may be telling; only its hash is kept."""
    bench.append("log.md", b"entry\n", request=request(1))
    (journal,) = (bench.root / "requests").iterdir()
    assert b"request-1" not in journal.read_bytes()


def test_another_process_sees_what_was_done(bench):
    """Two stores on one directory, as two processes have them, know each other's ids at once."""
    other = DocumentStore(bench.data_dir, StoreLimits())
    for number in range(5):
        first, second = (bench.store, other) if number % 2 else (other, bench.store)
        for store, replayed in ((first, False), (second, True)):
            committed = store.change_document(
                SCOPE,
                DocumentPath("log.md"),
                lambda before: Change((before.content or b"") + b"x"),
                deadline=Deadline.after(9),
                request=request(number),
            )
            assert committed.replayed is replayed
    assert bench.read("log.md") == b"xxxxx"


@pytest.mark.usefixtures("settled")
def test_the_first_id_of_another_process_is_seen(bench):
    """Also by a store that knew of no journal at all, and whose next change of the document has no id of its own."""
    for content in (b"one\n", b"two\n"):
        bench.append("log.md", content)
    next_tick(bench.root / "requests")
    other = _restarted(bench)
    other.append("log.md", b"entry\n", request=request(1), keep_version=False)
    _without_verdict(bench)
    (bench.documents / "log.md").write_bytes(b"one\ntwo\n")  # it died before the rename
    bench.append("log.md", b"entry\n", keep_version=False)
    assert not bench.append("log.md", b"entry\n", request=request(1)).replayed
    assert bench.read("log.md") == b"one\ntwo\nentry\nentry\n"
