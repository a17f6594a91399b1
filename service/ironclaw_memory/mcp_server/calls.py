"""Calls of the service from inside the SDK, whose way of cancelling isn't gRPC's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


async def call_apart(call: Coroutine[Any, Any, Answer]) -> Answer:
    """Make a call in a task of its own, and cancel it when the host cancels the request that it is for.

    Awaited directly, gRPC would raise a cancellation of its own making. The SDK, which knows its cancellations by their
    message, would take that for the end of everything and close the session.
    """
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait((task,))
    finally:
        task.cancel()
    return task.result()
