"""The rules of the five tools' arguments that need no stored document: one `check_...` a tool that has any.

Run once by the use case, whichever way the arguments came in. Paths are not checked here: what a target means is
decided first, then `path.py` has the grammar. A fault's message names the argument and the rule, never what was sent.
"""

from __future__ import annotations

import functools
import json
import math
import re
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any, Final

from .arguments import ProfileSetArguments, SearchArguments, WriteArguments
from .faults import InvalidArguments
from .target import ReservedTarget
from .tool_json import is_blank, is_encodable

MAX_QUERY_BYTES: Final = 4096
MAX_METADATA_BYTES: Final = 65_536
"""As compact JSON. Metadata is kept beside the document and outside its size limit, so it needs one of its own."""
MAX_METADATA_DEPTH: Final = 64
"""Deep enough for any real JSON Schema, and far from where writing it out as JSON would exhaust the stack."""
MAX_LOCATION_CHARACTERS: Final = 200
MAX_LOCATION_BYTES: Final = 800
MAX_LOCALE_CHARACTERS: Final = 35

_HOW_TO_DELETE: Final = "To delete text, rewrite the document with append false."
_LOCALE = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOT_ZONES: Final = frozenset({"Factory", "localtime", "posixrules"})
"""Files of a zone database that name no place: what they say depends on the host."""


def check_write(arguments: WriteArguments) -> None:
    """Return when `arguments` obey every rule that needs no document.

    Raises:
        InvalidArguments: blank content, half a patch, NUL, an unknown zone, bad metadata or a bad precondition.
    """
    if arguments.is_patch:
        _check_patch(arguments)
    elif not arguments.is_bootstrap and is_blank(arguments.content):
        raise InvalidArguments("content is required and must not be blank.", field="content")
    if not arguments.is_bootstrap:
        _refuse_nul(arguments.content, "content")
    if arguments.target == ReservedTarget.DAILY_LOG and arguments.timezone is not None:
        check_timezone(arguments.timezone)
    if arguments.metadata is not None:
        check_metadata(arguments.metadata)
    _check_precondition(arguments)


def _check_patch(arguments: WriteArguments) -> None:
    if arguments.is_bootstrap:
        # Clearing a file that someone meant to correct would be the worse reading.
        message = "bootstrap only empties BOOTSTRAP.md; to patch the file, use the target BOOTSTRAP.md."
        raise InvalidArguments(message, field="target")
    if not arguments.old_string:
        message = "old_string is empty or absent; leave out both strings to append or replace."
        raise InvalidArguments(message, field="old_string")
    if not arguments.new_string:
        message = f"new_string is empty or absent; the replacement goes there. {_HOW_TO_DELETE}"
        raise InvalidArguments(message, field="new_string")
    _refuse_nul(arguments.old_string, "old_string")
    _refuse_nul(arguments.new_string, "new_string")


def _check_precondition(arguments: WriteArguments) -> None:
    if arguments.expected_sha256 is None:
        return
    if arguments.must_not_exist:
        raise InvalidArguments("expected_sha256 and must_not_exist exclude each other.", field="must_not_exist")
    check_expected_sha256(arguments.expected_sha256)


def check_expected_sha256(text: str | None) -> None:
    """Return when `text` is absent, or can be the hash of a document at all, in hex.

    Raises:
        InvalidArguments: it never holds, so "the content changed" would send the caller looking in the wrong place.
    """
    if text is not None and not _SHA256.fullmatch(text.lower()):
        raise InvalidArguments("expected_sha256 must have 64 hex digits.", field="expected_sha256")


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Return when a call's metadata are small and shallow enough, and JSON.

    Raises:
        InvalidArguments: they aren't.
    """
    # Level by level, never by recursion: the depth is the sender's choice.
    level: list[Any] = [metadata]
    for _ in range(MAX_METADATA_DEPTH):
        level = [child for value in level for child in _open_json(value)]
        if not level:
            break
    else:
        raise InvalidArguments(f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels.", field="metadata")
    if len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_METADATA_BYTES:
        raise InvalidArguments(f"metadata is longer than {MAX_METADATA_BYTES} bytes as JSON.", field="metadata")


def _open_json(value: Any) -> list[Any]:  # JSON
    """Return what is inside a JSON value, after checking the value itself."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        _refuse_nul(value, "metadata")
        if not is_encodable(value):
            raise InvalidArguments("metadata holds text that isn't valid Unicode.", field="metadata")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidArguments("metadata holds a number that JSON doesn't have.", field="metadata")
    return []


def check_search(arguments: SearchArguments) -> None:
    """Return when `arguments` obey every rule; the grammar of `path_prefix` is the index's affair.

    Raises:
        InvalidArguments: the query is blank, too long or holds NUL; `min_score` is no number from 0 to 1.
    """
    if is_blank(arguments.query):
        raise InvalidArguments("query is required and must not be blank.", field="query")
    _refuse_nul(arguments.query, "query")
    if len(arguments.query.encode()) > MAX_QUERY_BYTES:
        raise InvalidArguments(f"query is longer than {MAX_QUERY_BYTES} bytes.", field="query")
    _refuse_nul(arguments.path_prefix, "path_prefix")
    if not 0.0 <= arguments.min_score <= 1.0:  # NaN is never between
        raise InvalidArguments("min_score must be between 0 and 1.", field="min_score")


def check_profile_set(arguments: ProfileSetArguments) -> None:
    """Return when at least one fact is given and each obeys its rule (contract 2.6).

    Raises:
        InvalidArguments: nothing is given, or a value breaks its rule.
    """
    given = arguments.model_dump(exclude_none=True)
    if not given:
        raise InvalidArguments("At least one of timezone, locale and location is required.")
    for field, value in given.items():
        _PROFILE_RULES[field](value)


def check_timezone(text: str, field: str = "timezone") -> None:
    """Return when `text` names a zone of the IANA database, spelled as the database spells it.

    Raises:
        InvalidArguments: it doesn't.
    """
    if text not in _known_timezones():
        raise InvalidArguments(f"{field} must be an IANA time zone such as Europe/Berlin.", field=field)


@functools.cache
def _known_timezones() -> frozenset[str]:
    """Read the zone database's table of contents once; it takes some 20 ms."""
    return frozenset(zoneinfo.available_timezones()) - _NOT_ZONES


def _check_locale(text: str) -> None:
    if len(text) > MAX_LOCALE_CHARACTERS or not _LOCALE.fullmatch(text):
        raise InvalidArguments("locale must be a BCP 47 tag such as en-GB.", field="locale")


def _check_location(text: str) -> None:
    _refuse_nul(text, "location")
    if not 1 <= len(text) <= MAX_LOCATION_CHARACTERS or len(text.encode()) > MAX_LOCATION_BYTES:
        limits = f"1 to {MAX_LOCATION_CHARACTERS} characters and at most {MAX_LOCATION_BYTES} bytes"
        raise InvalidArguments(f"location must have {limits}.", field="location")


_PROFILE_RULES: Final[Mapping[str, Callable[[str], None]]] = {
    "timezone": check_timezone,
    "locale": _check_locale,
    "location": _check_location,
}


def _refuse_nul(text: str, field: str) -> None:
    if "\0" in text:
        raise InvalidArguments(f"{field} must not hold a NUL character.", field=field)
