"""What the model is told of a call: the tool's output, or in plain words why there is none.

The service's own messages hold no paths of the host, no other scopes and no stored text, so they go on as they are.
What stands in a failure that isn't the service's own, such as an address that refused a connection, stays here.
"""

from __future__ import annotations

import json
from typing import Any, Final

import mcp.types as protocol

from ironclaw_memory_client import (
    DeadlineExceededError,
    InvokeResult,
    MemoryServiceError,
    ToolError,
    UnreachableError,
)

UNREACHABLE: Final = "The memory can't be reached now. Go on without it, and try again later."
TOO_LATE: Final = "The memory didn't answer in time. Try again later."
NO_ANSWER: Final = "Something between this host and the memory failed. The user has to look at its configuration."
MAY_BE_DONE: Final = "The change may have been made or not: read the document before you make it again."

NOT_JSON: Final = ToolError("input", "INVALID_ARGUMENTS", "The arguments can't be put as JSON.")


def success(result: InvokeResult, *, any_output: bool) -> protocol.CallToolResult:
    """Return a tool's output, as JSON text and as a value; advice on a stored text follows in a part of its own.

    Args:
        result: a result without an error.
        any_output: whether the protocol takes a value that isn't an object.

    Raises:
        ValueError: the output isn't JSON.
    """
    output: Any = json.loads(result.output_json)
    texts = (result.output_json, *(f"Advice: {advisory.message}" for advisory in result.advisories))
    structured = {"structured_content": output} if any_output or isinstance(output, dict) else {}
    return protocol.CallToolResult(content=[_text(text) for text in texts], **structured)


def failure(error: ToolError) -> protocol.CallToolResult:
    """Return a tool's error, as the JSON that every host of the service hands to its model."""
    told = InvokeResult("", (), error).for_model()
    return protocol.CallToolResult(content=[_text(told)], is_error=True)


def explain(error: MemoryServiceError, *, writes: bool) -> ToolError:
    """Return what a model is told of a call that failed outside of the tool.

    Args:
        error: what the client raised.
        writes: whether the call would have changed something.
    """
    if error.reason:
        return ToolError(error.kind or "operation", error.reason, error.message)
    if isinstance(error, UnreachableError):
        return ToolError("unavailable", "UNREACHABLE", _with_doubt(UNREACHABLE, writes=writes))
    if isinstance(error, DeadlineExceededError):
        return ToolError("unavailable", "DEADLINE_EXCEEDED", _with_doubt(TOO_LATE, writes=writes))
    return ToolError("operation", error.code.name, _with_doubt(NO_ANSWER, writes=writes))


def _with_doubt(sentence: str, *, writes: bool) -> str:
    return f"{sentence} {MAY_BE_DONE}" if writes else sentence


def _text(text: str) -> protocol.TextContent:
    return protocol.TextContent(type="text", text=text)
