"""What a model would read in a text, written plainly so that rules can match it. For matching only: never stored.

A text is stored as it was sent. Here invisible characters go, full-width and mathematical letters become ordinary ones,
look-alikes from other scripts become the Latin letters they imitate, letters spaced out are joined, and what is escaped
or encoded is decoded once. Every step is linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

_CONFUSABLE: Final = str.maketrans(
    "аеорсухіјѕԁԛԝһӏѵвкмнтгпиАВЕКМНОРСТУХІЈЅԌԚԜӀαεικνορτυχωγϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧոսցօհքԛոѐёїıɩɡɑʏɪɢɴʀᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢʙʜʟꜱƅƽ",
    "aeopcyxijsdqwhlvbkmhtrnuABEKMHOPCTYXIJSGQWlaeiknoptuxwycjABEZHIKMNOPTYXnugohpqneeiiigaYigNraCDEjkmoptuvwzBhlsbs",
)
"""The letters that imitate Latin ones in the wild, from Cyrillic, Greek, Armenian and phonetic small capitals. Some
stand for two; the one that occurs in English imperatives was taken. Case doesn't matter: rules ignore it."""

_IMITATORS: Final = "Ѐ-ӿԀ-ԯͰ-Ͽ԰-֏ᴀ-ᶿɐ-ʯꜰ-ꜱ"
_FOREIGN_WORD: Final = re.compile(
    rf"(?<![A-Za-z{_IMITATORS}])[A-Za-z]*+[{_IMITATORS}][A-Za-z{_IMITATORS}]*+"  # begun at a word's head only: linear
)
_LATIN: Final = re.compile("[A-Za-z]")
_INVISIBLE: Final = re.compile(
    "["  # soft hyphen, fillers, joiners, directions, selectors, tags: all that shows nothing
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_MARKS: Final = re.compile("(?<=[A-Za-z])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+")
_SPACED: Final = re.compile(r"(?<![^\W_])(?:[^\W_][ \t._*|/-]){2,}[^\W_](?![^\W_])")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\u\{([0-9a-fA-F]{1,6})\}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")

_ACCENTED: Final = "[àáâãäåèêëìíîïòôõöùúûüýÿ]"
_OTHER_SCRIPT: Final = r"[Ѐ-ӿԀ-ԯͰ-Ͽ\x{0530}-\x{058F}ᴀ-ᶿɐ-ʯ]"
SUSPECT: Final = (
    (  # shows nothing, wherever it stands
        r"[\x{00AD}\x{034F}\x{061C}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{200B}\x{200E}\x{200F}"
        r"\x{202A}-\x{202E}\x{2060}-\x{206F}\x{3164}\x{FE00}-\x{FE0E}\x{FFA0}\x{E0000}-\x{E0FFF}]"
    ),
    r"\pL[\x{200C}\x{200D}\x{FE0F}\x{FEFF}]",  # joiners belong to emoji; after a letter they part a word
    (  # letters in full width, in mathematical type, in circles and squares
        r"[\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{1D400}-\x{1D7FF}\x{24B6}-\x{24E9}\x{1F130}-\x{1F189}\x{2102}"
        r"\x{210A}-\x{2115}\x{2119}-\x{211D}\x{2124}\x{2128}\x{212C}-\x{2139}]"
    ),
    r"[\x{0300}-\x{036F}\x{0483}-\x{0489}\x{1AB0}-\x{1AFF}\x{1DC0}-\x{1DFF}\x{20D0}-\x{20FF}]",
    rf"[a-zA-Z]{_OTHER_SCRIPT}|{_OTHER_SCRIPT}[a-zA-Z]|[ᴀ-ᶿɐ-ʯ]{{3}}",
    rf"[\x{{0100}}-\x{{017E}}\x{{0180}}-\x{{024F}}\x{{1E00}}-\x{{1EFF}}]|{_ACCENTED}[a-z]{{0,5}}{_ACCENTED}",
    r"(?:^|[^\pL\pN])[\pL\pN](?:[\x20\t._*|/-][\pL\pN]){4}(?:[^\pL\pN]|$)",  # spaced out
)
"""Patterns (RE2) whose match says that the folded view may read otherwise than the text. Kept narrow: dashes, arrows,
ticks, emoji and the accents of everyday words stand in most documents and change nothing. Neither the Kelvin sign nor
the long s is in here: without regard to letter case they are a `k` and an `s`."""

BROKEN_WORD: Final = (
    # the characters of `_INVISIBLE` that pass unseen in a key
    r"[A-Za-z0-9_-][\x{00AD}\x{034F}\x{180B}-\x{180F}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}"
    r"\x{FE00}-\x{FE0F}\x{FEFF}\x{E0000}-\x{E0FFF}]+[A-Za-z0-9_-]"
)
"""Pattern (RE2) whose match says that a credential may be broken up by characters that show nothing."""

ENCODED: Final = (
    r"&#x?[0-9a-fA-F]{2,6};|&[a-zA-Z]{2,8};",
    r"%[2-7][0-9a-fA-F]",
    r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\u\{",
    r"[A-Za-z0-9+/_-]{20}",
)
"""Patterns (RE2) whose match says that something in the text may be encoded."""


def strip_invisible(text: str) -> str:
    """Return the text without the characters that show nothing."""
    return _INVISIBLE.sub("", text) if not text.isascii() else text


def fold(text: str) -> str:
    """Return the text as a reader sees it. Folding twice changes nothing more."""
    for _ in range(4):
        folded = _fold_once(text)
        if folded == text:
            break
        text = folded
    return text


def _fold_once(text: str) -> str:
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    text = _MARKS.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFKC", text)
    text = _FOREIGN_WORD.sub(_unmask_word, text)
    return _SPACED.sub(_join_letters, text)


def _unmask_word(found: re.Match[str]) -> str:
    """Make a word Latin that holds Latin letters and others; a wholly Russian word stays Russian."""
    word = found.group()
    return word.translate(_CONFUSABLE) if _LATIN.search(word) else word


def _join_letters(found: re.Match[str]) -> str:
    """Join `i g n o r e` to `ignore`; letters parted by one separator only, as words are by wider ones."""
    return found.group()[::2]


def imitate_latin(text: str) -> str:
    """Return the text with every look-alike made Latin, also in words that hold no Latin letter at all."""
    return text.translate(_CONFUSABLE)


def decode(text: str) -> str:
    """Return the text with entities, escapes and percent codes decoded once; the text itself where there are none."""
    text = _ESCAPED.sub(_decode_escape, text)
    return unquote(html.unescape(text), errors="replace")


def _decode_escape(found: re.Match[str]) -> str:
    code = int(found[1] or found[2] or found[3], 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else " "


def decoded_blobs(text: str) -> Iterator[str]:
    """Yield what runs of Base64 in the text say, where they say something printable."""
    for found in _BASE64.finditer(text):
        plain = _decode_blob(found.group())
        if plain is not None:
            yield plain


def _decode_blob(blob: str) -> str | None:
    body = blob.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - 1] if len(body) % 4 == 1 else body
    try:
        plain = base64.b64decode(body + "=" * (-len(body) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return plain if "".join(plain.split()).isprintable() else None


def json_strings(text: str) -> str | None:
    """Return all strings of a JSON document, keys too, decoded and kept apart; None when it isn't one.

    Numbers stay text, so no figure is too long to read; a key that stands twice counts twice.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "[", '"'):
        return None
    strings: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> list[Any]:
        return [part for pair in pairs for part in pair]

    try:
        document = json.loads(
            text.lstrip("\ufeff"), object_pairs_hook=keep, parse_int=str, parse_float=str, parse_constant=str
        )
    except (ValueError, RecursionError):
        return None
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(reversed(value))
        elif isinstance(value, str):
            strings.append(value)
    return "\n\x1f\n".join(strings)
