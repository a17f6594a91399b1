"""From text to terms: the one analysis that serves both the index and the query.

Not a parser: no text is syntax here, so none can be wrong. The steps, in order:

1. Unicode compatibility form (full-width letters, ligatures), then tokens by script.
2. Scripts written without spaces (Chinese, Japanese, Thai, Khmer, ...) and Korean, whose words carry particles, give
   overlapping pairs of characters, and single ideographs; no dictionary decides what a word is.
3. Other words are split where identifiers are (`getUserName`, `snake_case_id`, `gpt-4`, paths, addresses, versions),
   and what was one word is kept joined as well, so both `user name` and `getusername` find it.
4. Case folded, accents of Latin and Greek taken off, stemmed by the language of the passage.
5. Dates in common spellings give one term a day and one a month.

Terms leave as 32-bit numbers. The index so holds no words, only their hashes: what is deleted leaves no text behind
whatever the database does with its pages. Two of 100,000 different words share a number with probability 1e-5 a word,
and then a passage is found that should not be, which ranking bears.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from .companions import companions_of
from .dates import date_terms
from .languages import FUNCTION_WORDS, guess_language, is_function_word, language_of_script, stem

MAX_QUERY_BYTES: Final = 4096
MAX_QUERY_TERMS: Final = 64
MAX_WORD_CHARACTERS: Final = 64
"""Longer runs (base64, hashes) are cut: their head identifies them, and an index of garbage stays bounded."""

_IDEOGRAPHS = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = _IDEOGRAPHS + _KANA + _HANGUL + _SOUTH_EAST_ASIAN


def _marks() -> str:
    """Return the combining marks of spaced scripts as a character class; no class of letters holds them."""
    return "".join(
        chr(c) for c in range(0x300, 0x2000) if unicodedata.category(chr(c)) in ("Mn", "Mc")
        and not 0x0E00 <= c <= 0x109F and not 0x1780 <= c <= 0x17FF
    )  # fmt: skip


_LETTER = rf"[^\W_{_UNSPACED}]"
_WORD = rf"{_LETTER}(?:{_LETTER}|[{_marks()}])*"
_TOKEN: Final = re.compile(
    rf"(?P<cjk>[{_IDEOGRAPHS}{_KANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<asian>[{_SOUTH_EAST_ASIAN}]+)"
    rf"|(?P<number>(?<!\d)\d{{1,3}}(?:,\d{{3}})+(?!\d))"
    rf"|(?P<sharp>\b[A-Za-z]{{1,2}}(?:\+\+|\#)(?!\w))"
    rf"|(?P<word>{_WORD}(?:[-_.@'’‐‑]{_WORD})*)"
)
_ASCII_TOKEN: Final = re.compile(
    r"(?P<number>(?<!\d)\d{1,3}(?:,\d{3})+(?!\d))|(?P<sharp>\b[A-Za-z]{1,2}(?:\+\+|#)(?!\w))"
    r"|(?P<word>[A-Za-z0-9]+(?:[-_.@'][A-Za-z0-9]+)*)"
)
_PARTS: Final = re.compile(rf"{_WORD}")
_HUMPS: Final = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+")
_CLUSTER: Final = re.compile(
    r"[\u0e40-\u0e44]?."
    r"[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3]*",
    re.DOTALL,
)
"""A character of Thai, Lao, Burmese or Khmer with the signs that belong to it."""
_CONTRACTIONS: Final = frozenset(("s", "t", "re", "ve", "ll", "d", "m"))
_FOLDED: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d", "ħ": "h", "ё": "е", "ς": "σ"}
)


@dataclass(frozen=True, slots=True)
class Token:
    """A term before stemming.

    Attributes:
        text: folded.
        is_word: whether it takes part in stemming.
        weight: what a match of it is worth in a query, 1.0 for a word; 0 when a query doesn't ask for it: `C` finds
            `C++`, but who writes `C++` isn't after `C`.
    """

    text: str
    is_word: bool = True
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One wish of a query: any of `variants` fulfils it.

    Attributes:
        variants: term numbers, one for each stem that the languages of the index give.
        weight: what fulfilling it is worth, 1.0 for a word.
        companions: terms that hint at its fulfilment, for less.
        word: folded, not stemmed.
    """

    variants: tuple[int, ...]
    weight: float
    companions: tuple[int, ...] = ()
    word: str = ""


@lru_cache(maxsize=20_000)
def fold(word: str) -> str:
    """Return `word` without case, and without accents where they don't make another letter.

    Latin, Greek, Hebrew and Arabic lose them; Cyrillic keeps й, and Indic scripts keep their vowels.
    """
    word = word.casefold()
    if word.isascii():
        return word
    if language_of_script(word[0]) not in (None, "greek", "arabic"):
        return word.translate(_FOLDED)
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", plain).translate(_FOLDED)


@lru_cache(maxsize=30_000)
def number_of(term: str) -> int:
    """Return the 32-bit number under which `term` is indexed."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=4).digest(), "little")


def read_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of `text` in reading order, then its dates."""
    if text.isascii():
        pattern = _ASCII_TOKEN
    else:
        pattern, text = _TOKEN, unicodedata.normalize("NFKC", text)
    for match in pattern.finditer(text):
        yield from _READERS[match.lastgroup or "word"](match.group())
    for term in date_terms(text):
        yield Token(term, is_word=False, weight=1.5 if len(term) > 7 else 1.0)


def _read_word(word: str) -> tuple[Token, ...]:
    return _word_tokens(word[: MAX_WORD_CHARACTERS * 4])


@lru_cache(maxsize=20_000)
def _word_tokens(word: str) -> tuple[Token, ...]:
    """Return a word, or the parts of a compound and then the compound as one."""
    pieces = [piece[:MAX_WORD_CHARACTERS] for piece in _PARTS.findall(word)]
    if len(pieces) > 1 and word[-len(pieces[-1]) - 1] in "'’" and pieces[-1].lower() in _CONTRACTIONS:
        pieces.pop()
    parts = [hump for piece in pieces for hump in _humps(piece)]
    if len(parts) == 1:
        return (Token(fold(parts[0])),)
    tokens = [Token(fold(part), weight=0.8) for part in parts]
    if len(parts) <= 6:
        between = "." if all(piece.isdigit() for piece in pieces) else ""
        tokens.append(Token(fold(between.join(pieces))[:MAX_WORD_CHARACTERS], is_word=len(pieces) == 1))
    return tuple(tokens)


def _humps(piece: str) -> list[str]:
    if not piece.isalnum() or piece.isdigit() or (piece.isalpha() and (piece.isupper() or piece[1:].islower())):
        return [piece]  # a word, a number, or a script with marks, where humps don't exist
    return _HUMPS.findall(piece) or [piece]


def _read_pairs(run: str, units: list[str], single_weight: float) -> Iterator[Token]:
    if len(units) == 1:
        yield Token(run.casefold(), is_word=False)
        return
    for first, second in pairwise(units):
        if single_weight:
            yield Token(first, is_word=False, weight=single_weight)
        yield Token(first + second, is_word=False)
    if single_weight:
        yield Token(units[-1], is_word=False, weight=single_weight)


def _read_cjk(run: str) -> Iterator[Token]:
    return _read_pairs(run, list(run), 0.3)


def _read_hangul(run: str) -> Iterator[Token]:
    return _read_pairs(run, list(run), 0.0)


def _read_asian(run: str) -> Iterator[Token]:
    return _read_pairs(run, _CLUSTER.findall(run), 0.0)


def _read_number(number: str) -> tuple[Token, ...]:
    return (Token(number.replace(",", ""), is_word=False),)


def _read_sharp(name: str) -> tuple[Token, ...]:
    return (Token(name.casefold(), is_word=False), Token(name.rstrip("+#").casefold(), weight=0.0))


_READERS: Final = {
    "cjk": _read_cjk, "hangul": _read_hangul, "asian": _read_asian, "number": _read_number, "sharp": _read_sharp,
    "word": _read_word,
}  # fmt: skip


def analyse(text: str, default_language: str) -> tuple[list[int], str]:
    """Return the term numbers of a passage in reading order, and the language by which its words were stemmed."""
    tokens = list(read_tokens(text))
    language = guess_language((token.text for token in tokens if token.is_word), default_language)
    return [number_of(stem(t.text, language) if t.is_word else t.text) for t in tokens], language


def analyse_query(text: str, languages: tuple[str, ...]) -> list[QueryTerm]:
    """Return what `text` asks for, each wish once, at most `MAX_QUERY_TERMS`.

    Function words are left out where anything else remains; a query of nothing else is searched as it is.

    Args:
        text: any text.
        languages: the languages in which the index holds stems; a word is looked up under each.
    """
    tokens: dict[str, Token] = {}
    for token in filter(_is_asked_for, read_tokens(text)):
        kept = tokens.setdefault(token.text, token)
        if kept.weight < token.weight:
            tokens[token.text] = token
    telling = [token for token in tokens.values() if not _is_function_word(token, languages)]
    wishes: dict[tuple[int, ...], QueryTerm] = {}
    for token in (telling or list(tokens.values()))[:MAX_QUERY_TERMS]:
        wish = _wish(token, languages)
        wishes.setdefault(wish.variants, wish)
    return list(wishes.values())


def _wish(token: Token, languages: tuple[str, ...]) -> QueryTerm:
    stems = {stem(token.text, language) for language in languages} if token.is_word else {token.text}
    hints = companions_of(token.text) if token.is_word and "english" in languages else ()
    variants, companions = (tuple(sorted(map(number_of, each))) for each in (stems, hints))
    return QueryTerm(variants, token.weight, companions, token.text)


def _is_asked_for(token: Token) -> bool:
    return token.weight > 0


def _is_function_word(token: Token, languages: tuple[str, ...]) -> bool:
    if not token.is_word:
        return False
    return is_function_word(token.text) or any(token.text in FUNCTION_WORDS.get(name, ()) for name in languages)
