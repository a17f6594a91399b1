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

SEPARATOR: Final = "\n\x1f\n"
"""Keeps texts apart that are read together: no rule reaches over it."""

_ACCENTED: Final = "[àáâãäåèêëìíîïòôõöùúûüýÿ]"
_OTHER_SCRIPT: Final = "[Ѐ-ӿԀ-ԯͰ-Ͽ\u0530-\u058fᴀ-ᶿɐ-ʯ]"
_ASCII_BYTES: Final = bytes(range(128))

_SUSPECT: Final = (
    (  # shows nothing, wherever it stands
        (
            "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
            "\u3164\ufe00-\ufe0e\uffa0\U000e0000-\U000e0fff]"
        ),
        None,
    ),
    # joiners belong to emoji; after a letter they part a word
    ("[\u200c\u200d\ufe0f\ufeff]", r"[^\W\d_][\u200c\u200d\ufe0f\ufeff]"),
    (  # letters in full width, in mathematical type, in circles and squares
        (
            "[\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9\U0001f130-\U0001f189\u2102\u210a-\u2115"
            "\u2119-\u211d\u2124\u2128\u212a\u212c-\u2139\u017f]"
        ),
        None,
    ),
    ("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]", None),
    (_OTHER_SCRIPT, f"[A-Za-z]{_OTHER_SCRIPT}|{_OTHER_SCRIPT}[A-Za-z]|[ᴀ-ᶿɐ-ʯ]{{3}}"),
    ("[\u0100-\u017e\u0180-\u024f\u1e00-\u1eff]", None),
    (_ACCENTED, f"{_ACCENTED}[a-z]{{0,5}}{_ACCENTED}"),
)
"""Characters that may make the folded view read otherwise than the text, and where it matters how they stand, the way
in which they do. Kept narrow: dashes, arrows, ticks, emoji and the accents of everyday words stand in most documents
and change nothing."""

_SUSPECTS: Final = tuple(
    (re.compile(signs), re.compile(stand, re.IGNORECASE) if stand else None) for signs, stand in _SUSPECT
)
SPACED_OUT: Final = r"(?:^|[^\pL\pN])[\pL\pN](?:[\x20\t._*|/-][\pL\pN]){4}(?:[^\pL\pN]|$)"
"""Pattern (RE2) of letters that stand apart: `i g n o r e`."""

_QUAD: Final = "[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
_EASTERN: Final = "[4-7][A-Za-z0-9+/_-]{3}"
_RUSSIAN: Final = "0[A-Za-z0-9+/_-]{3}[g-v][A-Za-z0-9+/_-]{3}"
MAYBE_BASE64: Final = rf"(?:^|[^A-Za-z0-9+/_-])(?:(?:{_QUAD}|{_EASTERN}){{4}}|(?:{_RUSSIAN}){{2}})"
"""Pattern (RE2) of how Base64 of a text begins. In the code of ASCII three bits of four letters are always clear, and
that of a Chinese, Japanese, Korean or Russian text has its marks too; paths, names and hashes rarely look so."""


def has_foreign_signs(text: str, data: bytes) -> bool:
    """Tell whether the folded view may read otherwise because of what isn't ASCII in the text.

    Args:
        text: the text.
        data: the same in UTF-8.
    """
    if text.isascii():
        return False
    others = data.translate(None, _ASCII_BYTES).decode("utf-8", "replace")
    return any(signs.search(others) and (stand is None or stand.search(text) is not None) for signs, stand in _SUSPECTS)


BROKEN_WORD: Final = (
    # the characters of `_INVISIBLE` that pass unseen in a key
    r"[A-Za-z0-9_-][\x{00AD}\x{034F}\x{180B}-\x{180F}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}"
    r"\x{FE00}-\x{FE0F}\x{FEFF}\x{E0000}-\x{E0FFF}]+[A-Za-z0-9_-]"
)
"""Pattern (RE2) whose match says that a credential may be broken up by characters that show nothing."""


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
    if "\\" in text:
        text = _ESCAPED.sub(_decode_escape, text)
    if "&" in text:
        text = html.unescape(text)
    return unquote(text, errors="replace") if "%" in text else text


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
    return SEPARATOR.join(strings)
