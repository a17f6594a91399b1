"""The copy of the trail for OpenTelemetry, over the wire: a collector gets what the files have."""

from __future__ import annotations

import json
from concurrent import futures

import grpc
import pytest

from tests.caller import Caller
from tests.server_process import run_server, wait_until

logs_service_pb2 = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
logs_service_pb2_grpc = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc")

ALICE = {"tenant": "acme", "user": "alice"}


class Collector(logs_service_pb2_grpc.LogsServiceServicer):
    """Keeps the log records that it is sent."""

    def __init__(self):
        self.records = []

    def Export(self, request, context):  # noqa: N802
        self.records += [r for rl in request.resource_logs for sl in rl.scope_logs for r in sl.log_records]
        return logs_service_pb2.ExportLogsServiceResponse()


@pytest.fixture
def collector():
    server = grpc.server(futures.ThreadPoolExecutor(2))
    collector = Collector()
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(collector, server)
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield collector
    server.stop(None).wait()


def test_a_collector_gets_a_copy(tmp_path, collector):
    """Each record of the files arrives with its place in the trail, at the latest when the server stops."""
    with run_server(tmp_path / "data", otlp_endpoint=collector.endpoint) as server, server.channel() as channel:
        Caller(channel, ALICE).write("notes/tea.md", "likes tea")
        Caller(channel, ALICE).call("Search", {"query": "tea"})
    (file,) = (tmp_path / "data" / "events").iterdir()
    stored = [json.loads(line) for line in file.read_text().splitlines()][1:-1]
    wait_until(lambda: len(collector.records) == len(stored), 10, "everything arrived")
    for sent, record in zip(collector.records, stored, strict=True):
        attributes = {pair.key: pair.value for pair in sent.attributes}
        assert sent.body.string_value == record["kind"]
        assert attributes["ironclaw.hash"].string_value == record["hash"]
        assert attributes["ironclaw.sequence"].int_value == record["sequence"]
        assert attributes["ironclaw.scope.user"].string_value == "alice"
    assert "tea" not in str(collector.records)


def test_an_endpoint_that_is_none_is_refused(tmp_path):
    """A wrong setting is said at the start."""
    with pytest.raises(AssertionError, match="must begin with http"), run_server(tmp_path / "data", otlp_endpoint="x"):
        pass
