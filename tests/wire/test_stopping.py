"""The wish to stop reaches the main thread, whichever thread of the process got the signal."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ironclaw_memory.stopping import StopRequest
from tests.server_process import environment

PROGRAM = """
import signal, threading
from ironclaw_memory.stopping import StopRequest

request = StopRequest()
request.heed_signals()
threading.Timer(0.3, lambda: signal.pthread_kill(threading.get_ident(), signal.{name})).start()
print(request.wait(20))
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_to_another_thread(name):
    """A signal that the kernel gives to another thread than the one that waits is heard at once."""
    program = [sys.executable, "-c", PROGRAM.format(name=name)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=15, env=environment(), check=True)
    assert done.stdout == "True\n"


def test_request_stays_made():
    """A request that was made before anybody waited, or many times over, is there for every wait."""
    request = StopRequest()
    assert not request.wait(0)
    for _ in range(100_000):
        request.make()
    assert request.wait(0)
    assert request.wait()
