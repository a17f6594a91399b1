"""Whose memory a call is about, and how that travels: as call metadata, beside the request and never in it.

The service checks scope values; this module only carries them faithfully. A value that HTTP/2 headers can't carry as it
is goes as UTF-8 bytes under the key with `-bin`, and each key is sent once, in one form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypedDict

Metadata: TypeAlias = tuple[tuple[str, str | bytes], ...]
"""Call metadata as grpc takes it: keys in lower case, bytes under keys that end in `-bin`."""


@dataclass(frozen=True, slots=True)
class Scope:
    r"""Whose memory: set by the host, never by a model.

    Documents of scopes that differ in tenant, user, agent or project never meet. An absent agent or project is a scope
    of its own, not a wildcard. The thread is the active conversation and keeps nothing apart. Tenant and user may be
    left out where the credential names the one that it is good for.

    Each value is 1 to 256 bytes without `/`, `\`, `:` and control characters; others are refused as `ScopeError`.
    """

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    project: str | None = None
    thread: str | None = None


class ScopeChanges(TypedDict, total=False):
    """The parts of a scope that `with_scope` sets; None takes one away."""

    tenant: str | None
    user: str | None
    agent: str | None
    project: str | None
    thread: str | None


def call_metadata(scope: Scope, *, request_id: str | None = None, correlation_id: str | None = None) -> Metadata:
    """Return the metadata of one call; what is None is left out.

    Raises:
        UnicodeEncodeError: a value holds a lone surrogate, so it isn't text.
    """
    values = {
        "x-ironclaw-tenant-id": scope.tenant,
        "x-ironclaw-user-id": scope.user,
        "x-ironclaw-agent-id": scope.agent,
        "x-ironclaw-project-id": scope.project,
        "x-ironclaw-thread-id": scope.thread,
        "x-ironclaw-request-id": request_id,
        "x-ironclaw-correlation-id": correlation_id,
    }
    return tuple(_entry(key, value) for key, value in values.items() if value is not None)


def _entry(key: str, value: str) -> tuple[str, str | bytes]:
    """Return the pair in the form that arrives unchanged: proxies and peers trim spaces around a header's value."""
    plain = all(" " <= c <= "~" for c in value) and value == value.strip(" ")
    return (key, value) if plain else (f"{key}-bin", value.encode("utf-8"))
