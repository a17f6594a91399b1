"""The load bench: what it calls, counts and draws."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from google.protobuf import json_format

from bench import corpus
from bench.load.ghz import read_result
from bench.load.loads import SCOPE, SIDE_BY_SIDE, SINGLE_LOADS, TURN, TURN_CONFIGS, WRITTEN, Result
from bench.load.measure import LoadPlan, measure_workers, share_out
from bench.load.page import make_page
from bench.load.turns import TurnJob, play_turns
from bench.processes import REPOSITORY
from bench.sample import Round
from bench.traffic import Traffic, send
from ironclaw.memory.v1 import lifecycle_service_pb2, memory_service_pb2
from tests.server_process import run_server

CONFIGS = [*(load.config for load in SINGLE_LOADS), *TURN_CONFIGS]
SERVICES = {
    service.full_name: service
    for module in (memory_service_pb2, lifecycle_service_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
}


def read_config(name):
    return json.loads((REPOSITORY / "load" / f"{name}.json").read_text("utf-8"))


def message_class(config):
    """Return the class of the request that a configuration's method takes."""
    service, _, method = config["call"].partition("/")
    full_name = SERVICES[service].methods_by_name[method].input_type
    module = lifecycle_service_pb2 if "Lifecycle" in service else memory_service_pb2
    return getattr(module, full_name.name)


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations(name):
    """Each configuration names a method that exists, in its proto, and requests that it takes, of the seeded scope."""
    config = read_config(name)
    assert (REPOSITORY / config["proto"]).is_file()
    assert SCOPE.metadata == tuple(list(config["metadata"].items())[:2])
    for data in config["data"]:
        filled = json.loads(re.sub(r"{{.*?}}", "7", json.dumps(data)))
        json_format.ParseDict(filled, message_class(config)())


def test_configured_documents():
    """What ghz reads is there, and it writes as many documents as the Python client does."""
    seeded = {corpus.document_path(number) for number in range(SCOPE.documents)}
    assert {data["path"] for data in read_config("read")["data"]} <= seeded
    written = {data["target"] for data in read_config("write")["data"]}
    assert len(written) == WRITTEN
    assert written <= seeded


def test_ghz_result():
    """Only calls that ended OK have a latency; all others are counted by the code's name on the wire."""
    details = [{"latency": 2_000_000, "status": "OK"}, {"latency": 9_000_000, "status": "DeadlineExceeded"}]
    codes = {"OK": 1, "DeadlineExceeded": 1}
    outcome = read_result({"total": 500_000_000, "details": details, "statusCodeDistribution": codes})
    assert outcome.latencies == [0.002]
    assert outcome.failures == {"DEADLINE_EXCEEDED": 1}
    assert outcome.seconds == 0.5


def test_shares():
    """Every client is played by one process, and no process plays nobody."""
    assert share_out(5, 2) == [3, 2]
    assert share_out(1, 4) == [1]


def test_statuses(tmp_path):
    """Calls that are answered with an error over a sound connection are failures, by code and reason."""
    with run_server(tmp_path / "data") as server:
        method, request = "/ironclaw.memory.v1.MemoryService/Read", memory_service_pb2.ReadRequest(path="none.md")
        calls = [(request.SerializeToString(), SCOPE.metadata), (request.SerializeToString(), ())]
        outcome = send(Traffic(server.address, method, calls, 0.3, lanes=2, connections=2))
        arrived = send(Traffic(server.address, method, calls, 0.3, rate=200, connections=2))
    for each in (outcome, arrived):
        assert not each.latencies
        assert set(each.failures) == {"NOT_FOUND NOT_FOUND", "INVALID_ARGUMENT SCOPE_MISSING"}


def test_turns(tmp_path):
    """Turns are whole: each finds what the turn before wrote, or counts as failed."""
    with run_server(tmp_path / "data") as server:
        outcome = play_turns(TurnJob(server.address, 2, 0.5, "t"))
    assert outcome.latencies
    assert not outcome.failures


def test_overloaded_turns(tmp_path):
    """A turn one of whose calls is refused isn't counted as done."""
    with run_server(tmp_path / "data", tenant_calls_per_second=4) as server:
        outcome = play_turns(TurnJob(server.address, 1, 1.0, "t"))
    assert any(failure.endswith("RESOURCE_EXHAUSTED RATE_LIMITED") for failure in outcome.failures)


def test_measuring(tmp_path):
    """Without ghz the Python client does all five loads, and the server's CPU and memory are told for each."""
    results = list(measure_workers(LoadPlan(0.3, 2, 1, None, tmp_path), 1))
    assert [result.load for result in results] == ["Read", "Search", "RetrieveContext", "Write", TURN]
    for result in results:
        assert result.client == "Python"
        assert not result.failures
        assert result.taken.calls > 0
        assert result.server_cores > 0
        assert result.peak_mib > 1


def made_up_results(failures):
    taken = Round(100, 1.0, 900.0, 4_000.0, 12_000.0, failures)
    for workers in (1, 2):
        for load in ("Read", TURN, SIDE_BY_SIDE):
            offered = 60.0 if load == SIDE_BY_SIDE else 0.0
            yield Result(load, workers, "ghz", replace(taken, calls=100 * workers), 100, 0.5, 101.0, offered)


def test_page():
    """The page stands alone, shows every load, and its drawings are well-formed."""
    page = make_page(list(made_up_results({})), 10.0, 16)
    assert "http" not in page
    assert "<script" not in page
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) == 4
    for drawing in drawings:
        names = [text.text for text in ET.fromstring(drawing).iter("text")]  # noqa: S314  # our own text
        assert {"Read", "Turn", "side by side"} <= set(names)
    assert "None in 900 calls and turns" in page


def test_page_of_failures():
    """What failed is on the page, by load and status, and nothing in it is taken for HTML."""
    page = make_page(list(made_up_results({"UNAVAILABLE <b>": 3})), 10.0, 16)
    assert "UNAVAILABLE &lt;b&gt;" in page
    assert "None in" not in page
