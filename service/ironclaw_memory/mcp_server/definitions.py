"""The tools as the protocol describes them: the catalogue's own words and schemas, and hints about their effects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import mcp.types as protocol

from ironclaw_memory_client import Tool, ToolCatalogue, tools_for_mcp
from ironclaw_memory_client.tools import MAPPED_PREFIX, PREFIX


@dataclass(frozen=True, slots=True)
class Effects:
    """What a call does, for a host that decides whether to ask its user first.

    Attributes:
        title: what a host may show instead of the name.
        destructive: whether a call can take away or overwrite what was noted. The service keeps it as a version.
        idempotent: whether the same call again changes nothing more.
    """

    title: str
    destructive: bool
    idempotent: bool


EFFECTS: Final = {
    "ironclaw.memory.write": Effects("Write to memory", destructive=True, idempotent=False),
    "ironclaw.memory.read": Effects("Read from memory", destructive=False, idempotent=True),
    "ironclaw.memory.search": Effects("Search memory", destructive=False, idempotent=True),
    "ironclaw.memory.tree": Effects("List memory", destructive=False, idempotent=True),
    "ironclaw.memory.profile_set": Effects("Set facts about the user", destructive=True, idempotent=True),
}
"""By tool id; a write appends, replaces or patches, so it is taken for the worst of the three."""


def define_tools(catalogue: ToolCatalogue, *, dotted: bool, any_output: bool) -> list[protocol.Tool]:
    """Return the tools for `tools/list`.

    Args:
        catalogue: the tools.
        dotted: name them by their ids; else with underscores, since many hosts accept only letters, digits, `_`, `-`.
        any_output: describe outputs that aren't objects too; revisions of the protocol before 2026-07-28 forbid it.
    """
    definitions = tools_for_mcp(catalogue.tools, dotted=dotted)
    return [
        protocol.Tool.model_validate(definition | dict(_additions(tool, dotted=dotted, any_output=any_output)))
        for tool, definition in zip(catalogue.tools, definitions, strict=True)
    ]


def _additions(tool: Tool, *, dotted: bool, any_output: bool) -> Iterator[tuple[str, Any]]:
    effects = EFFECTS.get(tool.id) or Effects(tool.id, destructive=tool.writes, idempotent=not tool.writes)
    yield "title", effects.title
    yield (
        "annotations",
        {
            "readOnlyHint": not tool.writes,
            "destructiveHint": effects.destructive,
            "idempotentHint": effects.idempotent,
            "openWorldHint": False,
        },
    )
    if any_output:
        yield "outputSchema", _output_schema(tool, dotted=dotted)


def _output_schema(tool: Tool, *, dotted: bool) -> dict[str, Any]:
    text = tool.output_schema_json if dotted else tool.output_schema_json.replace(PREFIX, MAPPED_PREFIX)
    schema: dict[str, Any] = json.loads(text)
    return {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
