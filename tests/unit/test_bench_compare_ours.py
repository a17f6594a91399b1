"""What the comparison says of the service itself, held against the service: every guarantee is tried as in a run."""

import shutil

import pytest

from bench.compare.guarantees import GUARANTEES, try_guarantees
from bench.compare.material import read_locomo, read_own
from bench.compare.recall import measure_recall
from bench.compare.rivals import OURS, Rival, prepare
from bench.compare.speed import LANES, OPERATIONS, Plan, measure_speed
from tests.unit.test_bench_compare import locomo

TINY = Plan(facts=5, load_seconds=60.0, seconds=0.1, conversations=1, questions=9, timed=3, appends=5, acknowledged=3)


@pytest.fixture
def ours(tmp_path) -> Rival:
    (prepared,) = prepare(tmp_path / "rivals", {OURS})
    assert isinstance(prepared, Rival)
    return prepared


@pytest.fixture
def material(tmp_path):
    path = tmp_path / "material.json"
    read_own().write(path)
    return path


@pytest.mark.timeout(300)  # three servers, one of them under strace
def test_every_guarantee_holds_for_the_service(ours, tmp_path, material):
    findings, languages = try_guarantees(ours, tmp_path, material, TINY)
    assert set(findings) == set(GUARANTEES)
    unseen = set() if shutil.which("strace") else {"synced"}
    assert {name: found for name, found in findings.items() if found.holds != "yes" and name not in unseen} == {}
    assert languages


@pytest.mark.timeout(300)
def test_every_operation_of_the_service_is_measured(ours, tmp_path, material):
    speed = measure_speed(ours, tmp_path, material, TINY)
    assert speed.texts == TINY.facts
    assert {name: set(by_lanes) for name, by_lanes in speed.stretches.items()} == {
        name: set(LANES) for name in OPERATIONS
    }
    assert not speed.lacks
    assert speed.resident_mib > 0
    assert speed.disk_mib > 0


@pytest.mark.timeout(300)
def test_what_was_said_in_a_conversation_is_recalled(ours, tmp_path):
    said, path = read_locomo(locomo(tmp_path), 1, 9), tmp_path / "said.json"
    said.write(path)
    recall = measure_recall(ours, tmp_path, path, said)
    assert recall.questions == 2
    assert recall.means["hit@5"] == 1.0
