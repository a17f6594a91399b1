"""A server for one command alone: a process of its own on a socket that only this user can reach.

It is the worker that `serve` starts several of, so it drains and ends when this process is gone, however that ended.
Several may share a data folder, also with a server that everybody can reach.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from ironclaw_memory.settings import Settings, SettingsError, load_settings

ENDING: Final = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS: Final = 5.0
"""Beyond what the server itself grants to calls in flight."""

LONGEST_FOLDER: Final = 90
"""Systems take 104 bytes or little more for a socket's path."""


@contextmanager
def private_server(data_dir: Path) -> Iterator[str]:
    """Serve a data folder for the block, and give it the target to call.

    Settings come from the environment as they do for `serve`, but for where and how to listen.

    Raises:
        click.UsageError: the settings or the data folder can't be used; in the second case the server said why.
    """
    from ironclaw_memory.workers import Worker  # noqa: PLC0415  # the store's modules are for this alone

    settings = _settings(data_dir)
    for number in ENDING:
        signal.signal(number, _leave)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # a folder that is just being made would be left behind
    with tempfile.TemporaryDirectory(prefix="ironclaw-memory-") as folder:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        if len(os.fsencode(folder)) > LONGEST_FOLDER:
            raise click.UsageError(f"TMPDIR: {folder} is too long a path for a socket.")
        settings = settings.model_copy(update={"listen": f"unix:{folder}/socket"})
        worker = Worker(settings)
        try:
            if not worker.wait_until_ready():
                raise click.UsageError(f"--data-dir: {data_dir} can't be served.")
            yield settings.listen
        finally:
            worker.ask_to_stop()
            _wait(worker.process, settings.drain_delay_seconds + 2 * settings.grace_seconds + STOP_SECONDS)


def _leave(_number: int, _frame: object) -> None:
    """End orderly before there is anybody else to heed signals: while the server starts."""
    sys.exit(0)


def _settings(data_dir: Path) -> Settings:
    plain = dict.fromkeys(("tls_certificate", "tls_key", "tls_client_ca", "mtls_grants"), "")
    try:
        return load_settings({"data_dir": data_dir, "listen": "127.0.0.1:0", "workers": 1, **plain})
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _wait(process: subprocess.Popen[str], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
