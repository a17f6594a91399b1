"""The transport to a host that started this process: a message a line, in by standard input, out by standard output.

The SDK reads standard input on a thread that nobody can interrupt, so its server can't end before the host closes the
pipe, not even when a signal asks it to. Here a thread of our own reads, which the process doesn't wait for. The rest of
the transport is the SDK's: it moves the descriptor of standard output out of the way, so that nothing but the protocol
gets there whatever a library prints.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from typing import Any, Final, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

STANDARD_INPUT: Final = 0
CHUNK_BYTES: Final = 65_536


async def serve(server: Server[Any]) -> None:
    """Serve the host until it closes standard input or stops reading, or until SIGTERM or SIGINT."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_on_signal, group.cancel_scope)
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", Lines(STANDARD_INPUT))) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:
        pass  # the host is gone, and nobody is left to tell


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


class Lines:
    """The lines of a descriptor until its end, for `async for`; waiting for one can be cancelled."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(1)  # so that it reads no faster than the lines are taken
        reading = (queue, asyncio.get_running_loop())
        threading.Thread(target=self._read, args=reading, name="standard-input", daemon=True).start()
        while (line := await queue.get()) is not None:
            yield line.decode("utf-8", "replace")

    def _read(self, queue: asyncio.Queue[bytes | None], loop: asyncio.AbstractEventLoop) -> None:
        def hand_on(line: bytes | None) -> None:
            asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()

        try:
            for line in self._split():
                hand_on(line)
            hand_on(None)
        except (CancelledError, RuntimeError):
            return  # the loop ends, or has ended: nobody waits for lines any more

    def _split(self) -> Iterator[bytes]:
        """Yield lines without their ends, and what stands after the last end when it isn't empty."""
        rest = b""
        while chunk := self._next_chunk():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        if rest:
            yield rest

    def _next_chunk(self) -> bytes:
        """Return some bytes, or none at the end; an input that can't be read has ended."""
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""
