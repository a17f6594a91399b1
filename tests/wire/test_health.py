"""Health and reflection: what an orchestrator and a person with grpcurl ask, without any scope."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.caller import SERVICES
from tests.server_process import run_server

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
HEALTH = "grpc.health.v1.Health"


@pytest.fixture
def health(caller):
    """The health service's stub."""
    return health_pb2_grpc.HealthStub(caller.channel)


@pytest.mark.parametrize("name", ["", *SERVICES])
def test_serving(name, health):
    """The server as a whole and each of its services are serving, by their full names."""
    assert health.Check(health_pb2.HealthCheckRequest(service=name), timeout=10).status == SERVING


@pytest.mark.parametrize("name", ["nobody", "MemoryService", "ironclaw.memory.v1"])
def test_unknown_service_name(name, health):
    """A name that isn't served is not found, and a watch on it says unknown instead of failing."""
    with pytest.raises(grpc.RpcError) as raised:
        health.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    watch = health.Watch(health_pb2.HealthCheckRequest(service=name), timeout=10)
    assert next(watch).status == UNKNOWN
    watch.cancel()


def test_malformed_health_check_is_no_outage(caller, health):
    """Broken bytes to the health service fail that call alone."""
    with pytest.raises(grpc.RpcError):
        caller.channel.unary_unary(f"/{HEALTH}/Check")(b"\xff", timeout=10)
    assert health.Check(health_pb2.HealthCheckRequest(), timeout=10).status == SERVING


@pytest.mark.parametrize("name", ["", *SERVICES])
def test_watch_sees_the_end(name, tmp_path):
    """A watcher is told that the server drains, and an open watch doesn't hold up the shutdown."""
    with run_server(tmp_path / "data", grace_seconds=20) as server, server.channel() as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=name), timeout=30)
        assert next(watch).status == SERVING
        server.terminate()
        assert next(watch).status == NOT_SERVING
        assert server.wait(10) == 0
        watch.cancel()


def test_reflection_lists_what_is_served(caller):
    """Reflection names the product's services, health and itself."""
    listed = set(ProtoReflectionDescriptorDatabase(caller.channel).get_services())
    assert listed == {*SERVICES, HEALTH, *(f"grpc.reflection.{v}.ServerReflection" for v in ("v1alpha", "v1"))}


@pytest.mark.parametrize("version", ["v1alpha", "v1"])
@pytest.mark.parametrize(
    ("symbol", "is_known"),
    [
        ("ironclaw.memory.v1.MemoryService", True),
        ("ironclaw.memory.v1.MemoryService.Write", True),
        ("ironclaw.memory.v1.WriteRequest", True),
        ("ironclaw.memory.v1.MemoryService.Nothing", False),
        ("ironclaw.memory.v2.MemoryService.Write", False),
        ("Write", False),
    ],
)
def test_reflection_finds_symbols(version, symbol, is_known, caller):
    """Services, methods and messages are found by their full names in both versions of the protocol; others aren't."""
    ask = caller.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
    (answer,) = ask(iter([request]), timeout=10)
    assert answer.HasField("file_descriptor_response") == is_known
    assert answer.HasField("error_response") != is_known


@pytest.mark.parametrize("name", SERVICES)
def test_reflection_describes_services(name, caller):
    """What reflection tells of a service is what its generated code says."""
    pool = DescriptorPool(ProtoReflectionDescriptorDatabase(caller.channel))
    described = pool.FindServiceByName(name)
    expected = SERVICES[name]
    assert [(m.name, m.input_type.full_name, m.output_type.full_name) for m in described.methods] == [
        (m.name, m.input_type.full_name, m.output_type.full_name) for m in expected.methods
    ]
