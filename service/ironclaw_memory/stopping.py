"""The wish to stop: said by a signal or by another thread, waited for by the main thread.

A `threading.Event` won't do. The kernel may hand the signal to any thread, and then a main thread that waits for a lock
isn't woken, so the handler never runs; and a handler that runs while the main thread is inside the event's own lock
waits for itself. Here the interpreter's C-level handler writes a byte into a pipe, whichever thread got the signal.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress


class StopRequest:
    """Once made, it stays made. `heed_signals` and `wait` are the main thread's; `make` is anybody's."""

    def __init__(self) -> None:
        self._read_end, self._write_end = os.pipe()
        # A full pipe holds the message already; writing to it must not block a signal handler.
        os.set_blocking(self._write_end, False)

    def heed_signals(self) -> None:
        """Let SIGTERM and SIGINT make the request from now on."""
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # the byte in the pipe is the message

    def make(self) -> None:
        """Ask to stop."""
        with suppress(BlockingIOError):
            os.write(self._write_end, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the request, at most `seconds`, and return whether it was made."""
        readable, _, _ = select.select([self._read_end], [], [], seconds)
        return bool(readable)
