"""The page on MCP hosts says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from ironclaw_memory.catalog import load_catalog
from ironclaw_memory.cli.connection import TOKEN_VARIABLE
from ironclaw_memory.cli.http_endpoint import TOKEN_LENGTH
from ironclaw_memory.cli.http_endpoint import TOKEN_VARIABLE as HTTP_TOKEN_VARIABLE
from ironclaw_memory.cli.mcp import mcp
from ironclaw_memory.cli.tools import tree
from ironclaw_memory.mcp_server.definitions import EFFECTS
from ironclaw_memory.mcp_server.handlers import GUIDANCE_PROMPT, RECALL_PROMPT
from ironclaw_memory.mcp_server.http import GRACE_SECONDS
from ironclaw_memory.settings import CLIENT_VARIABLES, ENVIRONMENT_PREFIX, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
JSON = [json.loads(fence) for fence in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
CONFIGURED = [
    server for fence in JSON for group in ("mcpServers", "servers") for server in fence.get(group, {}).values()
]


def rows(head: str) -> list[list[str]]:
    table = PAGE.split(head, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table]


def options(command: click.Command) -> dict[str, click.Option]:
    return {p.opts[0]: p for p in command.params if isinstance(p, click.Option)}


@pytest.mark.parametrize("server", [s for s in CONFIGURED if "args" in s], ids=lambda s: s["args"][1])
def test_each_configuration_is_a_command_line_that_parses(server: dict[str, Any]):
    """What a reader copies into a host's file names options and variables that there are."""
    name, *arguments = server["args"]
    assert name == "mcp"
    mcp.make_context("mcp", arguments)
    known = {o.envvar for o in options(mcp).values()} | {TOKEN_VARIABLE}
    assert set(server.get("env", {})) <= known


def test_the_table_of_options_is_the_commands():
    """Every option that this command has beyond the other client commands', with its variable."""
    told = {row[0]: row[1] for row in rows("| option | environment | |")}
    own = {name: option for name, option in options(mcp).items() if name not in options(tree)}
    variables = {name: option.envvar or "" for name, option in own.items()}
    assert told == variables | {"--http-token-file": HTTP_TOKEN_VARIABLE}
    shared = PAGE.split("Those of every client command (", 1)[1].split(")", 1)[0]
    assert set(re.findall(r"--[a-z-]+", shared)) == options(mcp).keys() - own.keys()


def test_every_variable_may_stand_beside_a_server():
    """The server refuses variables that it doesn't know, so it must know those of this command."""
    named = {*(o.envvar for o in options(mcp).values() if o.envvar), TOKEN_VARIABLE, HTTP_TOKEN_VARIABLE}
    settings = {name.upper() for name in Settings.model_fields}
    assert {name.removeprefix(ENVIRONMENT_PREFIX) for name in named} <= CLIENT_VARIABLES | settings


def test_the_table_of_tools_is_the_codes():
    """Effects are told for each tool of the catalogue, as hosts get them."""
    writes = {tool.id.value: tool.writes for tool in load_catalog().tools}
    yes = {True: "yes", False: "no"}
    expected = [
        [
            name.replace(".", "_"),
            "writes" if writes[name] else "reads",
            yes[effects.destructive],
            yes[not effects.idempotent],
        ]
        for name, effects in EFFECTS.items()
    ]
    assert rows("| tool | reads or writes | may overwrite | same again changes more |") == expected
    assert writes.keys() == EFFECTS.keys()


def test_numbers_and_names_are_the_codes():
    """Limits, prompts and revisions."""
    assert f"at least {TOKEN_LENGTH} characters" in PAGE
    assert f"have {GRACE_SECONDS} seconds to finish" in PAGE
    assert f"`{RECALL_PROMPT.name}`" in PAGE
    assert f"`{GUIDANCE_PROMPT.name}`" in PAGE
    handshake = f"{HANDSHAKE_PROTOCOL_VERSIONS[0]} to {HANDSHAKE_PROTOCOL_VERSIONS[-1]}"
    assert f"{', '.join(MODERN_PROTOCOL_VERSIONS)}, and by its handshake {handshake}" in PAGE
