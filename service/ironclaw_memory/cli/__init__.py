"""The command `ironclaw-memory`: `serve`, the tools for people and scripts, and chores such as `curate` and `scan`."""

from __future__ import annotations

import importlib
from typing import Final

import click

from ironclaw_memory import __version__

COMMANDS: Final = {
    "serve": "ironclaw_memory.cli.serve:serve",
    "write": "ironclaw_memory.cli.tools:write",
    "read": "ironclaw_memory.cli.tools:read",
    "search": "ironclaw_memory.cli.tools:search",
    "tree": "ironclaw_memory.cli.tools:tree",
    "profile-set": "ironclaw_memory.cli.tools:profile_set",
    "curate": "ironclaw_memory.cli.curate:curate",
    "hygiene": "ironclaw_memory.cli.hygiene:hygiene",
    "audit": "ironclaw_memory.cli.audit:audit",
    "scan": "ironclaw_memory.cli.scan:scan",
    "keys": "ironclaw_memory.cli.keys:keys",
    "mcp": "ironclaw_memory.cli.mcp:mcp",
}
"""Where each command is."""


class LazyCommands(click.Group):
    """Imports a command's module when it is asked for, so that `serve` doesn't wait for the client's and vice versa."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands' names, sorted."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        del ctx
        module, _, name = COMMANDS.get(cmd_name, "").partition(":")
        command = getattr(importlib.import_module(module), name) if module else None
        return command if isinstance(command, click.Command) else None


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="ironclaw-memory")
def main() -> None:
    """Persistent memory for AI agents as a gRPC service."""
