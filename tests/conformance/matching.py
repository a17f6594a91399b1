"""How an answer is held against an expectation of the vectors; the rules stand in `vectors/README.md`.

Pure: it knows neither the wire nor the service.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

MISSING: Any = type("Missing", (), {"__repr__": lambda _self: "nothing"})()
"""Stands for a key that the answer doesn't have."""


class Mismatch(AssertionError):
    """The answer isn't what the vectors expect; the message says where."""


def match(expected: Any, actual: Any, *, where: str = "answer", absent_is_default: bool = False) -> None:
    """Return when `actual` is what `expected` asks for.

    Args:
        expected: a value of the vectors, operators included.
        actual: what came back, as parsed JSON.
        where: the place in the answer, for the message.
        absent_is_default: whether a missing key counts as its type's default, as in protobuf JSON.

    Raises:
        Mismatch: it isn't.
    """
    if _is_operators(expected):
        _match_operators(expected, actual, where, absent_is_default)
    elif actual is MISSING:
        _require(absent_is_default and _is_default(expected), where, expected, actual)
    elif isinstance(expected, dict):
        _match_object(expected, actual, where, absent_is_default)
    elif isinstance(expected, list):
        _match_list(expected, actual, where, absent_is_default)
    else:
        _require(_same_scalar(expected, actual), where, expected, actual)


def _require(holds: bool, where: str, expected: Any, actual: Any) -> None:
    if not holds:
        raise Mismatch(f"{where}: expected {_short(expected)}, got {_short(actual)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"


def _is_operators(expected: Any) -> bool:
    return isinstance(expected, dict) and bool(expected) and all(key.startswith("$") for key in expected)


def _is_default(expected: Any) -> bool:
    return expected in (None, "", 0, False, [], {})


def _same_scalar(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return type(expected) is type(actual) and expected == actual
    if isinstance(expected, int | float) or isinstance(actual, int | float):
        return _number(expected) is not None and _number(expected) == _number(actual)
    if isinstance(expected, str) and isinstance(actual, str):
        return expected == actual or (_number(expected) is not None and _number(expected) == _number(actual))
    return False


def _number(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    # Protobuf JSON prints 64-bit integers as text; nothing else that is text counts as a number.
    return float(value) if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() else None


def _match_object(expected: Mapping[str, Any], actual: Any, where: str, absent_is_default: bool) -> None:
    _require(isinstance(actual, dict), where, expected, actual)
    for key, value in expected.items():
        match(value, actual.get(key, MISSING), where=f"{where}.{key}", absent_is_default=absent_is_default)


def _match_list(expected: list[Any], actual: Any, where: str, absent_is_default: bool) -> None:
    _require(isinstance(actual, list), where, expected, actual)
    enough = len(actual) >= len(expected) if expected else not actual
    _require(enough, where, expected, actual)
    for index, value in enumerate(expected):
        match(value, actual[index], where=f"{where}[{index}]", absent_is_default=absent_is_default)


def _match_operators(operators: Mapping[str, Any], actual: Any, where: str, absent_is_default: bool) -> None:
    for name, argument in operators.items():
        if name in NESTED:
            for place, inner in NESTED[name](actual, where):
                match(argument, inner, where=place, absent_is_default=absent_is_default)
        elif name in SIMPLE:
            _require(SIMPLE[name](argument, actual), f"{where} {name}", argument, actual)
        else:
            raise Mismatch(f"{where}: the vectors use an operator that nobody knows: {name}")


def _texts(argument: Any) -> list[str]:
    return argument if isinstance(argument, list) else [argument]


def _size(actual: Any) -> int | None:
    return len(actual) if isinstance(actual, list | str) else None


SIMPLE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$any": lambda _argument, actual: actual is not MISSING and actual is not None and actual != "",
    "$contains": lambda argument, actual: isinstance(actual, str) and all(t in actual for t in _texts(argument)),
    "$not_contains": lambda argument, actual: (
        isinstance(actual, str) and not any(t in actual for t in _texts(argument))
    ),
    "$prefix": lambda argument, actual: isinstance(actual, str) and actual.startswith(argument),
    "$ends_with": lambda argument, actual: isinstance(actual, str) and actual.endswith(argument),
    "$max_bytes": lambda argument, actual: isinstance(actual, str) and len(actual.encode("utf-8")) <= argument,
    "$length": lambda argument, actual: _size(actual) == argument,
    "$in": lambda argument, actual: any(_same_scalar(choice, actual) for choice in argument),
}
"""The operators that look at one value."""


def _each(actual: Any, where: str) -> list[tuple[str, Any]]:
    _require(isinstance(actual, list) and bool(actual), where, "a list with elements", actual)
    return [(f"{where}[{index}]", value) for index, value in enumerate(actual)]


def _last(actual: Any, where: str) -> list[tuple[str, Any]]:
    return _each(actual, where)[-1:]


def _parsed(actual: Any, where: str) -> list[tuple[str, Any]]:
    try:
        return [(f"{where} parsed", json.loads(actual))]
    except (TypeError, ValueError):
        raise Mismatch(f"{where}: expected JSON text, got {_short(actual)}") from None


def _decoded(actual: Any, where: str) -> list[tuple[str, Any]]:
    try:
        return _parsed(base64.b64decode(actual, validate=True), where)
    except (TypeError, ValueError):
        raise Mismatch(f"{where}: expected base64 text, got {_short(actual)}") from None


NESTED: Mapping[str, Callable[[Any, str], list[tuple[str, Any]]]] = {
    "$each": _each,
    "$last": _last,
    "$json": _parsed,
    "$json_base64": _decoded,
}
"""The operators that lead to further values, each with its place."""
