"""Requests that aren't what the method takes: broken bytes, too many of them, or a method that doesn't exist."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import FieldDescriptor

from tests.caller import METHODS, SERVICES, Refusal, exchange
from tests.wire.folder import documents_on_disk
from tests.wire.refusals import MARKER, check_silence, refused

BROKEN = {
    "tag cut off": b"\xff",
    "length beyond the end": b"\x0a\x7fabc",
    "length overflow": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    "wire type 7": b"\x0f",
    "group end without a group": b"\x0c",
    "endless varint": b"\x08" + b"\xff" * 11,
    "text": b"GET / HTTP/1.1\r\n\r\n" + MARKER.encode(),
}


def string_field(method):
    """Return the number of the first text field of the method's request; None when it has none."""
    fields = [f.number for f in method.input_type.fields if f.type == FieldDescriptor.TYPE_STRING]
    return fields[0] if fields else None


WITH_TEXT = {name: string_field(method) for name, method in METHODS.items() if string_field(method)}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("name", METHODS)
def test_broken_bytes(name, body, caller):
    """Bytes that are no message are the caller's fault on every method, never an unknown or internal error."""
    with refused("REQUEST_MALFORMED", kind="input"):
        exchange(caller.channel, name, [body], caller.metadata(), seconds=10)


@pytest.mark.parametrize("name", WITH_TEXT)
def test_text_that_is_not_utf8(name, caller):
    """A text field that isn't UTF-8 is refused before anything is done with it."""
    body = bytes([WITH_TEXT[name] << 3 | 2, 4]) + b"n\xff\xfed"
    with refused("REQUEST_MALFORMED", kind="input"):
        exchange(caller.channel, name, [body], caller.metadata(), seconds=10)


def test_truncated_write_writes_nothing(caller, server):
    """A write whose bytes were cut off in the middle of a field is refused and writes nothing."""
    caller.write("n.md", "before")
    before = documents_on_disk(server, caller)
    body = b"\x0a\x04n.md\x12\x10" + MARKER.encode() + b"\x18\x00"
    for end in (1, 3, 5, 7, 12, 20, 23):
        with refused("REQUEST_MALFORMED"):
            caller.send("Write", body[:end], caller.metadata())
    assert documents_on_disk(server, caller) == before


def test_unknown_fields_are_ignored(caller):
    """A newer client's field that this server doesn't know changes nothing."""
    caller.send("Write", b"\x0a\x04n.md\x12\x03new\x18\x00" + b"\xfa\x7f\x03abc", caller.metadata())
    assert caller.read("n.md") == "new"


def test_oversized_message(caller, server):
    """A message over the limit is refused whole, and the server goes on serving."""
    caller.write("n.md", "before")
    with pytest.raises(Refusal) as raised:
        caller.write("n.md", MARKER + "x" * (4 << 20))
    assert raised.value.code == "RESOURCE_EXHAUSTED"
    check_silence(raised.value, server.data_dir)
    assert caller.read("n.md") == "before"


def test_message_below_the_limit_but_document_above(caller):
    """A document over its own limit gets the reason that says so, with both numbers."""
    with refused("DOCUMENT_TOO_LARGE", "content") as caught:
        caller.write("n.md", MARKER + "x" * (2 << 20))
    assert caught[0].metadata["limit_bytes"] == str(1 << 20)
    assert caller.tree() == []


@pytest.mark.parametrize(
    "name",
    [
        *(f"{service}/Frobnicate" for service in SERVICES),
        "ironclaw.memory.v1.NoSuchService/Read",
        "ironclaw.memory.v2.MemoryService/Read",
        "MemoryService/Read",
        "ironclaw.memory.v1.MemoryService/read",
        "ironclaw.memory.v1.MemoryService/Read/",
        "ironclaw.memory.v1.MemoryService//Read",
    ],
)
@pytest.mark.parametrize("scoped", [True, False])
def test_unknown_method(name, scoped, caller):
    """A method or service that doesn't exist is unimplemented, with and without a scope."""
    with pytest.raises(Refusal) as raised:
        caller.send(name, b"", caller.metadata() if scoped else [])
    assert raised.value.code == "UNIMPLEMENTED"
    check_silence(raised.value)
