"""The grammar of document paths (contract 2.2). A `DocumentPath` or `FolderPath` that exists has been checked.

Pure text rules: whether something is there, or is a link, is the store's affair.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .faults import InvalidPath, ReservedNamespace

MAX_PATH_BYTES = 1024
MAX_SEGMENT_BYTES = 255
SIDECAR_SUFFIXES: Final = (".meta", ".chunks", ".versions")
TEMPORARY_NAME: Final = re.compile(r"\.ironclaw-[0-9a-f]{32}\.tmp\Z")
"""Names of the store's own half-written files; no document may be called so, and no walk shows one."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What Unicode calls control characters (Cc)."""

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True, order=True)
class DocumentPath:
    """Where a document is inside its scope, in NFC, such as `daily/2026-12-01.md`. Made by `parse_document_path`."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def segments(self) -> tuple[str, ...]:
        """The names from the scope's root to the document; the last is the document's own."""
        return tuple(self.text.split("/"))

    @property
    def is_in_threads(self) -> bool:
        """Whether this lies in the namespace of recorded interactions, in any letter case."""
        return self.segments[0].casefold() == "threads"


@dataclass(frozen=True, slots=True, order=True)
class FolderPath:
    """A folder inside a scope; `text` is empty for the root. Made by `parse_folder_path`."""

    text: str

    @property
    def segments(self) -> tuple[str, ...]:
        """The names from the scope's root to the folder; empty for the root."""
        return tuple(self.text.split("/")) if self.text else ()


@lru_cache(maxsize=4096)
def parse_document_path(text: str, field: str = "path") -> DocumentPath:
    """Check `text` and return it in NFC. Remembered, since paths come back: it costs as much as opening the file.

    Args:
        text: what the model or the host sent.
        field: the request field to blame.

    Raises:
        InvalidPath: the text breaks the grammar. The message names the rule, never the text.
    """
    if not text.strip():
        raise InvalidPath("The path must not be blank.", field=field)
    try:
        text = unicodedata.normalize("NFC", text)
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidPath("The path isn't valid Unicode.", field=field) from None
    _check_relative(text, field)
    if "\\" in text:
        raise InvalidPath("The path must not hold a backslash.", field=field)
    if CONTROL.search(text):
        raise InvalidPath("The path must not hold a control character.", field=field)
    if ".." in text:
        raise InvalidPath("The path must not hold '..'.", field=field)
    if size > MAX_PATH_BYTES:
        raise InvalidPath(f"The path is longer than {MAX_PATH_BYTES} bytes.", field=field)
    for segment in text.split("/"):
        _check_segment(segment, field)
    return DocumentPath(text)


def _check_relative(text: str, field: str) -> None:
    if text.startswith(("/", "~/")) or _DRIVE.match(text):
        raise InvalidPath("The path must be relative to the scope's root.", field=field)


def _check_segment(segment: str, field: str) -> None:
    if segment in ("", "."):
        raise InvalidPath("The path must not hold an empty or '.' segment.", field=field)
    if len(segment.encode("utf-8")) > MAX_SEGMENT_BYTES:
        raise InvalidPath(f"A segment of the path is longer than {MAX_SEGMENT_BYTES} bytes.", field=field)
    if segment.endswith(SIDECAR_SUFFIXES) or TEMPORARY_NAME.match(segment):
        raise InvalidPath("A segment of the path has a name that the service reserves.", field=field)


def parse_writable_path(text: str, field: str = "target") -> DocumentPath:
    """Check `text` as the target of a public write.

    Raises:
        InvalidPath: the text breaks the grammar.
        ReservedNamespace: it names `threads` or something under it.
    """
    path = parse_document_path(text, field)
    if path.is_in_threads:
        raise ReservedNamespace
    return path


def parse_folder_path(text: str, field: str = "path") -> FolderPath:
    """Check the name of a folder; empty is the root, and one trailing `/` is allowed.

    Raises:
        InvalidPath: the text breaks the grammar.
    """
    if not text:
        return FolderPath("")
    _check_relative(text, field)  # before the slash goes: "~/" and "C:/" are places outside, "~" is a name
    return FolderPath(parse_document_path(text.removesuffix("/"), field).text)
