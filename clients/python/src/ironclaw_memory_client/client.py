"""The client for blocking code. `async_client` is its twin for asyncio; what isn't waiting is in the other modules."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import grpc

from ironclaw.memory.v1.admin_service_pb2_grpc import MemoryAdminServiceStub
from ironclaw.memory.v1.event_service_pb2_grpc import MemoryEventServiceStub
from ironclaw.memory.v1.lifecycle_service_pb2_grpc import MemoryLifecycleServiceStub
from ironclaw.memory.v1.memory_service_pb2_grpc import MemoryServiceStub

from . import calls, conversion, results
from .channel import TLS, ChannelOptions, open_channel
from .credentials import Token, check_target
from .failure import error_of
from .options import CallOptions, Defaults, begin
from .retry import RetryPolicy
from .scope import Scope, ScopeChanges
from .watch import Watch

Answer = TypeVar("Answer")


class MemoryClient:
    """A connection to ironclaw-memory, for blocking code and for any number of threads.

    It connects with the first call. After a fork, make a new one in the child.

    Args:
        target: where the service listens, such as `127.0.0.1:50051`, `dns:///memory:50051` or `unix:/run/memory.sock`.
        scope: whose memory, unless a call says otherwise.
        token: an API key or a signed token, or what returns the one to send now; None sends none.
        tls: how to encrypt; None sends everything in the clear.
        deadline: seconds for one call, its tries and the waits between them.
        retry: how often and how patiently calls are repeated.
        channel_options: gRPC channel arguments, over this client's own.

    Every method takes `CallOptions` as keyword arguments, and raises:
        MemoryServiceError: the call failed; `errors` has the tree of its subclasses.
        ValueError: an argument can't be sent, such as a text with a lone surrogate. Nothing was sent.

    Raises:
        ValueError: the token would travel in the clear, beyond this machine.
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
        self._channel = open_channel(target, tls, channel_options)
        self._stubs = {
            "memory": MemoryServiceStub(self._channel),
            "lifecycle": MemoryLifecycleServiceStub(self._channel),
            "admin": MemoryAdminServiceStub(self._channel),
        }
        self._events = MemoryEventServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, also for the clients that `with_scope` made. Calls in flight are cancelled."""
        self._channel.close()

    @property
    def scope(self) -> Scope:
        """Whose memory, unless a call says otherwise."""
        return self._defaults.scope

    def with_scope(self, **changes: Unpack[ScopeChanges]) -> Self:
        """Return a client for a scope that differs in `changes`. It shares the connection: closing one closes both."""
        twin = copy.copy(self)
        twin._defaults = dataclasses.replace(self._defaults, scope=dataclasses.replace(self.scope, **changes))
        return twin

    def write(  # the tool's arguments, by their names on the wire
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
        """Append to, replace or patch one document. It is on the disk when this returns.

        Args:
            content: the text to append, or to store when `append` is False; ignored by a patch and by `bootstrap`.
            target: `memory`, `heartbeat`, `bootstrap`, `daily_log` (the default), or a relative path.
            append: add to the document (the default) or replace it. `daily_log` always appends.
            old_string: the exact text to be replaced; switches to patch mode. Needs `new_string`.
            new_string: what stands in its place, not empty.
            replace_all: patch every occurrence instead of the first.
            metadata: laid over the document's metadata key by key; must fit JSON.
            timezone: the IANA zone whose date names the daily log. Default: the profile's, else UTC.
            expected_sha256: write only if this is the document's hash.
            must_not_exist: write only if there is no such document.

        Raises:
            ContentChangedError: the precondition doesn't hold; nothing was written.
            ValueError: both preconditions are given, or an argument can't be sent.
        """
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
        return self._make(call, options)

    def read(self, path: str, **options: Unpack[CallOptions]) -> results.ReadResult:
        """Return one document whole.

        Raises:
            DocumentNotFoundError: there is none under this path.
        """
        return self._make(calls.read_call(path), options)

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        path_prefix: str = "",
        min_score: float | None = None,
        **options: Unpack[CallOptions],
    ) -> results.SearchResult:
        """Return the documents that match a question in plain words, best first.

        Args:
            query: any text, at most 4,096 bytes; nothing in it is syntax.
            limit: the most results, clamped to 1 to 20. Default 5.
            path_prefix: keep to paths that start with it, such as `daily/`.
            min_score: drop what scores below it, 0 to 1.
        """
        call = calls.search_call(query, limit=limit, path_prefix=path_prefix, min_score=min_score)
        return self._make(call, options)

    def tree(
        self, path: str | None = None, *, depth: int | None = None, **options: Unpack[CallOptions]
    ) -> results.TreeResult:
        """List what is in a folder; an unknown folder is empty.

        Args:
            path: the folder. Default: the scope's root.
            depth: how many levels to open, clamped to 1 to 10. Default 1.
        """
        return self._make(calls.tree_call(path, depth=depth), options)

    def profile_set(
        self,
        *,
        timezone: str | None = None,
        locale: str | None = None,
        location: str | None = None,
        **options: Unpack[CallOptions],
    ) -> results.ProfileSetResult:
        """Set facts about the human user; what is None stays as it is. The profile is the user's, whatever the agent.

        Args:
            timezone: an IANA zone such as `Asia/Shanghai`.
            locale: a BCP 47 tag such as `zh-CN`.
            location: free text of 1 to 200 characters.
        """
        return self._make(calls.profile_set_call(timezone=timezone, locale=locale, location=location), options)

    def list_tools(self, **options: Unpack[CallOptions]) -> results.ToolCatalogue:
        """Return the five tools and the guidance text, ready for `tools_for_openai` and its siblings."""
        return self._make(calls.list_tools_call(), options)

    def invoke(self, name: str, arguments_json: str = "", **options: Unpack[CallOptions]) -> results.InvokeResult:
        """Run a model's tool call. What the model can be told about a failure comes back as `error`, not as exception.

        Args:
            name: the tool's id, or its name in a model API (`ironclaw_memory_write`).
            arguments_json: the arguments as the model wrote them; empty counts as `{}`.
        """
        return self._make(calls.invoke_call(name, arguments_json), options)

    def list_versions(
        self, path: str, *, page_size: int = 0, **options: Unpack[CallOptions]
    ) -> Iterator[results.DocumentVersion]:
        """Iterate over what is kept of a document's past, newest first, fetching page by page as it goes.

        Args:
            path: the document, which may be deleted by now.
            page_size: versions a page, at most 1,000; 0 is the server's default. `deadline` is for each page.
        """
        token = ""
        while True:
            page = self._make(calls.list_versions_call(path, page_size=page_size, page_token=token), options)
            yield from map(conversion.to_document_version, page.versions)
            if not (token := page.next_page_token):
                return

    def read_version(self, path: str, version: int, **options: Unpack[CallOptions]) -> results.VersionContent:
        """Return the content of one kept version.

        Raises:
            DocumentNotFoundError: there is no such version.
        """
        return self._make(calls.read_version_call(path, version), options)

    def restore_version(
        self, path: str, version: int, *, expected_sha256: str | None = None, **options: Unpack[CallOptions]
    ) -> results.RestoreResult:
        """Make a kept version the document's content again. What it replaces is kept; it works for a deleted document.

        Args:
            path: the document.
            version: a number from `list_versions`.
            expected_sha256: restore only if this is the hash of the current content.
        """
        return self._make(calls.restore_version_call(path, version, expected_sha256=expected_sha256), options)

    def delete_document(
        self,
        path: str,
        *,
        expected_sha256: str | None = None,
        purge_versions: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.DeleteResult:
        """Remove a document from reads, search and tree; its last content is kept as a version.

        Args:
            path: the document.
            expected_sha256: delete only if this is the hash of the current content.
            purge_versions: remove the kept versions too, which can't be undone.
        """
        call = calls.delete_document_call(path, expected_sha256=expected_sha256, purge_versions=purge_versions)
        return self._make(call, options)

    def get_scope_stats(self, **options: Unpack[CallOptions]) -> results.ScopeStats:
        """Return how much the scope holds, its limits, and which documents can't be searched."""
        return self._make(calls.get_scope_stats_call(), options)

    def read_long_term(
        self, query: str, *, max_snippets: int, context_profile_id: str = "", **options: Unpack[CallOptions]
    ) -> results.LongTermLane:
        """Return MEMORY.md, whatever the query, and then passages of the scope's documents, as they are.

        Args:
            query: any text, at most 4,096 bytes, such as the user's message.
            max_snippets: the most snippets, MEMORY.md's chunks included; clamped to 0 to 50.
            context_profile_id: the host's name for how context is built; `memory_disabled` returns nothing.
        """
        call = calls.read_long_term_call(query, max_snippets=max_snippets, context_profile_id=context_profile_id)
        return self._make(call, options)

    def read_short_term(
        self, query: str, *, max_snippets: int, context_profile_id: str = "", **options: Unpack[CallOptions]
    ) -> results.ShortTermLane:
        """Return passages of what the scope's thread recorded, as they are; nothing without a thread.

        Args:
            query: any text, at most 4,096 bytes.
            max_snippets: the most snippets, clamped to 0 to 50.
            context_profile_id: as in `read_long_term`.
        """
        call = calls.read_short_term_call(query, max_snippets=max_snippets, context_profile_id=context_profile_id)
        return self._make(call, options)

    def retrieve_context(
        self, query: str, *, max_snippets: int = 50, context_profile_id: str = "", **options: Unpack[CallOptions]
    ) -> results.RetrievedContext:
        """Return what memory adds to a prompt: both lanes, each passage in its envelope, as one block to paste.

        Args:
            query: any text, at most 4,096 bytes, such as the user's message.
            max_snippets: the most snippets of each lane; the block's 4,096 bytes bound them too.
            context_profile_id: as in `read_long_term`.
        """
        call = calls.retrieve_context_call(query, max_snippets=max_snippets, context_profile_id=context_profile_id)
        return self._make(call, options)

    def record_interaction(
        self,
        messages: Iterable[results.InteractionMessage],
        *,
        turn_run_id: str,
        metadata: Mapping[str, object] | None = None,
        background: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.RecordResult:
        """Store a turn's exchange in the scope's thread; without a thread nothing is stored.

        Args:
            messages: the exchange, in order.
            turn_run_id: names the run; the same run again overwrites its record and counts once.
            metadata: laid over the record's metadata key by key; must fit JSON.
            background: record the run without counting it towards curation.
        """
        call = calls.record_interaction_call(
            messages, turn_run_id=turn_run_id, metadata=metadata, background=background
        )
        return self._make(call, options)

    def profile_read(self, **options: Unpack[CallOptions]) -> results.ProfileDocument:
        """Return the human's profile as it is stored, whatever the agent."""
        return self._make(calls.profile_read_call(), options)

    def claim_curation(
        self, *, lease_seconds: int | None = None, force: bool = False, **options: Unpack[CallOptions]
    ) -> results.CurationClaim:
        """Ask for the right to tidy MEMORY.md. At most one caller has it.

        Args:
            lease_seconds: how long the claim holds, 1 to 3,600. Default 300.
            force: claim even when nothing is due.
        """
        return self._make(calls.claim_curation_call(lease_seconds=lease_seconds, force=force), options)

    def complete_curation(
        self,
        lease_id: str,
        *,
        content: str | None = None,
        report: results.CurationReport | None = None,
        abandon: bool = False,
        **options: Unpack[CallOptions],
    ) -> results.CurationResult:
        """End a claim: replace MEMORY.md, unless somebody changed it since.

        Args:
            lease_id: from `claim_curation`.
            content: the new text; None when nothing needed to change.
            report: what became of the lines.
            abandon: give the lease back without a curation having taken place.

        Raises:
            LeaseInvalidError: the lease is over, or was never given in this scope.
            UnsafeTextError: the text may not enter a prompt; the lease holds for another try.
        """
        call = calls.complete_curation_call(lease_id, content=content, report=report, abandon=abandon)
        return self._make(call, options)

    def watch_events(
        self,
        *,
        cursor: str = "",
        whole_tenant: bool = False,
        kinds: Iterable[str] = (),
        **options: Unpack[CallOptions],
    ) -> Iterator[results.WatchedEvent]:
        """Iterate over what happens to the scope's memory, as it happens, until the loop is left.

        The first item has no event: from then on nothing is missed. A connection that breaks or a server that stops is
        followed by another try with the last cursor, as often as `retry` says without anything having come. Without
        the option `deadline` it has none.

        Args:
            cursor: of the last item that was handled, to go on after it; empty for from now on.
            whole_tenant: watch all scopes of the tenant; needs the permission `events`.
            kinds: which kinds of event, such as `written`; none for all.

        Raises:
            ValueError: there is no such kind.
        """
        watch = Watch(self._defaults, options, cursor=cursor, whole_tenant=whole_tenant, kinds=kinds)
        return self._watch(watch)

    def _watch(self, watch: Watch) -> Iterator[results.WatchedEvent]:
        while True:
            stream = self._events.WatchEvents(watch.request(), timeout=watch.seconds_left(), metadata=watch.metadata())
            try:
                yield from map(watch.take, stream)
            except grpc.RpcError as failure:
                time.sleep(watch.delay_after(failure))
            else:
                return
            finally:
                stream.cancel()

    def _make(self, call: calls.Call[Answer], options: CallOptions) -> Answer:
        """Make a call, as often as the rules in `retry` allow."""
        attempt = begin(call, self._defaults, options)
        method = getattr(self._stubs[call.service], call.method)
        while True:
            try:
                answer: Any = method(call.request, timeout=attempt.seconds_left(), metadata=attempt.metadata)
            except grpc.RpcError as failure:
                error = error_of(failure)
                delay = attempt.tries.delay_after(error, time.monotonic())
                if delay is None:
                    raise error from failure
                time.sleep(delay)
            else:
                return call.read_answer(answer)
