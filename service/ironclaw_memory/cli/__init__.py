"""The command `ironclaw-memory`: `serve`, and the client commands for people and scripts."""

from __future__ import annotations

import click

from ironclaw_memory import __version__


class LazyCommands(click.Group):
    """Imports a command's module when it is asked for, so that `serve` doesn't wait for the client's and vice versa."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands' names, sorted."""
        del ctx
        from ironclaw_memory.cli.tools import COMMANDS  # noqa: PLC0415

        return sorted(["serve", *(str(command.name) for command in COMMANDS)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        del ctx
        if cmd_name == "serve":
            from ironclaw_memory.cli.serve import serve  # noqa: PLC0415

            return serve
        from ironclaw_memory.cli.tools import COMMANDS  # noqa: PLC0415

        return next((command for command in COMMANDS if command.name == cmd_name), None)


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ironclaw-memory")
def main() -> None:
    """Persistent memory for AI agents as a gRPC service."""
