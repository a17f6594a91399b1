"""`ironclaw-memory serve`: a flag for every setting, made from the settings themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ironclaw_memory.settings import ENVIRONMENT_PREFIX, Settings, SettingsError, load_settings

CONFIGURATION_ERROR = 2
"""Exit status when the configuration, the data folder or the address can't be used."""


def setting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each setting; values are checked by the settings, whatever source they come from."""
    for name, field in reversed(Settings.model_fields.items()):
        default = field.get_default()
        shown = ",".join(default) if isinstance(default, tuple) else default
        help_text = f"{field.description} [default: {shown}; env: {ENVIRONMENT_PREFIX}{name.upper()}]"
        command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=help_text)(command)
    return command


@click.command()
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file of settings.")
@setting_options
def serve(config: Path | None, **flags: Any) -> None:
    """Serve the memory of agents over gRPC until SIGTERM or SIGINT."""
    try:
        settings = load_settings({name: value for name, value in flags.items() if value is not None}, config)
        run(settings)
    except SettingsError as error:
        _refuse(str(error))


def run(settings: Settings) -> None:
    """Run one server here, or several in processes of their own."""
    # gRPC is imported here and not above: --help and a wrong setting needn't wait for it, and the process that only
    # watches over workers never loads it.
    from ironclaw_memory.addresses import ListenError  # noqa: PLC0415
    from ironclaw_memory.credentials.problem import CredentialsError  # noqa: PLC0415
    from ironclaw_memory.store.datadir import DataDirError  # noqa: PLC0415

    try:
        if settings.workers > 1:
            from ironclaw_memory.workers import supervise  # noqa: PLC0415

            sys.exit(supervise(settings, announce))
        from ironclaw_memory.worker import serve_here  # noqa: PLC0415

        serve_here(settings, announce)
    except (DataDirError, CredentialsError, ListenError) as error:
        _refuse(str(error))


def announce(address: str, admittance: str) -> None:
    """Say on standard output that the service is ready, where, and who may call."""
    click.echo(f"ironclaw-memory is ready on {address} ({admittance})")


def _refuse(problem: str) -> None:
    click.echo(f"ironclaw-memory: {problem}", err=True)
    sys.exit(CONFIGURATION_ERROR)
