"""The metadata that mean something to the service (contract 2.7): how layers combine, and what they decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import jsonschema_rs

from ironclaw_memory.contract.document import Metadata
from ironclaw_memory.contract.faults import InvalidArguments, SchemaViolation
from ironclaw_memory.contract.path import DocumentPath

CONFIG_NAME: Final = ".config"
"""The document whose metadata the folder's other documents inherit."""

_FLAGS: Final = ("skip_indexing", "skip_versioning", "read_only")


def overlay(*layers: Metadata) -> dict[str, Any]:
    """Lay each layer over those before it, key by key; a null stays and hides what is below it."""
    combined: dict[str, Any] = {}
    for layer in layers:
        combined.update(layer)
    return combined


def is_set(metadata: Metadata, flag: str) -> bool:
    """Tell whether a flag is on. Anything but a JSON true is off, since metadata may be edited by hand."""
    return metadata.get(flag) is True


def check_overlay(metadata: Mapping[str, Any]) -> None:
    """Return when a call's metadata may be stored.

    Raises:
        InvalidArguments: a known key has the wrong type, or the schema is none. Size and depth were checked before.
    """
    for flag in _FLAGS:
        if not isinstance(metadata.get(flag, False), bool | None):
            raise InvalidArguments(f"metadata.{flag} must be true or false.", field="metadata")
    _check_hygiene(metadata.get("hygiene"))
    if metadata.get("schema") is not None:
        _check_schema(metadata["schema"])


def _check_hygiene(hygiene: Any) -> None:
    if hygiene is None:
        return
    if not isinstance(hygiene, dict) or not isinstance(hygiene.get("enabled", False), bool):
        raise InvalidArguments("metadata.hygiene must be an object whose 'enabled' is true or false.", field="metadata")
    days = hygiene.get("retention_days", 30)
    if isinstance(days, bool) or not isinstance(days, int | float) or days < 1:
        raise InvalidArguments("metadata.hygiene.retention_days must be at least 1.", field="metadata")


def _check_schema(schema: Any) -> None:
    try:
        _validator(json.dumps(schema, sort_keys=True))
    except ValueError:  # of which every complaint of the library is one
        raise InvalidArguments("metadata.schema is not a valid JSON Schema.", field="metadata") from None


def _refuse_remote(_uri: str) -> Any:
    # A stored schema must not make the service fetch an address of the writer's choice.
    raise ValueError("remote references are not followed")


@lru_cache(maxsize=256)
def _validator(schema_json: str) -> Any:
    # RE2-like patterns: a stored `pattern` must not be able to hang a write.
    return jsonschema_rs.validator_for(
        json.loads(schema_json),
        retriever=_refuse_remote,
        pattern_options=jsonschema_rs.RegexOptions(),
    )


def check_schema(path: DocumentPath, text: str, effective: Metadata) -> None:
    """Return when the text satisfies the schema of its effective metadata.

    A `.config` holds its folder's schema and need not satisfy it itself; an empty text, left by `bootstrap`, has
    nothing to satisfy.

    Raises:
        SchemaViolation: it isn't JSON, or the schema says no. The message names the place, never a value.
    """
    schema = effective.get("schema")
    if schema is None or path.segments[-1] == CONFIG_NAME or not text:
        return
    try:
        validator = _validator(json.dumps(schema, sort_keys=True))
    except ValueError:  # a schema broken by hand counts as absent, like any metadata that can't be parsed
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise SchemaViolation("The document must be JSON that satisfies its schema.") from None
    error = next(validator.iter_errors(value), None)
    if error is not None:
        raise SchemaViolation(f"The document doesn't satisfy its schema at rule '{_place(error)}'.")


def _place(error: Any) -> str:
    place = "/".join(str(step) for step in error.schema_path)
    return place.encode("ascii", "replace").decode("ascii")[:100]
