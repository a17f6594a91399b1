"""The client for asyncio: `client` with `await`. Each method does and raises what its twin of the same name does."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import grpc

from ironclaw.memory.v1.admin_service_pb2_grpc import MemoryAdminServiceStub
from ironclaw.memory.v1.event_service_pb2_grpc import MemoryEventServiceStub
from ironclaw.memory.v1.lifecycle_service_pb2_grpc import MemoryLifecycleServiceStub
from ironclaw.memory.v1.memory_service_pb2_grpc import MemoryServiceStub

from . import calls, conversion, results
from .channel import TLS, ChannelOptions, open_async_channel
from .credentials import Token, check_target
from .failure import error_of
from .options import CallOptions, Defaults, begin
from .retry import RetryPolicy
from .scope import Scope, ScopeChanges
from .watch import Watch

Answer = TypeVar("Answer")


class AsyncMemoryClient:
    """A connection to ironclaw-memory for asyncio, with the arguments of `MemoryClient`.

    Make it on the loop that uses it, and use it on no other. It connects with the first call. Cancelling a task cancels
    its call; a change may then have been made or not, which the same `request_id` finds out.
    """

    def __init__(  # a connection has that many sides; all but two have defaults
        self,
        target: str,
        scope: Scope,
        *,
        token: Token | None = None,
        tls: TLS | None = None,
        deadline: float = 10.0,
        retry: RetryPolicy | None = None,
        channel_options: ChannelOptions = (),
    ) -> None:
        check_target(target, token, encrypted=tls is not None)
        self._defaults = Defaults(scope, deadline, retry or RetryPolicy(), token)
        self._channel = open_async_channel(target, tls, channel_options)
        self._stubs = {
            "memory": MemoryServiceStub(self._channel),
            "lifecycle": MemoryLifecycleServiceStub(self._channel),
            "admin": MemoryAdminServiceStub(self._channel),
        }
        self._events = MemoryEventServiceStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection, also for the clients that `with_scope` made. Calls in flight are cancelled."""
        await self._channel.close()

    @property
    def scope(self) -> Scope:
        """Whose memory, unless a call says otherwise."""
        return self._defaults.scope

    def with_scope(self, **changes: Unpack[ScopeChanges]) -> Self:
        """Return a client for a scope that differs in `changes`. It shares the connection: closing one closes both."""
        twin = copy.copy(self)
        twin._defaults = dataclasses.replace(self._defaults, scope=dataclasses.replace(self.scope, **changes))
        return twin

    async def write(  # the tool's arguments, by their names on the wire
        self,
        content: str = "",
        *,
        target: str | None = None,
        append: bool | None = None,
        old_string: str | None = None,
        new_string: str | None = None,
        replace_all: bool | None = None,
        metadata: Mapping[str, object] | None = None,
        timezone: str | None = None,
        expected_sha256: str | None = None,
        must_not_exist: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.WriteResult:
        """Append to, replace or patch one document. It is on the disk when this returns."""
        call = calls.write_call(
            content,
            target=target,
            append=append,
            old_string=old_string,
            new_string=new_string,
            replace_all=replace_all,
            metadata=metadata,
            timezone=timezone,
            expected_sha256=expected_sha256,
            must_not_exist=must_not_exist,
        )
        return await self._make(call, options)

    async def read(self, path: str, **options: Unpack[CallOptions]) -> results.ReadResult:
        """Return one document whole."""
        return await self._make(calls.read_call(path), options)

    async def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        path_prefix: str = "",
        min_score: float | None = None,
        **options: Unpack[CallOptions],
    ) -> results.SearchResult:
        """Return the documents that match a question in plain words, best first."""
        call = calls.search_call(query, limit=limit, path_prefix=path_prefix, min_score=min_score)
        return await self._make(call, options)

    async def tree(
        self, path: str | None = None, *, depth: int | None = None, **options: Unpack[CallOptions]
    ) -> results.TreeResult:
        """List what is in a folder; an unknown folder is empty."""
        return await self._make(calls.tree_call(path, depth=depth), options)

    async def profile_set(
        self,
        *,
        timezone: str | None = None,
        locale: str | None = None,
        location: str | None = None,
        **options: Unpack[CallOptions],
    ) -> results.ProfileSetResult:
        """Set facts about the human user; what is None stays as it is."""
        return await self._make(calls.profile_set_call(timezone=timezone, locale=locale, location=location), options)

    async def list_tools(self, **options: Unpack[CallOptions]) -> results.ToolCatalogue:
        """Return the five tools and the guidance text, ready for `tools_for_openai` and its siblings."""
        return await self._make(calls.list_tools_call(), options)

    async def invoke(self, name: str, arguments_json: str = "", **options: Unpack[CallOptions]) -> results.InvokeResult:
        """Run a model's tool call. What the model can be told about a failure comes back as `error`."""
        return await self._make(calls.invoke_call(name, arguments_json), options)

    async def list_versions(
        self, path: str, *, page_size: int = 0, **options: Unpack[CallOptions]
    ) -> AsyncIterator[results.DocumentVersion]:
        """Iterate over what is kept of a document's past, newest first, fetching page by page as it goes."""
        token = ""
        while True:
            page = await self._make(calls.list_versions_call(path, page_size=page_size, page_token=token), options)
            for version in page.versions:
                yield conversion.to_document_version(version)
            if not (token := page.next_page_token):
                return

    async def read_version(self, path: str, version: int, **options: Unpack[CallOptions]) -> results.VersionContent:
        """Return the content of one kept version."""
        return await self._make(calls.read_version_call(path, version), options)

    async def restore_version(
        self, path: str, version: int, *, expected_sha256: str | None = None, **options: Unpack[CallOptions]
    ) -> results.RestoreResult:
        """Make a kept version the document's content again; what it replaces is kept."""
        return await self._make(calls.restore_version_call(path, version, expected_sha256=expected_sha256), options)

    async def delete_document(
        self,
        path: str,
        *,
        expected_sha256: str | None = None,
        purge_versions: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.DeleteResult:
        """Remove a document from reads, search and tree; its last content is kept as a version."""
        call = calls.delete_document_call(path, expected_sha256=expected_sha256, purge_versions=purge_versions)
        return await self._make(call, options)

    async def get_scope_stats(self, **options: Unpack[CallOptions]) -> results.ScopeStats:
        """Return how much the scope holds, its limits, and which documents can't be searched."""
        return await self._make(calls.get_scope_stats_call(), options)

    async def read_long_term(
        self, query: str, *, max_snippets: int, context_profile_id: str = "", **options: Unpack[CallOptions]
    ) -> results.LongTermLane:
        """Return MEMORY.md, whatever the query, and then passages of the scope's documents, as they are."""
        call = calls.read_long_term_call(query, max_snippets=max_snippets, context_profile_id=context_profile_id)
        return await self._make(call, options)

    async def read_short_term(
        self, query: str, *, max_snippets: int, context_profile_id: str = "", **options: Unpack[CallOptions]
    ) -> results.ShortTermLane:
        """Return passages of what the scope's thread recorded, as they are; nothing without a thread."""
        call = calls.read_short_term_call(query, max_snippets=max_snippets, context_profile_id=context_profile_id)
        return await self._make(call, options)

    async def retrieve_context(
        self, query: str, *, max_snippets: int = 50, context_profile_id: str = "", **options: Unpack[CallOptions]
    ) -> results.RetrievedContext:
        """Return what memory adds to a prompt: both lanes, each passage in its envelope, as one block to paste."""
        call = calls.retrieve_context_call(query, max_snippets=max_snippets, context_profile_id=context_profile_id)
        return await self._make(call, options)

    async def record_interaction(
        self,
        messages: Iterable[results.InteractionMessage],
        *,
        turn_run_id: str,
        metadata: Mapping[str, object] | None = None,
        background: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.RecordResult:
        """Store a turn's exchange in the scope's thread; without a thread nothing is stored."""
        call = calls.record_interaction_call(
            messages, turn_run_id=turn_run_id, metadata=metadata, background=background
        )
        return await self._make(call, options)

    async def profile_read(self, **options: Unpack[CallOptions]) -> results.ProfileDocument:
        """Return the human's profile as it is stored, whatever the agent."""
        return await self._make(calls.profile_read_call(), options)

    async def claim_curation(
        self, *, lease_seconds: int | None = None, force: bool = False, **options: Unpack[CallOptions]
    ) -> results.CurationClaim:
        """Ask for the right to tidy MEMORY.md. At most one caller has it."""
        return await self._make(calls.claim_curation_call(lease_seconds=lease_seconds, force=force), options)

    async def complete_curation(
        self,
        lease_id: str,
        *,
        content: str | None = None,
        report: results.CurationReport | None = None,
        abandon: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.CurationResult:
        """End a claim: replace MEMORY.md, unless somebody changed it since."""
        call = calls.complete_curation_call(lease_id, content=content, report=report, abandon=abandon)
        return await self._make(call, options)

    async def watch_events(
        self,
        *,
        cursor: str = "",
        whole_tenant: bool = False,
        kinds: Iterable[str] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[results.WatchedEvent, None]:
        """Iterate over what happens to the scope's memory, as it happens, until the loop is left.

        Close the iterator (`contextlib.aclosing`) to end the watch at once.
        """
        watch = Watch(self._defaults, options, cursor=cursor, whole_tenant=whole_tenant, kinds=kinds)
        while True:
            stream: Any = self._events.WatchEvents(
                watch.request(), timeout=watch.seconds_left(), metadata=watch.metadata()
            )
            try:
                async for message in stream:
                    yield watch.take(message)
            except grpc.RpcError as failure:
                await asyncio.sleep(watch.delay_after(failure))
            else:
                return
            finally:
                stream.cancel()

    async def _make(self, call: calls.Call[Answer], options: CallOptions) -> Answer:
        """Make a call, as often as the rules in `retry` allow."""
        attempt = begin(call, self._defaults, options)
        method = getattr(self._stubs[call.service], call.method)
        while True:
            try:
                answer: Any = await method(call.request, timeout=attempt.seconds_left(), metadata=attempt.metadata)
            except grpc.RpcError as failure:
                error = error_of(failure)
                delay = attempt.tries.delay_after(error, time.monotonic())
                if delay is None:
                    raise error from failure
                await asyncio.sleep(delay)
            else:
                return call.read_answer(answer)
