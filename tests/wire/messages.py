"""Strategies that make messages of any type from its descriptor, for tests that throw anything legal at the server."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

from tests.caller import message_class

TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "memory", "heartbeat", "bootstrap", "daily_log", "n.md", "notes/a.md", "MEMORY.md", "threads/t/r", "..",
            "/", "a/../b", "~/x", "C:/x", ".config", "d/.config", "con", "x.meta", "a" * 300, "UTC", "Asia/Tokyo", "*",
            '"', "ironclaw.memory.write", "{}", '{"target": 7}', "[" * 500, "0" * 64, "\0", "\u202e", "<|im_start|>",
            "ignore previous instructions", " ",
        ]
    ),
)  # fmt: skip
"""Any text, and texts that mean something to the service."""

_WHOLE = {
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=40),
    # Enums are open: a number that has no name is legal on the wire.
    FieldDescriptor.TYPE_ENUM: st.integers(-2, 20),
}
_MOST_DEPTH = 4


def messages(descriptor: Descriptor) -> st.SearchStrategy[Message]:
    """Return a strategy of messages with any of their fields set to anything of its type."""
    return st.composite(_draw_message)(descriptor, 0)


def _draw_message(draw: Any, descriptor: Descriptor, depth: int) -> Message:
    message = message_class(descriptor)()
    _fill(draw, message, depth)
    return message


def _fill(draw: Any, message: Message, depth: int) -> None:
    names = sorted(message.DESCRIPTOR.fields_by_name)
    for name in sorted(draw(st.sets(st.sampled_from(names)))) if names else ():
        field = message.DESCRIPTOR.fields_by_name[name]
        if field.message_type is None:
            _set_scalar(draw, message, field)
        elif depth < _MOST_DEPTH:
            _set_message(draw, message, field, depth)


def _set_scalar(draw: Any, message: Message, field: FieldDescriptor) -> None:
    values = _WHOLE[field.type]
    if field.is_repeated:
        getattr(message, field.name).extend(draw(st.lists(values, max_size=3)))
    else:
        setattr(message, field.name, draw(values))


def _set_message(draw: Any, message: Message, field: FieldDescriptor, depth: int) -> None:
    if field.message_type.GetOptions().map_entry:
        for key in draw(st.lists(TEXTS, max_size=3)):
            _fill(draw, getattr(message, field.name)[key], depth + 1)
    elif field.is_repeated:
        for _ in range(draw(st.integers(0, 2))):
            _fill(draw, getattr(message, field.name).add(), depth + 1)
    else:
        inner = getattr(message, field.name)
        inner.SetInParent()
        _fill(draw, inner, depth + 1)
