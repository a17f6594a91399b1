"""The plain form of a text, in which words are looked for: lower case, and one space for every gap between words.

So `from now on` is one word here, and a rare one. For a first look only: what is found is looked at again in the text
as it is.
"""

from __future__ import annotations

import re
from typing import Final

GAP: Final = r"(?:[\s\pZ*_~`\x22'“”‘’«»「」,()\[\]]+)"
"""What may stand between two words of a rule: whoever splits a phrase over lines or stars still writes the phrase."""

_ASCII_GAPS: Final = "\t\n\v\f\r *_~`\"',()[]"
_OTHER_GAPS: Final = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
    "“”‘’«»「」"
)
_TO_PLAIN: Final = bytes.maketrans(_ASCII_GAPS.encode(), b" " * len(_ASCII_GAPS)).lower()
_OTHER_GAP_BYTES: Final = tuple(gap.encode() for gap in _OTHER_GAPS)
_ASCII_BYTES: Final = bytes(range(128))
_ODD_CASE: Final = dict(zip("ſᲀᲁᲂᲃᲄᲅᲆᲇᲈ", "sвдосттъѣꙋ", strict=True))
"""Letters that RE2 takes for the capital or small form of another and `str.lower` doesn't."""


def plain_form(text: str, data: bytes) -> bytes:
    """Return the form of a text in which words are looked for.

    Args:
        text: the text.
        data: the same in UTF-8.
    """
    if not text.isascii():
        others = data.translate(None, _ASCII_BYTES)
        if _lower(letters := others.decode("utf-8", "replace")) != letters:
            data = _lower(text).encode("utf-8", "replace")
        for gap in _OTHER_GAP_BYTES:
            if gap in others:
                data = data.replace(gap, b" ")
    return b" %b " % b" ".join(data.translate(_TO_PLAIN).split())


def _lower(text: str) -> str:
    text = text.lower()
    for letter, usual in _ODD_CASE.items():
        if letter in text:
            text = text.replace(letter, usual)
    return text


def plain_word(word: str) -> str:
    """Return a piece of a pattern as it stands in the plain form of a text."""
    return _GAPS.sub(" ", word.lower())


_GAPS: Final = re.compile(f"[{re.escape(_ASCII_GAPS + _OTHER_GAPS)}]+")
