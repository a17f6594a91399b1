"""Several serving processes on one port, watched over by one that serves nothing.

Each worker is a fresh interpreter, never a fork: gRPC's threads don't survive forking. The kernel spreads connections,
not calls, so one connection stays with one worker.
"""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from ironclaw_memory.addresses import reserve_shared_port
from ironclaw_memory.admittance import describe_admittance, open_authenticator
from ironclaw_memory.logs import set_up_logs
from ironclaw_memory.settings import Settings
from ironclaw_memory.stopping import StopRequest
from ironclaw_memory.store.datadir import open_data_dir
from ironclaw_memory.tls import open_certificates

READY_SECONDS: Final = 30.0
RESTART_PAUSE_SECONDS: Final = 1.0
"""Between a worker's death and its successor, so that one that can't live doesn't spin."""

log = structlog.get_logger("ironclaw_memory.workers")


class Worker:
    """One serving process and its pipes."""

    def __init__(self, settings: Settings) -> None:
        self.process = subprocess.Popen(  # our own interpreter and module, no shell
            [sys.executable, "-m", "ironclaw_memory.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C at the terminal reaches the supervisor, which then drains them in order
        )
        assert self.process.stdin is not None  # noqa: S101  # asked for above; tells the type checker
        with suppress(BrokenPipeError):  # it died at once; wait_until_ready tells
            self.process.stdin.write(settings.model_dump_json() + "\n")
            self.process.stdin.flush()

    def wait_until_ready(self) -> bool:
        """Return whether the worker came up; False when it ended instead, or took too long."""
        output = self.process.stdout
        assert output is not None  # noqa: S101  # asked for above
        readable, _, _ = select.select([output], [], [], READY_SECONDS)
        return bool(readable) and output.readline().strip() == "ready"

    def ask_to_stop(self) -> None:
        """Let the worker drain."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)


def supervise(settings: Settings, announce: Callable[[str, str], None]) -> int:
    """Start the workers, replace those that die, and stop them all on SIGTERM or SIGINT.

    Args:
        settings: how to run.
        announce: told the address, and who may call, once all workers are ready.

    Returns:
        The exit status: 0 after an orderly stop, 1 when the workers didn't come up or didn't end well.

    Raises:
        DataDirError, CredentialsError, ListenError: the data folder, the credentials or the address can't be used.
    """
    set_up_logs(settings.log_level)
    admittance = describe_admittance(settings, open_authenticator(settings))
    open_certificates(settings)
    open_data_dir(settings.data_dir)
    placeholder, address = reserve_shared_port(settings.listen)
    with placeholder:
        return _Supervisor(settings.model_copy(update={"listen": address})).run(lambda: announce(address, admittance))


class _Supervisor:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop_request = StopRequest()
        self._workers: list[Worker] = []

    def run(self, announce: Callable[[], None]) -> int:
        self._stop_request.heed_signals()
        self._workers = [Worker(self._settings) for _ in range(self._settings.workers)]
        if not all(worker.wait_until_ready() for worker in self._workers):
            self._stop_all()
            return 1
        announce()
        while not self._stop_request.wait(0.2):
            self._replace_the_dead()
        return self._stop_all()

    def _replace_the_dead(self) -> None:
        for place, worker in enumerate(self._workers):
            status = worker.process.poll()
            if status is None:
                continue
            log.error("worker ended unexpectedly", pid=worker.process.pid, status=status)
            if self._stop_request.wait(RESTART_PAUSE_SECONDS):
                return
            successor = self._workers[place] = Worker(self._settings)
            if successor.wait_until_ready():
                log.info("worker replaced", pid=successor.process.pid)
            else:
                successor.process.kill()  # found dead in the next round, and replaced again

    def _stop_all(self) -> int:
        for worker in self._workers:
            worker.ask_to_stop()
        patience = self._settings.drain_delay_seconds + 2 * self._settings.grace_seconds + 5
        until = time.monotonic() + patience
        statuses = [_wait(worker, until) for worker in self._workers]
        return 0 if all(status == 0 for status in statuses) else 1


def _wait(worker: Worker, until: float) -> int:
    try:
        return worker.process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        log.warning("worker did not stop in time", pid=worker.process.pid)
        worker.process.kill()
        return worker.process.wait()
