"""Whatever a model sends as a tool's arguments is an object or `InvalidArguments`, and its strings can be stored."""

import json
from collections.abc import Iterator

from ironclaw_memory.contract.faults import InvalidArguments
from ironclaw_memory.contract.tool_json import (
    is_encodable,
    parse_tool_json,
    read_count,
    read_flag,
    read_object,
    read_text,
)


def seeds() -> Iterator[bytes]:
    """Yield what to begin with."""
    yield from (
        b"",
        b"null",
        b'{"content": "x", "append": null}',
        b'{"a":1,"a":2}',
        b"[" * 3000,
        b'{"n":1e999}',
        b'{"s":"\\ud800"}',
    )


def check(data: bytes) -> None:
    """Read the bytes as arguments."""
    try:
        given = parse_tool_json(data.decode("utf-8", "surrogateescape"))
    except InvalidArguments:
        return
    assert isinstance(given, dict)
    for key in given:
        assert isinstance(read_flag(given, key, default=True), bool)
        assert isinstance(read_count(given, key, 5), int)
        read_object(given, key)
        try:
            text = read_text(given, key)
        except InvalidArguments:
            continue
        assert text is None or is_encodable(text)
    json.dumps(given)
