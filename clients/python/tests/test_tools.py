"""The catalogue as function definitions, and names on their way back."""

import json
import re

import pytest

from ironclaw_memory_client import (
    InvokeResult,
    Tool,
    ToolCatalogue,
    ToolError,
    function_name,
    system_prompt,
    tool_id,
    tools_for_anthropic,
    tools_for_mcp,
    tools_for_openai,
)

IDS = [f"ironclaw.memory.{name}" for name in ("write", "read", "search", "tree", "profile_set")]
INPUT = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x", "type": "object", "properties": {}}
WRITE = Tool(IDS[0], "Stores a fact.", json.dumps(INPUT), '{"type": "object"}', "Use it when asked.", writes=True)
TREE = Tool(IDS[3], "Lists.", json.dumps(INPUT), '{"type": "array"}', "", writes=False)


@pytest.mark.parametrize("name", IDS)
def test_names_go_out_legal_and_come_back_whole(name):
    """Each id becomes a name that model APIs take, and either form comes back as the id."""
    mapped = function_name(name)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", mapped)
    assert tool_id(mapped) == name
    assert tool_id(name) == name


@pytest.mark.parametrize("name", ["weather", "", "ironclaw.memory", "memory_write"])
def test_a_foreign_name_stays_as_it_is(name):
    """A name that isn't the service's is left for the service to refuse."""
    assert tool_id(name) == name


def test_openai_chat_nests_the_function():
    """Chat Completions wants the function in an object of its own, with `strict` said to be off."""
    (definition,) = tools_for_openai([WRITE])
    assert definition == {
        "type": "function",
        "function": {
            "name": "ironclaw_memory_write",
            "description": "Stores a fact.",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
    }


def test_openai_responses_is_flat():
    """The Responses API wants the same without nesting."""
    (definition,) = tools_for_openai([WRITE], api="responses")
    assert definition["type"] == "function"
    assert definition["name"] == "ironclaw_memory_write"
    assert definition["strict"] is False


def test_anthropic_gets_the_prompt_in_the_description():
    """Where descriptions may be long, the tool's prompt goes with it; without one, nothing trails."""
    write, tree = tools_for_anthropic([WRITE, TREE])
    assert write == {
        "name": "ironclaw_memory_write",
        "description": "Stores a fact.\n\nUse it when asked.",
        "input_schema": {"type": "object", "properties": {}},
    }
    assert tree["description"] == "Lists."


def test_mcp_keeps_the_dots_unless_told_otherwise():
    """The protocol allows dots; hosts that hand names on unmapped can have them mapped here."""
    assert [t["name"] for t in tools_for_mcp([WRITE])] == ["ironclaw.memory.write"]
    assert [t["name"] for t in tools_for_mcp([WRITE], dotted=False)] == ["ironclaw_memory_write"]


def test_mcp_gives_output_schemas_of_objects_only():
    """The protocol wants an output schema of type object, so the tree's array has none; hints say what writes."""
    write, tree = tools_for_mcp([WRITE, TREE])
    assert write["outputSchema"] == {"type": "object"}
    assert "outputSchema" not in tree
    assert write["annotations"]["readOnlyHint"] is False
    assert tree["annotations"]["readOnlyHint"] is True


def test_texts_name_the_tools_as_the_model_sees_them():
    """A prompt that speaks of a tool by its id speaks of it by its function's name where ids aren't offered."""
    prompt = "For a time zone, call `ironclaw.memory.profile_set`."
    tool = Tool(IDS[0], prompt, json.dumps({"type": "object", "description": prompt}), "{}", prompt, writes=True)
    texts = [tools_for_openai([tool]), tools_for_anthropic([tool]), tools_for_mcp([tool], dotted=False)]
    for text in map(json.dumps, texts):
        assert "ironclaw_memory_profile_set" in text
        assert "ironclaw.memory." not in text
    assert "`ironclaw.memory.profile_set`" in tools_for_mcp([tool])[0]["description"]


def test_the_system_prompt_has_the_guidance_and_on_demand_the_prompts():
    """Guidance comes first, prompts only where asked for, and names as the model sees them unless told otherwise."""
    catalogue = ToolCatalogue((WRITE, TREE), "See `ironclaw.memory.write`.\n")
    assert system_prompt(catalogue, with_prompts=False) == "See `ironclaw_memory_write`."
    assert system_prompt(catalogue, with_prompts=False, dotted=True) == "See `ironclaw.memory.write`."
    assert system_prompt(catalogue, with_prompts=True).startswith("See `ironclaw_memory_write`.\n\nUse it when asked.")


def test_an_error_is_put_in_words_for_the_model():
    """`for_model` is the output, or a JSON object with the error."""
    assert InvokeResult('{"a":1}', (), None).for_model() == '{"a":1}'
    failed = InvokeResult("", (), ToolError("input", "INVALID_PATH", "No."))
    assert json.loads(failed.for_model()) == {"error": {"kind": "input", "reason": "INVALID_PATH", "message": "No."}}
