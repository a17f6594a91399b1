"""Reading the trail: what verifying shows and can't show, what mending sets aside, and what a follower sees."""

import json
import os
import signal
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from ironclaw_memory.contract.events import ChangeEvent, ChangeKind
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.events import AuditLog
from ironclaw_memory.events.chain import Head
from ironclaw_memory.events.cursor import CursorInvalid, Position, decode_position
from ironclaw_memory.events.follower import Follower
from ironclaw_memory.events.mending import mend_files
from ironclaw_memory.events.reading import Period, read_records
from ironclaw_memory.events.verifying import Ending, read_anchors, verify_files

KEY = b"k" * 32
SCOPE = Scope("acme", "ada")
WRITTEN = ChangeEvent(ChangeKind.WRITTEN, "memory_service.write", "append", "n.md", "ab" * 32, 12, 3)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "events"


def write_trail(folder, events=5, *, close=True, **options):
    """Leave a trail as one process would; one that isn't closed looks like that of a process that was killed."""
    child = os.fork()
    if child == 0:
        try:
            log = AuditLog(folder, KEY, **options)
            for _ in range(events):
                log.recorder(SCOPE, "c").note(WRITTEN)
            if close:
                log.close()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def only_file(folder):
    (file,) = folder.glob("events-*.jsonl")
    return file


def problems(folder, anchors=()):
    return [(p.sequence, p.what) for p in verify_files((folder,), KEY, anchors).problems]


def change_lines(file, change):
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))


def test_an_honest_trail_has_no_problem(folder):
    """Files of several processes, full and closed ones among them, verify."""
    write_trail(folder, 30, max_bytes=4096)
    write_trail(folder, 3, close=False)
    report = verify_files((folder,), KEY)
    assert report.problems == []
    assert [f.ending for f in report.files] == [Ending.CLOSED] * (len(report.files) - 1) + [Ending.OPEN]
    assert sum(f.records for f in report.files) == 33 + 2 * len(report.files) - 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda lines: [*lines[:2], lines[2].replace(b'"size_bytes":12', b'"size_bytes":13'), *lines[3:]], "changed"),
        (lambda lines: lines[:2] + lines[3:], "chain is broken"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "chain is broken"),
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], "chain is broken"),
        (lambda lines: lines[1:], "beginning is missing"),
        (lambda lines: [*lines[:2], b"nonsense\n", *lines[2:]], "isn't a record"),
        (lambda lines: [*lines, lines[-1]], "follow the one that ends"),
    ],
    ids=["changed", "removed", "swapped", "doubled", "beheaded", "inserted", "prolonged"],
)
def test_tampering_shows(folder, change, what):
    """Whatever is done between a file's first and last record is found, and where."""
    write_trail(folder)
    change_lines(only_file(folder), change)
    assert any(what in told for _, told in problems(folder)), problems(folder)


def test_a_trail_under_another_key_is_not_genuine(folder):
    """Who writes a file anew without the data folder's key is found out."""
    write_trail(folder)
    assert verify_files((folder,), b"x" * 32).problems


def test_a_renamed_file_shows(folder):
    """A file can't pass for another one."""
    write_trail(folder)
    file = only_file(folder)
    file.rename(file.with_name(file.name.replace("events-2", "events-3")))
    assert problems(folder) == [(1, "the file was renamed")]


def test_a_missing_file_shows_where_a_later_one_names_it(folder, tmp_path):
    """A full file that went away is missed; one that was moved to an archive isn't, if the archive is given."""
    write_trail(folder, 30, max_bytes=4096)
    first = min(folder.glob("events-*.jsonl"))
    archive = tmp_path / "archive"
    archive.mkdir()
    first.rename(archive / first.name)
    (problem,) = verify_files((folder,), KEY).problems
    assert (problem.file, problem.what) == (first.name, "the next file names this one, but it isn't here")
    assert verify_files((folder, archive), KEY).problems == []


def test_a_cut_end_shows_only_against_anchors(folder):
    """Records missing at an open end are found with an anchor only, and so is a file that was written anew."""
    write_trail(folder, close=False)
    head = json.loads(only_file(folder).read_bytes().splitlines()[-1])
    anchor = Head(only_file(folder).name, head["sequence"], head["hash"])
    assert problems(folder, [anchor]) == []
    assert verify_files((folder,), KEY, [anchor]).files[0].anchored == 6
    change_lines(only_file(folder), lambda lines: lines[:-2])
    assert problems(folder) == []
    assert problems(folder, [anchor]) == [(4, "the end is missing: an anchor knows record 6")]
    forged = Head(anchor.file, 4, "0" * 64)
    assert problems(folder, [forged]) == [(4, "an anchor knows another record here: the file was written anew")]
    only_file(folder).unlink()
    assert problems(folder, [anchor]) == [(0, "an anchor names this file, but it isn't here")]


def test_anchors_are_read_from_a_log_with_other_lines(folder):
    """A journal's own words and lines about other things don't disturb."""
    log = AuditLog(folder, KEY)
    log.recorder(SCOPE).note(WRITTEN)
    with capture_logs() as logged:
        log.close()
    text = [
        "{broken audit_anchor",
        "Dec 01 host app[1]: " + json.dumps(logged[0]),
        '{"event":"serving"}',
        "audit_anchor",
    ]
    (head,) = read_anchors(text)
    assert head == Head(only_file(folder).name, 3, logged[0]["hash"])


def test_a_dead_process_s_file_is_ended(folder):
    """The file of a killed process gets the record that says so, is chained, and is left alone from then on."""
    write_trail(folder, close=False)
    before = only_file(folder).read_bytes()
    assert mend_files(folder, KEY) == 1
    assert only_file(folder).read_bytes().startswith(before)
    report = verify_files((folder,), KEY)
    assert (report.problems, report.files[0].ending, report.files[0].torn_bytes) == ([], Ending.MENDED, 0)
    after = only_file(folder).read_bytes()
    assert mend_files(folder, KEY) == 0
    assert only_file(folder).read_bytes() == after


@pytest.mark.parametrize("torn", [b'{"format":1,"sequence":7,"ti', b"\0" * 5000, b"\0\n\0\n", b"x" * 200_000], ids=len)
def test_a_torn_tail_is_set_aside(folder, torn):
    """Half a record, or what a power cut made of it, is copied before it is cut, and the chain goes on."""
    write_trail(folder, close=False)
    whole = only_file(folder).read_bytes()
    only_file(folder).write_bytes(whole + torn)
    with capture_logs() as logged:
        assert mend_files(folder, KEY) == 1
    assert [(line["event"], line["torn_bytes"]) for line in logged] == [("audit_file_mended", len(torn))]
    (copy,) = folder.glob("*.torn")
    assert copy.read_bytes() == torn
    assert copy.stat().st_mode & 0o077 == 0
    report = verify_files((folder,), KEY)
    assert (report.problems, report.files[0].torn_bytes) == ([], len(torn))


def test_a_file_that_is_torn_from_its_beginning_is_mended(folder):
    """Nothing but garbage becomes a file with the one record that says so."""
    write_trail(folder, close=False)
    only_file(folder).write_bytes(b'{"format":1,')
    assert mend_files(folder, KEY) == 1
    report = verify_files((folder,), KEY)
    assert (report.problems, report.files[0].records, report.files[0].torn_bytes) == ([], 1, 12)


def test_tampering_isn_t_tidied_away(folder):
    """A last record that was changed is left for verifying to tell, however often servers start."""
    write_trail(folder, close=False)
    change_lines(only_file(folder), lambda lines: [*lines[:-1], lines[-1].replace(b'"version":3', b'"version":4')])
    before = only_file(folder).read_bytes()
    assert mend_files(folder, KEY) == 0
    assert only_file(folder).read_bytes() == before
    assert problems(folder) == [(6, "a record was changed, or written by someone without the key")]


def test_the_living_are_left_alone(folder):
    """A file whose process lives isn't mended, also not by another process."""
    log = AuditLog(folder, KEY)
    log.recorder(SCOPE).note(WRITTEN)
    assert mend_files(folder, KEY) == 0
    log.recorder(SCOPE).note(WRITTEN)
    log.close()
    assert problems(folder) == []


def test_records_are_read_in_the_order_of_time(folder):
    """Files of processes that ran side by side are merged, and a period cuts both ends."""
    start = datetime(2026, 12, 1, 9, tzinfo=UTC)
    times = iter(range(100))

    def now():
        return start + timedelta(seconds=next(times))

    logs = [AuditLog(folder, KEY, now=now) for _ in range(2)]
    for number in range(6):
        logs[number % 2].recorder(SCOPE, str(number)).note(WRITTEN)
    told = [r["correlation_id"] for r in read_records((folder,)) if r["kind"] == "written"]
    assert told == ["0", "1", "2", "3", "4", "5"]
    times_told = [datetime.fromisoformat(r["time"]) for r in read_records((folder,))]
    assert times_told == sorted(times_told)
    period = Period(times_told[2], times_told[4])
    assert [r["time"] for r in read_records((folder,), period)] == [
        t.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for t in times_told[2:4]
    ]
    for log in logs:
        log.close()


def told(follower):
    return [json.loads(line.data)["correlation_id"] for line in follower.look() if line.kind == "written"]


def test_a_follower_sees_what_comes_and_nothing_twice(folder):
    """From now on, over rotation, from several processes; a position goes on where it was taken."""
    first, second = AuditLog(folder, KEY, max_bytes=4096), AuditLog(folder, KEY)
    first.recorder(SCOPE, "old").note(WRITTEN)
    follower = Follower(folder)
    assert told(follower) == []
    expected = [str(number) for number in range(40)]
    for number in expected:
        (first if int(number) % 2 else second).recorder(SCOPE, number).note(WRITTEN)
    seen = told(follower)
    assert sorted(seen, key=int) == expected
    assert told(follower) == []
    place = follower.position()
    second.recorder(SCOPE, "late").note(WRITTEN)
    first.close()
    second.close()
    third = AuditLog(folder, KEY)
    third.recorder(SCOPE, "later").note(WRITTEN)
    assert told(Follower(folder, place)) == ["late", "later"]
    third.close()


def test_a_position_stays_small(folder):
    """Files that were read to their end are forgotten once none older can turn up, and aren't read again."""
    start = datetime(2026, 12, 1, 9, tzinfo=UTC)
    follower = Follower(folder)
    for minute in range(50):
        log = AuditLog(folder, KEY, now=lambda minute=minute: start + timedelta(minutes=minute))
        log.recorder(SCOPE, str(minute)).note(WRITTEN)
        log.close()
        assert told(follower) == [str(minute)]
    assert len(follower.position().offsets) <= 3
    assert told(Follower(folder, follower.position())) == []
    assert len(Follower(folder).position().offsets) <= 3


def test_a_cursor_is_believed_only_with_its_tag(folder):
    """A cursor comes back as it was; one that was altered, cut or made up is refused."""
    position = Position("events-2026", {"events-a.jsonl": 7})
    text = position.encode(KEY)
    assert decode_position(text, KEY) == position
    for wrong in (text[:-1], "A" + text[1:], text + "A", "", "?", "é", Position().encode(b"x" * 32)):
        with pytest.raises(CursorInvalid):
            decode_position(wrong, KEY)


def test_a_clock_that_was_set_back_hides_nothing(folder):
    """Files of a process that believes in an earlier time come after those that are there, for every follower."""
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
    for hour, name in ((0, "noon"), (-5, "morning"), (-9, "night")):
        log = AuditLog(folder, KEY, now=lambda hour=hour: noon + timedelta(hours=hour))
        if hour:
            place = Follower(folder).position()
        log.recorder(SCOPE, name).note(WRITTEN)
        log.close()
        if hour:
            assert told(Follower(folder, place)) == [name]


def test_a_record_that_was_taken_back_leaves_a_follower_in_step(folder):
    """Where a file became shorter, a follower goes on at its new end."""
    write_trail(folder, close=False)
    follower = Follower(folder, Position())
    assert len(told(follower)) == 5
    change_lines(only_file(folder), lambda lines: lines[:-1])
    assert told(follower) == []
    mend_files(folder, KEY)
    assert [line.kind for line in follower.look()] == ["mended"]
