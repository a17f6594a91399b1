"""`ironclaw-memory mcp`: the memory for hosts that speak the Model Context Protocol, over stdio or streamable HTTP.

It is a client of a running server; with `--data-dir` it starts one for itself. The packages that it needs are an extra,
so they are imported when the command runs.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from ironclaw_memory import __version__
from ironclaw_memory.catalog import load_catalog
from ironclaw_memory.logs import set_up_logs
from ironclaw_memory_client import Tool, ToolCatalogue

from .connection import Connection, connected_silently
from .http_endpoint import HttpEndpoint, guarded, open_endpoint
from .private_server import private_server

EXIT_CODES: Final = (
    "Exit codes: 0 ended by the host, by SIGTERM or by SIGINT; 2 wrong usage, or the address or the data folder can't "
    "be used."
)
EXTRA: Final = "pip install 'ironclaw-memory[mcp]'"
CONNECTING: Final = ("server", "ca", "certificate", "private_key")
"""Options that make no sense beside --data-dir."""


@click.command("mcp", epilog=EXIT_CODES)
@connected_silently
@click.option(
    "--thread",
    envvar="IRONCLAW_MEMORY_THREAD",
    show_envvar=True,
    help="The conversation: named in the audit trail, and whose record the recall prompt searches too.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Serve this data folder, instead of connecting to a server.",
)
@click.option("--dotted", is_flag=True, help="Name tools by their ids, such as ironclaw.memory.read.")
@guarded
def mcp(
    connection: Connection,
    *,
    thread: str | None,
    data_dir: Path | None,
    dotted: bool,
    http: str | None,
    **guarding: Any,
) -> None:
    """Serve the five tools to an MCP host: over stdio, or over HTTP with --http.

    The scope is what the options say; a model can't choose it.
    """
    if find_spec("mcp") is None or find_spec("uvicorn") is None:
        raise click.UsageError(f"The package mcp is missing: {EXTRA}")
    set_up_logs("warning")
    endpoint = open_endpoint(http, **guarding)
    scope = replace(connection.scope, thread=thread)
    with _server(connection, data_dir) as server:
        tls = None if data_dir else connection.tls
        asyncio.run(_serve(replace(connection, server=server, scope=scope, tls=tls), endpoint, dotted=dotted))


def _server(connection: Connection, data_dir: Path | None) -> AbstractContextManager[str]:
    """Return the target to call, with what has to be done around calling it."""
    if data_dir is None:
        return nullcontext(connection.server)
    context = click.get_current_context()
    if any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in CONNECTING):
        raise click.UsageError("--data-dir needs no server: leave out --server, --ca, --certificate, --private-key.")
    return private_server(data_dir)


async def _serve(connection: Connection, endpoint: HttpEndpoint | None, *, dotted: bool) -> None:
    from ironclaw_memory.mcp_server import http, standard_io  # noqa: PLC0415
    from ironclaw_memory.mcp_server.catalogue import Catalogue  # noqa: PLC0415
    from ironclaw_memory.mcp_server.handlers import make_server  # noqa: PLC0415

    async with connection.open_async() as client:
        catalogue = Catalogue(client, _packaged(), dotted=dotted)
        await catalogue.refresh()
        server = make_server(client, catalogue, __version__)
        if endpoint is None:
            await standard_io.serve(server)
        else:
            guard = http.Guard(endpoint.token, endpoint.hosts, endpoint.certificate, endpoint.private_key)
            await http.serve(server, endpoint.listening, guard, endpoint.announce)


def _packaged() -> ToolCatalogue:
    """Return the catalogue of this package's own server, as the client shows it."""
    catalog = load_catalog()
    tools = (
        Tool(str(t.id), t.description, t.input_schema_json, t.output_schema_json, t.prompt, t.writes)
        for t in catalog.tools
    )
    return ToolCatalogue(tuple(tools), catalog.guidance)
