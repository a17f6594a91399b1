"""The envelope in which recalled text enters a prompt, and what a passage must be to go into it.

    Untrusted memory content: notes/tea.md
    User drinks green tea.
    [end memory]

The first line says what follows and where it is from, the last where it ends. So nothing inside may read as either:
an imitation, in whatever letter case, spacing or disguise, becomes `(quoted marker)`, and a text in which one can't be
found to be replaced goes into no envelope. Pure; who decides what is withheld is `memory/context.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from . import view
from .secrets import redact

START: Final = "Untrusted memory content: "
END: Final = "[end memory]"
QUOTED: Final = "(quoted marker)"
ELISION: Final = "…"
MIN_PATH_BYTES: Final = 24
MAX_PATH_BYTES: Final = 80
"""A longer path is shown by its tail, which tells documents apart; so is one over 24 where the text needs the bytes."""

_LINE_ENDS: Final = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What shows nothing and may order or hide text. The joiners that emoji and several scripts are made of stay."""
_BLANK_LINES: Final = re.compile(r"\n\s*\n")
_BASE64: Final = "[A-Za-z0-9+/]"
_KEY_BODY: Final = re.compile(
    rf"^{_BASE64}{{60,76}}(?:\n{_BASE64}{{60,76}})+(?:\n(?:{_BASE64}{{20,76}}={{0,2}}|{_BASE64}{{1,76}}={{1,2}}))?$",
    re.MULTILINE,
)
"""Lines from the middle of a key block, whose head a passage may lack."""

_GAP: Final = r"[\W_]{0,16}"
_BRACKET: Final = r"(?:[\[\](){}<>|]|[*=#~_-]{2})"
_IMITATION: Final = re.compile(
    rf"untrusted{_GAP}memory{_GAP}content{_GAP}(?::|$)"
    rf"|(?:^|{_BRACKET}){_GAP}(?:/|end{_GAP}(?:of{_GAP})?(?:untrusted{_GAP})?)memory(?:{_GAP}content)?{_GAP}(?:$|{_BRACKET})",
    re.IGNORECASE | re.MULTILINE,
)
"""The two markers as words, whatever stands between them: the first before a colon or a line's end, the second in
brackets or rules of any kind, or on a line of its own."""

_WORD: Final = re.compile(r"[ \t._*|/-]?".join("memory"), re.IGNORECASE)
"""The word that both markers need, its letters together or spaced out: without it the dearer looks are spared."""

_RECALLED: Final = re.compile(
    rf"{re.escape(START)}(?:(?!{re.escape(START)}|{re.escape(END)})[\s\S]){{0,600}}{re.escape(END)}\n?"
)
"""An envelope of ours, in a text that came back; bounded, so that a marker that someone quotes swallows no more."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as a prompt may show it, without its envelope.

    Attributes:
        text: cleaned and redacted.
        is_safe: whether no imitation of the envelope is left in it.
    """

    text: str
    is_safe: bool


@lru_cache(maxsize=2048)
def clean(text: str) -> Passage:
    """Return a passage without control characters, blank lines, credentials and imitations of the envelope.

    Line breaks and tabs stay, since lists and code can't be read without them.
    """
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    text = redact(text)
    text = _KEY_BODY.sub("[redacted: private-key]", text)
    text = _IMITATION.sub(QUOTED, text) if _WORD.search(text) else text
    text = _BLANK_LINES.sub("\n", text).strip()
    return Passage(text, not _imitates(text))


def _imitates(text: str) -> bool:
    """Tell whether the text, as a reader sees it, still holds a marker."""
    if text.isascii() and not _WORD.search(text):
        return False
    folded = view.fold(text)
    readings = (folded, view.imitate_latin(folded))
    return any(_WORD.search(reading) and _IMITATION.search(reading) for reading in readings)


@lru_cache(maxsize=2048)
def clean_path(path: str) -> Passage:
    """Return a path as a passage of one line."""
    text = _INVISIBLE.sub("", _LINE_ENDS.sub(" ", path).replace("\n", " "))
    return Passage(text, not _imitates(text))


def wrap(path: str, text: str, max_bytes: int) -> str:
    """Return the envelope, at most `max_bytes`; a text that is too long ends in `…`.

    Args:
        path: the text of a `clean_path` that is safe.
        text: the text of a `Passage` that is safe.
        max_bytes: of the whole envelope.
    """
    room = max_bytes - _OVERHEAD
    path = _tail(path, max(MIN_PATH_BYTES, min(MAX_PATH_BYTES, room - _size(text))))
    return f"{START}{path}\n{_head(text, room - _size(path))}\n{END}"


def passage_bytes(max_bytes: int) -> int:
    """Return how large a passage may be that fits into an envelope of `max_bytes` whole, whatever its path."""
    return max_bytes - _OVERHEAD - MIN_PATH_BYTES


_OVERHEAD: Final = len(f"{START}\n\n{END}")


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _head(text: str, room: int) -> str:
    if _size(text) <= room:
        return text
    return text.encode("utf-8")[: room - _size(ELISION)].decode("utf-8", "ignore").rstrip() + ELISION


def _tail(text: str, room: int) -> str:
    if _size(text) <= room:
        return text
    return ELISION + text.encode("utf-8")[-(room - _size(ELISION)) :].decode("utf-8", "ignore")


def strip_recalled(text: str) -> str:
    """Return a text without the envelopes in it: what was recalled for a turn is no news of that turn."""
    return _RECALLED.sub("", text) if START in text else text
