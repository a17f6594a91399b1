"""Shedding: what counts as an open call, and how long those that are refused are told to wait."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import grpc
from google.rpc import error_details_pb2, status_pb2

from ironclaw_memory.interceptors.admission import RETRY_AFTER_SECONDS
from ironclaw_memory.interceptors.shedding import MOST_DELAY_SECONDS, CountedThreads, Shedding

METHOD, HEALTH = "/s/Counted", "/s/Health"


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


class Context:
    """Keeps what a refusal sets on it."""

    def set_trailing_metadata(self, trailers):
        self.trailers = trailers

    def set_code(self, code):
        self.code = code

    def set_details(self, details):
        self.details = details


def ask(shedding, method=METHOD):
    """Return the handler that a call of `method` gets: the method's own takes no stream."""
    own = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    return shedding.intercept_service(lambda details: own, SimpleNamespace(method=method, invocation_metadata=()))


def refused(handler):
    return handler.request_streaming


def told_delay(handler):
    context = Context()
    handler.stream_unary(iter(()), context)
    assert context.code is grpc.StatusCode.UNAVAILABLE
    info = error_details_pb2.RetryInfo()
    status = status_pb2.Status.FromString(dict(context.trailers)["grpc-status-details-bin"])
    assert any(detail.Unpack(info) for detail in status.details)
    return info.retry_delay.ToNanoseconds() / 1e9


def test_open_calls():
    """A call is open from when it is handed over until it leaves or ends; one that doesn't count never is."""
    threads, go_on, left, end = CountedThreads(2), threading.Event(), threading.Event(), threading.Event()
    ended = threading.Event()

    def serve():
        go_on.wait(10)
        threads.leave()
        left.set()
        end.wait(10)

    threads.submit(end.wait, 10)
    assert threads.open_calls == 0
    threads.counts_next = True
    threads.submit(serve).add_done_callback(lambda _: ended.set())
    assert threads.open_calls == 1
    go_on.set()
    assert left.wait(10)
    assert threads.open_calls == 0
    end.set()
    assert ended.wait(10)
    assert threads.open_calls == 0
    threads.shutdown()


def test_call_without_message():
    """A call whose client leaves before its handler runs gives its place back all the same."""
    threads, ended = CountedThreads(1), threading.Event()
    threads.counts_next = True
    threads.submit(lambda: None).add_done_callback(lambda _: ended.set())
    assert ended.wait(10)
    assert threads.open_calls == 0
    threads.shutdown()


def test_limit():
    """Up to the limit calls go on, beyond it they are refused; a method that isn't counted always goes on."""
    threads, end = CountedThreads(2), threading.Event()
    shedding = Shedding(1, threads, frozenset({METHOD}))
    assert not refused(ask(shedding))
    threads.submit(end.wait, 10)
    assert refused(ask(shedding))
    assert not refused(ask(shedding, HEALTH))
    threads.submit(end.wait, 10)
    assert threads.open_calls == 1
    end.set()
    threads.shutdown()


def test_delay():
    """The more are refused for each that is served, the longer they are told to wait, within bounds; and back."""
    clock, threads, end = Clock(), CountedThreads(1), threading.Event()
    shedding = Shedding(1, threads, frozenset({METHOD}), clock)

    def told():
        delays = [told_delay(ask(shedding)) for _ in range(4)]
        clock.seconds += MOST_DELAY_SECONDS
        return delays[-1]

    ask(shedding)
    ended = threading.Event()
    threads.submit(end.wait, 10).add_done_callback(lambda _: ended.set())
    rising = [told() for _ in range(10)]
    assert rising == sorted(rising)
    assert RETRY_AFTER_SECONDS <= rising[0] < rising[-1] == MOST_DELAY_SECONDS
    end.set()
    assert ended.wait(10)

    assert not any(refused(ask(shedding)) for _ in range(1_000))
    end.clear()
    threads.counts_next = True
    threads.submit(end.wait, 10)
    assert told() == RETRY_AFTER_SECONDS
    end.set()
    threads.shutdown()
