"""Arguments on their way out and answers on their way in; the two clients as twins; the public names."""

import inspect
from datetime import UTC, datetime

import pytest

import ironclaw_memory_client as package
from ironclaw.memory.v1 import admin_service_pb2 as admin
from ironclaw.memory.v1 import advisory_pb2 as advisory
from ironclaw.memory.v1 import lifecycle_service_pb2 as lifecycle
from ironclaw.memory.v1 import memory_service_pb2 as memory
from ironclaw_memory_client import AsyncMemoryClient, MemoryClient, results

from .scripted import SERVICES


def test_absent_arguments_stay_absent(connect, script):
    """Defaults are the server's: what the caller leaves out isn't set on the wire."""
    script.answers = [memory.WriteResponse(), memory.SearchResponse(), memory.TreeResponse()]
    client = connect(script.target)
    client.write("tea")
    client.search("tea")
    client.tree()
    assert [seen.request for seen in script.seen] == [
        memory.WriteRequest(content="tea"),
        memory.SearchRequest(query="tea"),
        memory.TreeRequest(),
    ]


def test_falsy_arguments_are_sent(connect, script):
    """False, zero and the empty text are not absent."""
    script.answers = [memory.WriteResponse(), memory.SearchResponse()]
    client = connect(script.target)
    client.write("", target="", append=False, old_string="", replace_all=False, metadata={})
    client.search("tea", limit=0, min_score=0.0)
    request, search = (seen.request for seen in script.seen)
    assert all(request.HasField(name) for name in ("target", "append", "old_string", "replace_all", "metadata"))
    assert not request.HasField("new_string")
    assert search.HasField("limit")
    assert search.HasField("min_score")


def test_metadata_and_preconditions_are_sent(connect, script):
    """Nested metadata arrives as it is, null included, and each precondition sets its own field."""
    script.answers = [memory.WriteResponse(), memory.WriteResponse()]
    client = connect(script.target)
    metadata = {"schema": None, "hygiene": {"enabled": True, "retention_days": 3}, "tags": ["a", "b"]}
    client.write("tea", metadata=metadata, expected_sha256="0" * 64)
    client.write("tea", must_not_exist=True)
    first, second = (seen.request for seen in script.seen)
    assert dict(first.metadata)["schema"] is None
    assert first.metadata["hygiene"]["retention_days"] == 3
    assert list(first.metadata["tags"]) == ["a", "b"]
    assert first.WhichOneof("precondition") == "expected_sha256"
    assert second.WhichOneof("precondition") == "must_not_exist"


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "\ud800"},
        {"metadata": {"a": object()}},
        {"metadata": {1: 2}},
        {"metadata": {"a": "\ud800"}},
        {"expected_sha256": "0" * 64, "must_not_exist": True},
    ],
)
def test_what_cant_be_sent_is_a_value_error(connect, script, wrong):
    """An argument that the wire can't carry is refused before anything is sent."""
    with pytest.raises(ValueError, match=r"."):
        connect(script.target).write(**wrong)
    assert script.seen == []


def test_a_write_answer_is_read_whole(connect, script):
    """Every field of the answer is on the result; what the server left out is None."""
    near = advisory.Advisory(code="ADVISORY_CODE_NEAR_DUPLICATE", message="Merge.", line="- tea")
    many = advisory.Advisory(code="ADVISORY_CODE_MULTIPLE_MATCHES", message="Three.", count=3)
    new = advisory.Advisory(code=99, message="?")
    script.answers = [
        memory.WriteResponse(
            status="WRITE_STATUS_PATCHED",
            path="a.md",
            replacements=1,
            content_length=5,
            content_sha256="ab",
            advisories=[near, many, new],
            replayed=True,
        )
    ]
    assert connect(script.target).write(old_string="a", new_string="b") == results.WriteResult(
        status="patched",
        path="a.md",
        append=None,
        replacements=1,
        message=None,
        content_length=5,
        content_sha256="ab",
        advisories=(
            results.Advisory("near_duplicate", "Merge.", line="- tea"),
            results.Advisory("multiple_matches", "Three.", count=3),
            results.Advisory("unknown_99", "?"),
        ),
        replayed=True,
    )


def test_a_tree_answer_keeps_its_shape(connect, script):
    """Folders, opened or not, and documents come back nested as they are."""
    document = memory.TreeEntry(name="a.md", kind="TREE_ENTRY_KIND_DOCUMENT")
    opened = memory.TreeEntry(name="daily", kind="TREE_ENTRY_KIND_FOLDER", expanded=True, children=[document])
    script.answers = [memory.TreeResponse(entries=[opened], truncated=True)]
    tree = connect(script.target).tree(depth=2)
    leaf = results.TreeEntry("a.md", is_folder=False, expanded=False, children=())
    assert tree == results.TreeResult(
        (results.TreeEntry("daily", is_folder=True, expanded=True, children=(leaf,)),), True
    )


def test_versions_are_fetched_page_by_page(connect, script):
    """The listing goes on with each page's token until there is none, under the scope of the call."""

    def page(number, token):
        version = admin.DocumentVersion(version=number, reason="VERSION_REASON_DELETED")
        version.kept_at.FromDatetime(datetime(2026, 12, 1, 8, tzinfo=UTC))
        return admin.ListVersionsResponse(versions=[version], next_page_token=token)

    script.answers = [page(2, "more"), page(1, "")]
    versions = list(connect(script.target).list_versions("a.md", page_size=1))
    assert [(v.version, v.reason, v.kept_at) for v in versions] == [
        (2, "deleted", datetime(2026, 12, 1, 8, tzinfo=UTC)),
        (1, "deleted", datetime(2026, 12, 1, 8, tzinfo=UTC)),
    ]
    assert [(s.request.page_token, s.request.page_size) for s in script.seen] == [("", 1), ("more", 1)]


@pytest.mark.parametrize(("number", "expected"), [(0, None), (7, 7)])
def test_a_deletion_that_kept_nothing_says_none(connect, script, number, expected):
    """Version 0 on the wire means that nothing was kept."""
    script.answers = [admin.DeleteDocumentResponse(kept_version=number)]
    assert connect(script.target).delete_document("a.md").kept_version == expected


def test_a_scope_in_numbers(connect, script):
    """An index that was never built has no age; problems come with their paths."""
    problem = admin.DocumentProblem(path="a.bin", problem="not text")
    script.answers = [admin.GetScopeStatsResponse(documents=2, problems=[problem])]
    stats = connect(script.target).get_scope_stats()
    assert (stats.documents, stats.index_age) == (2, None)
    assert stats.problems == (results.DocumentProblem("a.bin", "not text"),)


def test_a_turns_calls_carry_a_request_id_only_where_it_is_used(connect, script):
    """Recording and claiming can be repeated by their id; the end of a claim is known by its lease."""
    script.answers = [
        lifecycle.RecordInteractionResponse(),
        lifecycle.ClaimCurationResponse(),
        lifecycle.CompleteCurationResponse(),
        lifecycle.RetrieveContextResponse(),
    ]
    client = connect(script.target)
    client.record_interaction([results.InteractionMessage("user", "hi", "ann")], turn_run_id="r", background=True)
    client.claim_curation(lease_seconds=0)
    client.complete_curation("l", content="", report=results.CurationReport(kept=1, conflicts=("Two towns.",)))
    client.retrieve_context("tea")
    carries = ["x-ironclaw-request-id" in seen.metadata for seen in script.seen]
    assert carries == [True, True, False, False]
    record, claim, complete, retrieve = (seen.request for seen in script.seen)
    said = lifecycle.InteractionMessage(role="MESSAGE_ROLE_USER", content="hi", name="ann")
    assert record == lifecycle.RecordInteractionRequest(messages=[said], turn_run_id="r", background=True)
    assert claim == lifecycle.ClaimCurationRequest(lease_seconds=0)
    assert complete.HasField("content")
    assert complete.report == lifecycle.CurationReport(kept=1, conflicts=["Two towns."])
    assert retrieve == lifecycle.RetrieveContextRequest(query="tea", max_snippets=50)


@pytest.mark.parametrize("role", ["", "unspecified", "human"])
def test_a_role_that_nobody_has_is_a_value_error(connect, script, role):
    """A message whose speaker the wire can't name is refused before anything is sent."""
    with pytest.raises(ValueError, match="no role"):
        connect(script.target).record_interaction([results.InteractionMessage(role, "hi")], turn_run_id="r")
    assert script.seen == []


def methods(cls):
    """Return the public methods with their signatures, whatever they return."""
    found = inspect.getmembers(cls, inspect.isfunction)
    return {name: inspect.signature(f).replace(return_annotation=None) for name, f in found if name[0] != "_"}


def test_both_clients_have_the_same_methods_and_arguments():
    """What is learned with one client holds for the other."""
    assert methods(MemoryClient) == methods(AsyncMemoryClient)
    assert inspect.signature(MemoryClient) == inspect.signature(AsyncMemoryClient)


def test_every_rpc_has_a_method():
    """No RPC of the services is out of the client's reach."""
    names = {method.name for service in SERVICES for method in service.methods}
    spelled = {"".join(part.title() for part in name.split("_")) for name in methods(MemoryClient)}
    assert names - spelled == {"InvokeTool"}, "invoke is InvokeTool"
    assert "Invoke" in spelled


@pytest.mark.parametrize(
    ("message", "result"),
    [
        (memory.WriteResponse, results.WriteResult),
        (memory.ReadResponse, results.ReadResult),
        (memory.SearchResult, results.SearchHit),
        (memory.TreeResponse, results.TreeResult),
        (memory.ProfileSetResponse, results.ProfileSetResult),
        (memory.Tool, results.Tool),
        (memory.ListToolsResponse, results.ToolCatalogue),
        (memory.ToolError, results.ToolError),
        (memory.InvokeToolResponse, results.InvokeResult),
        (advisory.Advisory, results.Advisory),
        (admin.DocumentVersion, results.DocumentVersion),
        (admin.ReadVersionResponse, results.VersionContent),
        (admin.RestoreVersionResponse, results.RestoreResult),
        (admin.DeleteDocumentResponse, results.DeleteResult),
        (admin.GetScopeStatsResponse, results.ScopeStats),
        (admin.DocumentProblem, results.DocumentProblem),
        (lifecycle.SnippetScope, results.SnippetScope),
        (lifecycle.MemorySnippet, results.MemorySnippet),
        (lifecycle.ReadLongTermResponse, results.LongTermLane),
        (lifecycle.ReadShortTermResponse, results.ShortTermLane),
        (lifecycle.ContextSnippet, results.ContextSnippet),
        (lifecycle.LaneStatus, results.LaneStatus),
        (lifecycle.RetrieveContextResponse, results.RetrievedContext),
        (lifecycle.InteractionMessage, results.InteractionMessage),
        (lifecycle.RecordInteractionResponse, results.RecordResult),
        (lifecycle.ProfileReadResponse, results.ProfileDocument),
        (lifecycle.ClaimCurationResponse, results.CurationClaim),
        (lifecycle.CurationReport, results.CurationReport),
        (lifecycle.CompleteCurationResponse, results.CurationResult),
    ],
)
def test_results_have_the_wires_fields(message, result):
    """A field that the protos gain has to be decided on here: a result has the fields of its message, by name."""
    assert [field.name for field in message.DESCRIPTOR.fields] == list(result.__dataclass_fields__)


def test_public_names_are_listed():
    """`__all__` is what the package imports, and nothing more."""
    public = {n for n, v in vars(package).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert set(package.__all__) == public
