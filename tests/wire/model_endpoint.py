"""A chat endpoint on loopback that answers as a test says: well, badly, slowly or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Deed = Callable[["_Handler"], None]
"""What the endpoint does with one request."""


def say(text: str | None, finish_reason: str = "stop", **message: Any) -> Deed:
    """Answer with a chat completion."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": text, **message},
    }
    completion = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return send(json.dumps(completion))


def send(body: str, status: int = 200, kind: str = "application/json", **headers: str) -> Deed:
    """Answer with these bytes."""

    def deed(handler: _Handler) -> None:
        handler.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body.encode())), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body.encode())

    return deed


def hang_up(handler: _Handler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True


def keep_silent(handler: _Handler) -> None:
    """Answer nothing until the endpoint is closed."""
    handler.endpoint.closing.wait()
    handler.close_connection = True


def drip(handler: _Handler) -> None:
    """Send a space every few milliseconds, as endpoints do that keep a connection alive while they think."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while not handler.endpoint.closing.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def after(first: Callable[[], object], then: Deed) -> Deed:
    """Do something while the model is thought to think, then answer."""

    def deed(handler: _Handler) -> None:
        first()
        then(handler)

    return deed


@dataclass
class ModelEndpoint:
    """The endpoint.

    Attributes:
        deeds: what it does with the requests, in order; the last one from then on.
        requests: the bodies that it got.
        keys: the `authorization` headers that it got.
        base_url: where it is.
        closing: set when the test is over.
    """

    deeds: list[Deed] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    base_url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    def answers(self, *deeds: Deed) -> None:
        """Set what it does from now on."""
        self.deeds = list(deeds)

    def next_deed(self) -> Deed:
        """Return what to do with this request."""
        return self.deeds.pop(0) if len(self.deeds) > 1 else self.deeds[0]


class _Handler(BaseHTTPRequestHandler):
    endpoint: ModelEndpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.endpoint.requests.append(json.loads(body) | {"path": self.path})
        self.endpoint.keys.append(self.headers["authorization"])
        with suppress(ConnectionError):  # the curator didn't want to wait
            self.endpoint.next_deed()(self)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def run_endpoint() -> Iterator[ModelEndpoint]:
    """Run an endpoint for the block."""
    endpoint = ModelEndpoint()
    handler = type("Handler", (_Handler,), {"endpoint": endpoint})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield endpoint
        finally:
            endpoint.closing.set()
            server.shutdown()
            thread.join()
