"""Reading the JSON that a model wrote as a tool's arguments (contract 2.8): text to object, then value by value.

Not the arguments themselves (`arguments.py`), and nothing about what a value may be beyond its type. Whatever a model
sends, what leaves here is a value or a Fault: neither deep nesting, nor a broken number, nor a lone surrogate may
surface as another exception.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from .faults import InvalidArguments, InvalidPath

JsonObject = Mapping[str, Any]

_FIELD = "arguments_json"


def parse_tool_json(text: str) -> dict[str, Any]:
    """Return the object that `text` holds; blank text and `null` count as no arguments at all.

    A key that stands twice in one object is refused: two readers of the same call could each see another value.

    Raises:
        InvalidArguments: the text is no JSON object, is nested too deeply, or holds a number that JSON doesn't have
            (NaN, infinity, more digits than can be read).
    """
    if is_blank(text):
        return {}
    try:
        value = json.loads(
            text, object_pairs_hook=_make_object, parse_constant=_refuse_number, parse_float=_read_finite_number
        )
    except RecursionError:
        raise InvalidArguments("The arguments are nested too deeply.", field=_FIELD) from None
    except ValueError:
        raise InvalidArguments("The arguments aren't valid JSON.", field=_FIELD) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments("The arguments must be a JSON object.", field=_FIELD)
    return value


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidArguments("The arguments hold the same key twice.", field=_FIELD)
    return made


def _refuse_number(_: str) -> NoReturn:
    raise InvalidArguments("The arguments hold a number that JSON doesn't have.", field=_FIELD)


def _read_finite_number(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        _refuse_number(digits)
    return number


def read_text(given: JsonObject, key: str) -> str | None:
    """Return the text under `key`, or None when it is absent, null or no text.

    Raises:
        InvalidArguments: the text holds half of a surrogate pair, which no UTF-8 can say.
    """
    value = given.get(key)
    if not isinstance(value, str):
        return None
    if not is_encodable(value):
        raise InvalidArguments(f"{key} isn't valid Unicode.", field=key)
    return value


def read_path(given: JsonObject, key: str) -> str | None:
    """Return the path under `key`, or None when it is absent or null; its grammar is checked elsewhere.

    Raises:
        InvalidArguments: it is there and no text: guessing another place than the one meant would be worse.
        InvalidPath: it holds half of a surrogate pair.
    """
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArguments(f"{key} must be a string.", field=key)
    if not is_encodable(value):
        raise InvalidPath("The path isn't valid Unicode.", field=key)
    return value


def read_flag(given: JsonObject, key: str, default: bool) -> bool:
    """Return the boolean under `key`, or `default`; neither 1 nor "yes" is a boolean."""
    value = given.get(key)
    return value if isinstance(value, bool) else default


def read_count(given: JsonObject, key: str, default: int) -> int:
    """Return the whole number under `key`, or `default`. JSON can't tell 3.0 from 3, so both are whole; true isn't."""
    value = given.get(key)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def read_object(given: JsonObject, key: str) -> dict[str, Any] | None:
    """Return the object under `key`, or None when it is absent, null or no object."""
    value = given.get(key)
    return value if isinstance(value, dict) else None


def is_encodable(text: str) -> bool:
    """Tell whether UTF-8 can say `text`: JSON's escapes can spell half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_blank(text: str | None) -> bool:
    """Tell whether nothing but white space is there; looks no further than the first character that isn't."""
    return not text or text.isspace()
