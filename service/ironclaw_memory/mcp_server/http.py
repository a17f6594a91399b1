"""The transport for hosts that connect: streamable HTTP on `/mcp`, without sessions, and guarded.

Whoever may call has the memory of the configured scope, so the guard is as strict as the service's own: beyond loopback
only with a bearer token and over TLS. On loopback a web page could still reach the port, by a name of its own that
resolves to 127.0.0.1; therefore requests whose `Host` or `Origin` isn't this server's are refused, by the SDK's check.

Without sessions, since nothing is kept between two requests and the server never calls the host: what one process began
any other may go on with, and a restart is noticed by nobody. Closing the connection cancels a call in flight.
"""

from __future__ import annotations

import hmac
import signal
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp"
LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
MAX_CONNECTIONS: Final = 512
"""One more is answered 503; far above what the hosts of one machine open."""
GRACE_SECONDS: Final = 5
"""For calls in flight when the server stops; what takes longer is cancelled."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Who may call.

    Attributes:
        token: what requests must carry as `Authorization: Bearer`; None asks for nothing.
        hosts: names in `Host` and `Origin` besides those of loopback, without a port.
        certificate: PEM file of the chain for TLS; None serves plain.
        private_key: PEM file of its key.
    """

    token: str | None = None
    hosts: tuple[str, ...] = ()
    certificate: str | None = None
    private_key: str | None = None

    @property
    def scheme(self) -> str:
        """`https` or `http`."""
        return "https" if self.certificate else "http"

    def security(self) -> TransportSecuritySettings:
        """Return what the SDK checks of `Host` and `Origin`."""
        names = (*LOOPBACK_NAMES, *self.hosts)
        return TransportSecuritySettings(
            allowed_hosts=list(_with_ports(names)),
            allowed_origins=list(_with_ports(f"{self.scheme}://{name}" for name in names)),
        )


def _with_ports(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        yield name
        yield f"{name}:*"


class BearerToken:
    """Lets only requests with the token through to an application."""

    def __init__(self, application: ASGIApp, token: str) -> None:
        self._application = application
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: 401 without the token."""
        if scope["type"] == "http" and not self._is_carried_by(scope):
            refusal = PlainTextResponse("A bearer token is needed.", 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._application(scope, receive, send)

    def _is_carried_by(self, scope: Scope) -> bool:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


class _AnnouncingServer(uvicorn.Server):
    """Says that it is ready once it answers requests, and heeds signals."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._announce()


async def serve(server: Server[Any], listening: socket.socket, guard: Guard, announce: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT, then let calls in flight finish; on the main thread.

    Args:
        server: answers the requests.
        listening: a bound socket; it is closed at the end.
        guard: who may call.
        announce: called once requests are answered.
    """
    application: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=guard.security()
    )
    if guard.token is not None:
        application = BearerToken(application, guard.token)
    config = uvicorn.Config(
        application,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=guard.certificate,
        ssl_keyfile=guard.private_key,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn heeds it, and raises it again when it is done
    await _AnnouncingServer(config, announce).serve(sockets=[listening])
