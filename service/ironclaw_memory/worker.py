"""A serving process: alone, or one of several that a supervisor started (`python -m ironclaw_memory.worker`).

A supervised worker gets its settings as JSON in the first line of its standard input, says `ready` on its standard
output, and drains when that input ends: a supervisor that dies, however it dies, takes its workers along.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ironclaw_memory.addresses import ListenError
from ironclaw_memory.credentials.problem import CredentialsError
from ironclaw_memory.logs import set_up_logs
from ironclaw_memory.server import Server
from ironclaw_memory.settings import Settings, SettingsError
from ironclaw_memory.store.datadir import DataDirError

READY = "ready"


def serve_here(settings: Settings, announce: Callable[[str, str], None]) -> None:
    """Serve in this process until it is asked to stop.

    Args:
        settings: how to run.
        announce: told the address, and who may call, once the service is ready.

    Raises:
        DataDirError, CredentialsError, ListenError: the data folder, the credentials or the address can't be used.
    """
    set_up_logs(settings.log_level)
    server = Server(settings)
    address = server.start()
    announce(address, server.describe_admittance())
    server.run()


def main() -> None:
    """Serve as one of several workers."""
    settings = Settings.model_validate_json(sys.stdin.readline())
    set_up_logs(settings.log_level)
    try:
        server = Server(settings)
        server.start()
    except (SettingsError, DataDirError, CredentialsError, ListenError) as error:
        sys.exit(f"ironclaw-memory: {error}")  # one line, as from a server alone; the supervisor sees that it ended
    threading.Thread(target=_stop_with_supervisor, args=(server,), name="supervisor-watch", daemon=True).start()
    print(READY, flush=True)  # noqa: T201  # the supervisor reads it
    server.run()


def _stop_with_supervisor(server: Server) -> None:
    sys.stdin.read()
    server.ask_to_stop()


if __name__ == "__main__":
    main()
