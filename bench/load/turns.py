"""Whole turns as an agent's host makes them: retrieve, a search and a write by tool call, record; one after the other.

Besides each call's status, what comes back is looked at: a tool's failure is told in its answer, and the context of a
turn must hold what the same client was told had been written the turn before.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import grpc

from bench import corpus
from bench.caller import CALL_SECONDS, REQUEST_ID, cpu_seconds, describe_failure
from bench.traffic import Outcome
from ironclaw.memory.v1 import lifecycle_service_pb2 as lifecycle
from ironclaw.memory.v1 import lifecycle_service_pb2_grpc as lifecycle_stubs
from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw.memory.v1 import memory_service_pb2_grpc as stubs

FACTS_A_DOCUMENT: Final = 50
"""Then a client begins another document, as a daily log does; else its writes would grow for ever."""

FORGOTTEN: Final = "a context without what was written"


@dataclass(frozen=True, slots=True)
class TurnJob:
    """What one process plays.

    Attributes:
        address: HOST:PORT of the server.
        clients: how many clients, each with a connection, a user and a thread of its own.
        seconds: how long.
        run: a name that no other run has, for users and request ids.
    """

    address: str
    clients: int
    seconds: float
    run: str


def play_turns(job: TurnJob) -> Outcome:
    """Play the clients and return what came of their turns; the job of a `bench.processes.Worker`."""
    return asyncio.run(_play(job))


async def _play(job: TurnJob) -> Outcome:
    outcome = Outcome()
    options = [("grpc.use_local_subchannel_pool", 1)]  # a connection of its own: workers share out connections
    async with AsyncExitStack() as stack:
        clients = []
        for number in range(job.clients):
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(job.address, options=options))
            await asyncio.wait_for(channel.channel_ready(), CALL_SECONDS)
            clients.append(_Client(channel, f"{job.run}-{number}", outcome))
        await asyncio.gather(*(client.begin() for client in clients))
        cpu, began = cpu_seconds(), time.perf_counter()
        await asyncio.gather(*(client.play_until(began + job.seconds) for client in clients))
        outcome.seconds, outcome.cpu_seconds = time.perf_counter() - began, cpu_seconds() - cpu
    return outcome


class _Client:
    def __init__(self, channel: grpc.aio.Channel, name: str, outcome: Outcome) -> None:
        self._tools, self._lifecycle = (
            stubs.MemoryServiceStub(channel),
            lifecycle_stubs.MemoryLifecycleServiceStub(channel),
        )
        self._name = name
        self._outcome = outcome
        self._scope = (("x-ironclaw-tenant-id", "load"), ("x-ironclaw-user-id", name), ("x-ironclaw-thread-id", "load"))
        self._turns = 0
        self._written = ""

    async def begin(self) -> None:
        """Take a turn that doesn't count, in which the scope and its index are made.

        Raises:
            RuntimeError: it failed.
        """
        try:
            await self._take_turn()
        except _Failed as failed:
            raise RuntimeError(str(failed)) from None

    async def play_until(self, end: float) -> None:
        """Take turns until then."""
        while (began := time.perf_counter()) < end:
            try:
                await self._take_turn()
            except _Failed as failed:
                self._outcome.failures[str(failed)] += 1
            else:
                self._outcome.latencies.append(time.perf_counter() - began)

    async def _take_turn(self) -> None:
        self._turns += 1
        await self._retrieve()
        await self._invoke("search", {"query": corpus.make_query(self._turns)})
        word = f"{self._name}x{self._turns}".replace("-", "x")
        fact = {"target": f"log/{self._turns // FACTS_A_DOCUMENT:04}.md", "content": f"The {word} is blue."}
        await self._invoke("write", fact, (REQUEST_ID, f"{self._name}-{self._turns}"))
        self._written = word
        await self._record(word)

    async def _retrieve(self) -> None:
        request = lifecycle.RetrieveContextRequest(query=self._written or "blue", max_snippets=8)
        answer = await _answer("RetrieveContext", self._lifecycle.RetrieveContext, request, self._scope)
        if self._written not in answer.block:
            raise _Failed(FORGOTTEN)

    async def _invoke(self, tool: str, arguments: dict[str, str], *more: tuple[str, str]) -> None:
        request = wire.InvokeToolRequest(tool_id=f"ironclaw.memory.{tool}", arguments_json=json.dumps(arguments))
        answer = await _answer(f"InvokeTool {tool}", self._tools.InvokeTool, request, (*self._scope, *more))
        if answer.HasField("error"):
            raise _Failed(f"InvokeTool {tool}: {answer.error.reason} in band")

    async def _record(self, word: str) -> None:
        messages = [
            lifecycle.InteractionMessage(role="MESSAGE_ROLE_USER", content=f"Which one is the {word}?"),
            lifecycle.InteractionMessage(role="MESSAGE_ROLE_ASSISTANT", content=corpus.make_text(self._turns)),
        ]
        request = lifecycle.RecordInteractionRequest(turn_run_id=f"run-{self._turns % 50}", messages=messages)
        answer = await _answer("RecordInteraction", self._lifecycle.RecordInteraction, request, self._scope)
        if not answer.recorded:
            raise _Failed("RecordInteraction: not recorded")


class _Failed(Exception):
    """A call of the turn failed, and with it the turn."""


async def _answer(name: str, call: Callable[..., Awaitable[Any]], request: Any, metadata: Any) -> Any:
    try:
        return await call(request, metadata=metadata, timeout=CALL_SECONDS)
    except grpc.aio.AioRpcError as error:
        raise _Failed(f"{name}: {describe_failure(error)}") from None
