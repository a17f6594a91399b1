"""One turn as it is recorded: its messages, its name, and the text of its document (contract 3).

Pure values and their form. What is taken out of a message before it is recorded, and whether the turn counts towards a
curation, are the use case's affair.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .faults import InvalidArguments, InvalidPath, ScopeInvalid
from .path import MAX_SEGMENT_BYTES, DocumentPath, parse_document_path
from .scope import check_segment

MAX_NAME_BYTES: Final = 256
THREADS: Final = "threads"
_SUFFIX: Final = ".md"


class Role(StrEnum):
    """Who can speak. The wire's enum is `MESSAGE_ROLE_` and the member's name."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


_LINE_HEAD: Final = re.compile("(?:^|(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]))[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""A line, by whatever character a reader may take for the end of the one before it."""
_HEADING: Final = re.compile(rf"[\s\\]*##\s*(?:{'|'.join(Role)})\s*(?:[(:]|#*\s*\Z)", re.IGNORECASE)
"""What reads as the heading of a message, however often it was escaped before."""
_LONGEST_HEADING: Final = 400
"""Characters of a line that are looked at: a heading with the longest name, and some spaces, is shorter."""
_UNSEEN: Final = frozenset(("Cf", "Cc", "Mn"))
_MARKS: Final = re.compile("[#\uff03\ufe5f]")
"""The number sign and its wide and small forms; a text without any imitates no heading."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said.

    Attributes:
        role: who spoke.
        content: the text.
        name: the speaker's name; empty without one.

    Raises:
        InvalidArguments: the text holds NUL, or the name a line break or control character, or more than 256 bytes.
    """

    role: Role
    content: str
    name: str = ""

    def __post_init__(self) -> None:
        if "\0" in self.content:
            raise InvalidArguments("A message must not hold a NUL character.", field="messages")
        if len(self.name.encode("utf-8")) > MAX_NAME_BYTES:
            raise InvalidArguments(f"A name must have at most {MAX_NAME_BYTES} bytes.", field="messages")
        if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in self.name):
            raise InvalidArguments("A name must not hold a control character.", field="messages")


def write_exchange(messages: tuple[Message, ...]) -> str:
    """Return the document of a turn: for each message a heading and its text.

    A line of a message that imitates a heading is escaped with a backslash, so that nobody can put words into another
    speaker's mouth.
    """
    return "".join(_write_message(message) for message in messages)


def _write_message(message: Message) -> str:
    name = f" ({message.name.strip()})" if message.name.strip() else ""
    text = message.content
    text = _LINE_HEAD.sub(_escape_heading, text) if _MARKS.search(text) else text
    end = "" if text.endswith("\n") else "\n"
    return f"## {message.role.value}{name}\n{text}{end}"


def _escape_heading(line: re.Match[str]) -> str:
    """Put a backslash before a line that reads as a heading; before its white space, so that nothing is lost."""
    text = line.group()
    return f"\\{text}" if _HEADING.match(_as_read(text)) else text


def _as_read(line: str) -> str:
    """Return the head of a line without what can't be seen, its wide letters made ordinary ones."""
    head = line[:_LONGEST_HEADING]
    if head.isascii() and head.isprintable():
        return head
    seen = unicodedata.normalize("NFKD", head)
    return "".join(c for c in seen if c == "\t" or unicodedata.category(c) not in _UNSEEN)


def check_turn_run_id(turn_run_id: str) -> str:
    """Return the id of a run when it obeys the rule of scope ids.

    Raises:
        InvalidArguments: it doesn't.
    """
    try:
        return check_segment(turn_run_id, "turn run")
    except ScopeInvalid as fault:
        raise InvalidArguments(fault.message, field="turn_run_id") from None


def thread_folder(thread_id: str) -> str:
    """Return the folder of a thread's records, with a trailing slash. Different ids never share a folder."""
    return f"{THREADS}/{_name(thread_id)}/"


def record_path(thread_id: str, turn_run_id: str) -> DocumentPath:
    """Return where a turn is recorded. Different ids never share a path."""
    return parse_document_path(f"{thread_folder(thread_id)}{_name(turn_run_id)}{_SUFFIX}")


def _name(an_id: str) -> str:
    """Return an id as a name that a path may hold: as it is where that is possible, else `~` and its SHA-256."""
    return an_id if _is_plain(an_id) else "~" + hashlib.sha256(an_id.encode("utf-8")).hexdigest()


def _is_plain(an_id: str) -> bool:
    too_long = len(an_id.encode("utf-8")) > MAX_SEGMENT_BYTES - len(_SUFFIX)
    if too_long or an_id.startswith("~") or not unicodedata.is_normalized("NFC", an_id):
        return False
    try:
        return all(parse_document_path(name).segments == (name,) for name in (an_id, an_id + _SUFFIX))
    except InvalidPath:
        return False
