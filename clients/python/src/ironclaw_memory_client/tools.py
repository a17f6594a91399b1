"""The tool catalogue as the function definitions of model APIs, and the way back from a model's tool name.

Tool ids have dots, which the OpenAI and Anthropic APIs refuse in a function's name: `ironclaw.memory.profile_set`
becomes `ironclaw_memory_profile_set`, in the definition and in every text of the catalogue that speaks of the tool,
since a model calls what it reads. Definitions are plain dictionaries, ready to be put as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

from .results import Tool, ToolCatalogue

PREFIX = "ironclaw.memory."
MAPPED_PREFIX = PREFIX.replace(".", "_")


def function_name(tool_id: str) -> str:
    """Return a tool's id as a name that every model API takes."""
    return tool_id.replace(".", "_")


def tool_id(name: str) -> str:
    """Return the tool's id for a name in either form; a name that is neither stays as it is, for the service to refuse.

    Only the prefix is mapped back, so the underscore of `profile_set` stays one.
    """
    return PREFIX + name.removeprefix(MAPPED_PREFIX) if name.startswith(MAPPED_PREFIX) else name


def system_prompt(catalogue: ToolCatalogue, *, with_prompts: bool, dotted: bool = False) -> str:
    """Return the catalogue's guidance for a system prompt.

    Args:
        catalogue: what `list_tools` returned.
        with_prompts: add the tools' prompts, for APIs whose descriptions are too short for them (`tools_for_openai`).
        dotted: name the tools by their ids, for hosts that offer them so.
    """
    prompts = [tool.prompt for tool in catalogue.tools] if with_prompts else []
    text = "\n\n".join(part.strip() for part in (catalogue.guidance, *prompts))
    return text if dotted else _named(text)


def tools_for_openai(tools: Iterable[Tool], *, api: Literal["chat", "responses"] = "chat") -> list[dict[str, Any]]:
    """Return the tools as OpenAI function definitions.

    A description there may have at most 1,024 characters, so it is the tool's one sentence; the tools' prompts go into
    the system prompt, with `system_prompt(catalogue, with_prompts=True)`. `strict` is off: it would make every optional
    argument required.

    Args:
        api: the shape of the Chat Completions API, where the function is nested, or of the Responses API.
    """
    functions = [
        {
            "name": function_name(tool.id),
            "description": _named(tool.description),
            "parameters": _schema(_named(tool.input_schema_json)),
            "strict": False,
        }
        for tool in tools
    ]
    if api == "responses":
        return [{"type": "function", **function} for function in functions]
    return [{"type": "function", "function": function} for function in functions]


def tools_for_anthropic(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return the tools for the Anthropic Messages API; the description holds the tool's prompt too."""
    return [
        {
            "name": function_name(tool.id),
            "description": _named(_long_description(tool)),
            "input_schema": _schema(_named(tool.input_schema_json)),
        }
        for tool in tools
    ]


def tools_for_mcp(tools: Iterable[Tool], *, dotted: bool = True) -> list[dict[str, Any]]:
    """Return the tools as the Model Context Protocol's `tools/list` has them.

    An output schema is only given where it is of an object, as the protocol wants it; `tree` returns an array.

    Args:
        dotted: keep the ids as names, as the protocol allows. False for hosts that hand names to a model API unmapped.
    """
    return [_mcp_tool(tool, str if dotted else _named) for tool in tools]


def _mcp_tool(tool: Tool, name_in: Callable[[str], str]) -> dict[str, Any]:
    definition = {
        "name": name_in(tool.id),
        "description": name_in(_long_description(tool)),
        "inputSchema": _schema(name_in(tool.input_schema_json)),
        "annotations": {"readOnlyHint": not tool.writes, "openWorldHint": False},
    }
    output = _schema(name_in(tool.output_schema_json))
    return {**definition, "outputSchema": output} if output.get("type") == "object" else definition


def _named(text: str) -> str:
    """Return the text with the names of functions in place of the tools' ids."""
    return text.replace(PREFIX, MAPPED_PREFIX)


def _long_description(tool: Tool) -> str:
    return f"{tool.description}\n\n{tool.prompt}".strip()


def _schema(text: str) -> dict[str, Any]:
    """Return a JSON Schema without what only says where it is from: a model needs neither `$schema` nor `$id`."""
    schema: dict[str, Any] = json.loads(text)
    return {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
