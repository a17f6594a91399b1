"""Settles who calls and whose memory a call is about, before anything is looked up.

First the credential is proven, then its permissions and the scope that the metadata name are held to its grant. Where
no credentials are configured everyone who can connect is trusted, and only the metadata's form is checked.

Two values for one key are refused, not resolved: behind a proxy that adds headers, the first or the last could be the
attacker's. Methods are served when they are listed, as scoped or as exempt; any other is unknown, however it got here.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from functools import lru_cache, partial
from operator import itemgetter
from typing import Final, NamedTuple, cast

import grpc

from ironclaw_memory.contract.faults import (
    CredentialsInvalid,
    CredentialsMissing,
    Fault,
    PermissionForbidden,
    ScopeForbidden,
    ScopeInvalid,
    ScopeMissing,
)
from ironclaw_memory.contract.grant import Principal
from ironclaw_memory.contract.path import CONTROL
from ironclaw_memory.contract.scope import Scope, check_segment
from ironclaw_memory.credentials.authenticator import Authenticator, Missing, Presented
from ironclaw_memory.credentials.problem import Refused
from ironclaw_memory.interceptors.around import Around, Handler
from ironclaw_memory.interceptors.call import CALLER, Caller
from ironclaw_memory.interceptors.permissions import check_permissions, check_table
from ironclaw_memory.interceptors.refusals import RefusalLog

PREFIX: Final = "x-ironclaw-"
TENANT, USER, AGENT, PROJECT, THREAD = "tenant-id", "user-id", "agent-id", "project-id", "thread-id"
REQUEST, CORRELATION = "request-id", "correlation-id"
KNOWN: Final = frozenset({TENANT, USER, AGENT, PROJECT, THREAD, REQUEST, CORRELATION})
AUTHORIZATION: Final = "authorization"
CERTIFICATE_NAMES: Final = {"peer_spiffe_id": True, "peer_dns": False}
"""Where gRPC puts a verified certificate's names, by type, and whether there is a slash in one. The list of all names
mixes in addresses of e-mail."""

MAX_ID_BYTES: Final = 256

_PROCESS: Final = secrets.token_hex(8)
_CALLS: Final = itertools.count()
"""Together they make correlation ids that are unique without asking the kernel for randomness at each call."""

Metadata = tuple[tuple[str, str | bytes], ...]

VARYING: Final = frozenset(
    {f"{PREFIX}{REQUEST}", f"{PREFIX}{REQUEST}-bin", f"{PREFIX}{CORRELATION}", f"{PREFIX}{CORRELATION}-bin"}
)
"""Keys whose values differ from call to call, so that nothing is gained by remembering metadata that have them."""

_KEY: Final = itemgetter(0)


class Named(NamedTuple):
    """What metadata name, checked apart from the grammar of segments.

    Attributes:
        axes: tenant, user, agent and project.
        thread: the conversation.
        request_id: the idempotency key.
        correlation_id: of the host's choice.
    """

    axes: tuple[str | None, str | None, str | None, str | None]
    thread: str | None
    request_id: str | None
    correlation_id: str | None


class Scoping(Around):
    """Sets the call's caller.

    Args:
        scoped: full names of the methods that need a scope.
        exempt: full names of the methods that need none: health and reflection.
        authenticator: proves credentials.
        refusals: where refused ones are noted.

    Raises:
        LookupError: a scoped method has no entry in the table of permissions.
    """

    def __init__(
        self, scoped: frozenset[str], exempt: frozenset[str], authenticator: Authenticator, refusals: RefusalLog
    ) -> None:
        super().__init__(scoped)
        check_table(scoped)
        self._served = scoped | exempt
        self._authenticator = authenticator
        self._refusals = refusals

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Serve what is listed, and nothing else."""
        if handler_call_details.method not in self._served:
            return None
        return super().intercept_service(continuation, handler_call_details)

    def enter(self, method: str, context: grpc.ServicerContext) -> Token[Caller]:
        """Prove the credential, then read and check the metadata."""
        metadata = context.invocation_metadata()
        if not self._authenticator.is_needed():
            return CALLER.set(read_caller(metadata))
        presented = Presented(_authorization(metadata), _certificate_names(context))
        principal = self._prove(method, presented)
        recheck = partial(self._prove_again, method, presented, principal)
        try:
            check_permissions(principal.grant, method)
            return CALLER.set(read_caller(metadata, principal, recheck))
        except (PermissionForbidden, ScopeForbidden) as fault:
            self._refusals.note(method, fault, fault.reason.value, principal.name)
            raise

    def leave(self, entered: Token[Caller]) -> None:
        """Forget the caller: the thread serves others."""
        CALLER.reset(entered)

    def _prove(self, method: str, presented: Presented) -> Principal:
        try:
            principal = self._authenticator.authenticate(presented)
        except Missing:
            raise self._refused(method, CredentialsMissing(), "no credential") from None
        except Refused as refused:
            raise self._refused(method, CredentialsInvalid(), refused.why, refused.subject) from None
        if principal is None:
            raise CredentialsMissing
        return principal

    def _prove_again(self, method: str, presented: Presented, principal: Principal) -> None:
        """Return while the credential holds and allows what it did when the call began."""
        if self._prove(method, presented) != principal:
            raise self._refused(method, CredentialsInvalid(), "grant changed", principal.name)

    def _refused(self, method: str, fault: Fault, why: str, subject: str = "") -> Fault:
        self._refusals.note(method, fault, why, subject)
        return fault


def _authorization(metadata: Metadata) -> tuple[str | bytes, ...]:
    return tuple(value for key, value in metadata if key == AUTHORIZATION)


def _certificate_names(context: grpc.ServicerContext) -> tuple[str, ...]:
    found = cast("Mapping[str, Sequence[bytes]]", context.auth_context())  # the stubs have it as one value a key
    return tuple(
        name.decode("utf-8", "replace")
        for kind, sign in CERTIFICATE_NAMES.items()
        for name in found.get(kind, ())
        if (b"/" in name) is sign  # a DNS name that reads like a URI is neither
    )


def read_caller(
    metadata: Metadata, principal: Principal | None = None, recheck: Callable[[], object] = lambda: None
) -> Caller:
    """Return what the metadata say, within what the principal's grant allows.

    Args:
        metadata: as they came.
        principal: who calls; None where nobody asks.
        recheck: proves the same credential again.

    Raises:
        ScopeForbidden: the grant doesn't reach the scope.
        ScopeMissing: no tenant or no user, and no grant that says which.
        ScopeInvalid: a value breaks its rule, isn't UTF-8, or its key was sent more than once, in whichever form.
    """
    named = _read_named(metadata) if VARYING.isdisjoint(map(_KEY, metadata)) else _read_anew(metadata)
    tenant, user, agent, project = named.axes if principal is None else principal.grant.confine(named.axes)
    if tenant is None or user is None:
        key = f"{PREFIX}{TENANT if tenant is None else USER}"
        raise ScopeMissing(f"The call's metadata lack {key}.", field=key)
    scope = _scope(tenant, user, agent, project)
    return Caller(
        scope,
        None if named.thread is None else check_segment(named.thread, "thread"),
        named.request_id,
        named.correlation_id or f"{_PROCESS}{next(_CALLS):016x}",
        principal,
        recheck,
    )


@lru_cache(maxsize=1024)
def _scope(tenant: str, user: str, agent: str | None, project: str | None) -> Scope:
    # Scopes come back call after call, and checking one costs as much as reading a small file.
    return Scope(tenant, user, agent, project)


def _read_anew(metadata: Metadata) -> Named:
    values = _read_values(metadata)
    return Named(
        axes=(values.get(TENANT), values.get(USER), values.get(AGENT), values.get(PROJECT)),
        thread=values.get(THREAD),
        request_id=_check_id(values, REQUEST),
        correlation_id=_check_id(values, CORRELATION),
    )


_read_named = lru_cache(maxsize=1024)(_read_anew)
"""For metadata that come back call after call: reading them costs as much as reading a small file."""


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
        raise ScopeInvalid(
            f"{PREFIX}{name} must have 1 to {MAX_ID_BYTES} bytes and not be blank.", field=f"{PREFIX}{name}"
        )
    if CONTROL.search(value):
        raise ScopeInvalid(f"{PREFIX}{name} must not hold a control character.", field=f"{PREFIX}{name}")
    return value
