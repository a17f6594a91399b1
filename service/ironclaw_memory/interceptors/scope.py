"""Reads whose memory a call is about from its metadata, and lets nothing through that isn't exactly one value a key.

Two values for one key are refused, not resolved: behind a proxy that adds headers, the first or the last could be the
attacker's. Methods are served when they are listed, as scoped or as exempt; any other is unknown, however it got here.
"""

from __future__ import annotations

import itertools
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Final

import grpc

from ironclaw_memory.contract.faults import ScopeInvalid, ScopeMissing
from ironclaw_memory.contract.scope import Scope, check_segment
from ironclaw_memory.interceptors.around import Around, Handler
from ironclaw_memory.interceptors.call import CALLER, Caller, Holding

PREFIX: Final = "x-ironclaw-"
TENANT, USER, AGENT, PROJECT, THREAD = "tenant-id", "user-id", "agent-id", "project-id", "thread-id"
REQUEST, CORRELATION = "request-id", "correlation-id"
KNOWN: Final = frozenset({TENANT, USER, AGENT, PROJECT, THREAD, REQUEST, CORRELATION})
MAX_ID_BYTES: Final = 256

_PROCESS: Final = secrets.token_hex(8)
_CALLS: Final = itertools.count()
"""Together they make correlation ids that are unique without asking the kernel for randomness at each call."""

Metadata = tuple[tuple[str, str | bytes], ...]


class Scoping(Around):
    """Sets the call's caller.

    Args:
        scoped: full names of the methods that need a scope.
        exempt: full names of the methods that need none: health and reflection.
    """

    def __init__(self, scoped: frozenset[str], exempt: frozenset[str]) -> None:
        super().__init__(scoped)
        self._served = scoped | exempt

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Serve what is listed, and nothing else."""
        if handler_call_details.method not in self._served:
            return None
        return super().intercept_service(continuation, handler_call_details)

    def around(self, method: str, context: grpc.ServicerContext) -> AbstractContextManager[None]:
        """Read and check the metadata."""
        del method
        return Holding(CALLER, read_caller(context.invocation_metadata()))


def read_caller(metadata: Metadata) -> Caller:
    """Return what the metadata say.

    Raises:
        ScopeMissing: no tenant or no user.
        ScopeInvalid: a value breaks its rule, isn't UTF-8, or its key was sent more than once, in whichever form.
    """
    values = _read_values(metadata)
    for axis in (TENANT, USER):
        if axis not in values:
            raise ScopeMissing(f"The call's metadata lack {PREFIX}{axis}.", field=f"{PREFIX}{axis}")
    scope = _scope(values[TENANT], values[USER], values.get(AGENT), values.get(PROJECT))
    thread = values.get(THREAD)
    return Caller(
        scope=scope,
        thread_id=None if thread is None else check_segment(thread, "thread"),
        request_id=_check_id(values, REQUEST),
        correlation_id=_check_id(values, CORRELATION) or _make_correlation_id(),
    )


@lru_cache(maxsize=1024)
def _scope(tenant: str, user: str, agent: str | None, project: str | None) -> Scope:
    # Scopes come back call after call, and checking one costs as much as reading a small file.
    return Scope(tenant, user, agent, project)


def _make_correlation_id() -> str:
    return f"{_PROCESS}{next(_CALLS):016x}"


def _read_values(metadata: Metadata) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in metadata:
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX).removesuffix("-bin")
        if name not in KNOWN:
            continue
        if name in values:
            raise ScopeInvalid(f"{PREFIX}{name} was sent more than once.", field=f"{PREFIX}{name}")
        values[name] = _decode(name, value)
    return values


def _decode(name: str, value: str | bytes) -> str:
    if isinstance(value, str):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ScopeInvalid(f"{PREFIX}{name}-bin isn't UTF-8.", field=f"{PREFIX}{name}") from None


def _check_id(values: Mapping[str, str], name: str) -> str | None:
    value = values.get(name)
    if value is None:
        return None
    if not value.strip() or len(value.encode("utf-8")) > MAX_ID_BYTES:
        raise ScopeInvalid(f"{PREFIX}{name} must have 1 to {MAX_ID_BYTES} bytes and not be blank.", field=name)
    if any(unicodedata.category(c) == "Cc" for c in value):
        raise ScopeInvalid(f"{PREFIX}{name} must not hold a control character.", field=f"{PREFIX}{name}")
    return value
