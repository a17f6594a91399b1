"""One contract, said three times: JSON schemas for models, proto messages for hosts, Python values for the code.

Each has the same names, the same presence and the same defaults; what only one side has is listed here, with nothing
else allowed.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf import json_format, message
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ironclaw.memory.v1 import advisory_pb2, memory_service_pb2
from ironclaw_memory.catalog import Catalog, ToolDescription, load_catalog
from ironclaw_memory.contract.advisories import Advisory, AdvisoryCode
from ironclaw_memory.contract.arguments import (
    PARSERS,
    ProfileSetArguments,
    ReadArguments,
    SearchArguments,
    ToolId,
    TreeArguments,
    WriteArguments,
)
from ironclaw_memory.contract.results import ProfileSetResult, ReadResult, SearchHitResult, SearchResult, WriteResult
from ironclaw_memory.contract.results import WriteStatus as Status

TOOLS = {tool.id: tool for tool in load_catalog().tools}

REQUESTS: dict[ToolId, tuple[type[BaseModel], type[message.Message]]] = {
    ToolId.WRITE: (WriteArguments, memory_service_pb2.WriteRequest),
    ToolId.READ: (ReadArguments, memory_service_pb2.ReadRequest),
    ToolId.SEARCH: (SearchArguments, memory_service_pb2.SearchRequest),
    ToolId.TREE: (TreeArguments, memory_service_pb2.TreeRequest),
    ToolId.PROFILE_SET: (ProfileSetArguments, memory_service_pb2.ProfileSetRequest),
}

HOST_ARGUMENTS = {
    ToolId.WRITE: {"expected_sha256", "must_not_exist"},
    ToolId.SEARCH: {"path_prefix", "min_score"},
}
"""Arguments that only a host can give: no schema shows them to a model."""

RESPONSES: dict[ToolId, tuple[type[Any], Descriptor]] = {
    ToolId.WRITE: (WriteResult, memory_service_pb2.WriteResponse.DESCRIPTOR),
    ToolId.READ: (ReadResult, memory_service_pb2.ReadResponse.DESCRIPTOR),
    ToolId.SEARCH: (SearchResult, memory_service_pb2.SearchResponse.DESCRIPTOR),
    ToolId.PROFILE_SET: (ProfileSetResult, memory_service_pb2.ProfileSetResponse.DESCRIPTOR),
}

HOST_RESULTS = {
    ToolId.WRITE: {"content_sha256", "advisories", "replayed"},
    ToolId.READ: {"content_sha256", "size_bytes", "updated_at", "version"},
    ToolId.SEARCH: {"documents_searched"},
    ToolId.PROFILE_SET: {"replayed"},
}
"""Results that only gRPC answers."""

CONSTANT_RESULTS = {
    ToolId.SEARCH: {"result_count", "search_scope", "external_services_searched"},
    ToolId.PROFILE_SET: {"status"},
}
"""Results that need no field of the Python value: they follow from the rest or never change."""

ZEROS: tuple[Any, ...] = ("", 0, 0.0, False)
"""What proto3 reads in a field without presence that was not sent."""

JSON_TYPES = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_INT32: "integer",
    FieldDescriptor.TYPE_UINT32: "integer",
    FieldDescriptor.TYPE_UINT64: "integer",
    FieldDescriptor.TYPE_DOUBLE: "number",
    FieldDescriptor.TYPE_MESSAGE: "object",
}

EACH_TOOL = pytest.mark.parametrize("tool", ToolId)
EACH_RESULT = pytest.mark.parametrize("tool", RESPONSES)


def input_schema(tool: ToolId) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(TOOLS[tool].input_schema_json)
    return schema


def output_properties(tool: ToolId) -> dict[str, Any]:
    properties: dict[str, Any] = json.loads(TOOLS[tool].output_schema_json)["properties"]
    return properties


def request_fields(tool: ToolId) -> Mapping[str, FieldDescriptor]:
    return REQUESTS[tool][1].DESCRIPTOR.fields_by_name


def model_fields(tool: ToolId) -> dict[str, FieldInfo]:
    return REQUESTS[tool][0].model_fields


def names(value_type: type[Any]) -> set[str]:
    return {field.name for field in dataclasses.fields(value_type)}


# -------------------------------------------------------------------------------------------------------- arguments


@EACH_TOOL
def test_arguments_have_the_same_names(tool: ToolId) -> None:
    """Message and model agree whole; the schema leaves out what only a host can give."""
    assert set(request_fields(tool)) == set(model_fields(tool))
    assert set(input_schema(tool)["properties"]) == set(model_fields(tool)) - HOST_ARGUMENTS.get(tool, set())


@EACH_TOOL
def test_arguments_have_the_same_defaults(tool: ToolId) -> None:
    """What a schema calls the default is the model's; where the model knows absence, the schema has none."""
    for name, argument in input_schema(tool)["properties"].items():
        field = model_fields(tool)[name]
        expected = None if field.is_required() else field.default
        assert argument.get("default") == expected, name


@EACH_TOOL
def test_required_arguments_are_the_same(tool: ToolId) -> None:
    """A schema requires what the model has no default for."""
    required = {name for name, field in model_fields(tool).items() if field.is_required()}
    assert set(input_schema(tool).get("required", ())) == required


@EACH_TOOL
def test_absence_can_be_told_wherever_it_matters(tool: ToolId) -> None:
    """A field whose default isn't what proto3 reads for "not sent" is `optional`; a required one never is."""
    for name, field in model_fields(tool).items():
        has_presence = request_fields(tool)[name].has_presence
        if field.is_required():
            assert not has_presence, name
        elif field.default not in ZEROS:
            assert has_presence, name


@EACH_TOOL
def test_arguments_have_the_same_types(tool: ToolId) -> None:
    """A string, a boolean, a whole number or an object on every side, and never a list of them."""
    for name, argument in input_schema(tool)["properties"].items():
        field = request_fields(tool)[name]
        assert not field.is_repeated, name
        assert JSON_TYPES[field.type] == argument["type"], name


@EACH_TOOL
def test_a_request_that_says_nothing_reads_as_no_arguments(tool: ToolId) -> None:
    """The JSON of an empty message is the empty object, so defaults are settled in one place."""
    assert json_format.MessageToDict(REQUESTS[tool][1](), preserving_proto_field_name=True) == {}


def examples(catalog: Catalog) -> list[tuple[ToolId, dict[str, Any]]]:
    fence = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(tool.id, json.loads(text)) for tool in catalog.tools for text in fence.findall(tool.prompt)]


@pytest.mark.parametrize(("tool", "sent"), examples(load_catalog()))
def test_a_request_as_json_is_the_argument_object(tool: ToolId, sent: dict[str, Any]) -> None:
    """A call goes from JSON into the message and back unchanged, and both are read as the same arguments."""
    request = json_format.ParseDict(sent, REQUESTS[tool][1]())
    returned = json_format.MessageToDict(request, preserving_proto_field_name=True)
    assert returned == sent
    assert PARSERS[tool](returned) == PARSERS[tool](sent)


# ---------------------------------------------------------------------------------------------------------- results


@EACH_RESULT
def test_results_have_the_same_names(tool: ToolId) -> None:
    """Message and value agree but for constants; the schema leaves out what only gRPC answers."""
    value_type, descriptor = RESPONSES[tool]
    fields = set(descriptor.fields_by_name)
    assert names(value_type) == fields - CONSTANT_RESULTS.get(tool, set())
    assert set(output_properties(tool)) == fields - HOST_RESULTS[tool]


@EACH_RESULT
def test_results_that_may_be_absent_are_optional_on_the_wire(tool: ToolId) -> None:
    """What a schema doesn't require can be absent in the message and is None in the value."""
    value_type, descriptor = RESPONSES[tool]
    required = set(json.loads(TOOLS[tool].output_schema_json)["required"])
    optional = set(output_properties(tool)) - required
    assert optional == {field.name for field in dataclasses.fields(value_type) if field.default is None}
    assert optional == {
        field.name
        for field in descriptor.fields
        if field.has_presence and field.message_type is None and field.name not in HOST_RESULTS[tool]
    }


def test_a_search_result_has_the_same_names_everywhere() -> None:
    """One element of `results` in the schema, on the wire and in Python."""
    element = output_properties(ToolId.SEARCH)["results"]["items"]
    expected = set(memory_service_pb2.SearchResult.DESCRIPTOR.fields_by_name)
    assert set(element["properties"]) == set(element["required"]) == names(SearchHitResult) == expected


def enum_names(enum: Any, prefix: str) -> set[str]:
    return {name.removeprefix(prefix) for name in enum.keys() if not name.endswith("_UNSPECIFIED")}  # noqa: SIM118


def test_write_statuses_are_the_same() -> None:
    """The schema's words are the enum's names in lower case."""
    expected = enum_names(memory_service_pb2.WriteStatus, "WRITE_STATUS_")
    assert {status.name for status in Status} == expected
    assert [status.value for status in Status] == output_properties(ToolId.WRITE)["status"]["enum"]
    assert {status.value.upper() for status in Status} == expected


def test_the_profile_has_one_status() -> None:
    """The only outcome is ok; everything else is an error."""
    assert enum_names(memory_service_pb2.ProfileSetStatus, "PROFILE_SET_STATUS_") == {"OK"}
    assert output_properties(ToolId.PROFILE_SET)["status"] == {
        "const": "ok",
        "description": "Always ok; a failure is reported as an error.",
    }


def test_advisories_are_the_same() -> None:
    """Codes and fields agree; a record has the fields' names too."""
    assert {code.name for code in AdvisoryCode} == enum_names(advisory_pb2.AdvisoryCode, "ADVISORY_CODE_")
    assert names(Advisory) == set(advisory_pb2.Advisory.DESCRIPTOR.fields_by_name)
    full = Advisory(AdvisoryCode.NEAR_DUPLICATE, "x", line="y", count=2)
    assert full.to_record().keys() == names(Advisory)
    assert Advisory.from_record(full.to_record()) == full


def test_the_catalogue_is_the_same() -> None:
    """`ListTools` has a field for all that the catalogue holds, and nothing more."""
    assert names(ToolDescription) == set(memory_service_pb2.Tool.DESCRIPTOR.fields_by_name)
    assert names(Catalog) == set(memory_service_pb2.ListToolsResponse.DESCRIPTOR.fields_by_name)


def test_constant_results_are_what_the_protocol_says() -> None:
    """The two constants of a search stand in the schema as such."""
    properties = output_properties(ToolId.SEARCH)
    answer = SearchResult("x", (), 0).to_tool_json()
    assert answer["search_scope"] == properties["search_scope"]["const"]
    assert answer["external_services_searched"] is properties["external_services_searched"]["const"]
