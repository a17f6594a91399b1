"""Derives from a pattern the words without which it can't match, so that most patterns needn't be tried on most texts.

Words are as they stand in the plain form of a text. What comes out is an over-estimate by construction: a text that
matches always holds the words, a text that holds them may still not match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from .plain_text import GAP, plain_word

Clause: TypeAlias = frozenset[str]
"""Words of which at least one must stand in the text."""

Requirement: TypeAlias = tuple[Clause, ...]
"""Clauses that must all hold, the most telling one first; without any, every text will do."""

MAX_WORDS: Final = 128
"""How many spellings are followed through a sequence before it is cut in two."""

MAX_CLASS: Final = 512
"""Larger character classes say nothing; the variation selectors, 256 of them, are the largest that does."""

MAX_ASCII_CLASS: Final = 6
"""A class of more ASCII characters than this is no clue but a wildcard."""

EVERYDAY: Final = frozenset(
    {
        "the", "to", "and", "for", "in", "is", "of", "on", "it", "that", "this", "you", "your", "with", "are", "as",
        "be", "if", "use", "when", "what", "which", "from", "code", "user", "all", "add", "new", "will", "not", "can",
        "run", "one", "any", "has", "have", "by", "an", "data", "text", "here", "line", "only", "command", "call",
        "type", "value", "time", "even", "need", "log", "end", "now", "no", "at", "each", "every", "always", "http://",
        "https://", "more", "its", "over", "file", "files", "out", "set",
    }
)  # fmt: skip
"""Words (and pieces of words) of nearly every page."""

_TOKEN: Final = re.compile(
    r"(?P<open>\((?:\?(?:P<\w+>|[a-zA-Z-]*:|[a-zA-Z-]+\))?)?)"
    r"|(?P<class>\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])"
    r"|(?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})[?]?)"
    r"|(?P<hex>\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2})"
    r"|(?P<wild>\\[dDsSwW]|\\[pP](?:\{\^?\w+\}|\w)|\.)"
    r"|(?P<anchor>\^|\$|\\[bBAz])"
    r"|(?P<control>\\[ntrfv])"
    r"|(?P<literal>\\[^\w\s]|[^\\|)])",
    re.DOTALL,
)
_MEMBER: Final = re.compile(
    r"\\x\{(?P<long>[0-9A-Fa-f]+)\}|\\x(?P<short>[0-9A-Fa-f]{2})|\\(?P<escape>.)|(?P<plain>.)", re.DOTALL
)
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is known about a part of a pattern.

    Attributes:
        exact: all that it can match; None when that isn't known.
        clauses: what a text must hold for it to match, where `exact` is None.
    """

    exact: Clause | None = None
    clauses: Requirement = ()

    def required(self) -> Requirement:
        """Return what a text must hold; nothing when the part can be empty."""
        if self.exact is None:
            return self.clauses
        return () if "" in self.exact else (_without_longer(self.exact),)


_ANYTHING: Final = _Piece()
_NOTHING: Final = _Piece(exact=frozenset({""}))
_SPACE: Final = _Piece(exact=frozenset({" "}))
"""All white space is the same, however much of it there is."""


def requirements(pattern: str) -> tuple[Requirement, ...]:
    """Return the requirement of each alternative of `pattern`: a text that matches it meets at least one of them.

    Raises:
        ValueError: the pattern uses a notation that isn't known here.
    """
    reader = _Reader(pattern)
    branches = reader.alternatives()
    if reader.rest:
        raise ValueError(f"unexpected {reader.rest[:8]!r} in a pattern")
    return tuple(_in_order(branch.required()) for branch in branches)


def requirement_of_all(patterns: Iterable[str]) -> Requirement:
    """Return what a text must hold for each of several patterns to match somewhere in it.

    Raises:
        ValueError: as for `requirements`.
    """
    clauses = []
    for pattern in patterns:
        alternatives = requirements(pattern)
        if all(alternatives):
            clauses.append(frozenset[str]().union(*(need[0] for need in alternatives)))
    return _in_order(clauses)


def _in_order(clauses: Iterable[Clause]) -> Requirement:
    """Return the clauses, the one first that holds by accident most rarely."""
    return tuple(sorted(set(clauses), key=lambda clause: (chance(clause), sorted(clause))))


def chance(clause: Clause) -> float:
    """Estimate how often a clause holds by accident: rarely for long words, often for many short or everyday ones."""
    return sum(map(_chance_of_word, clause))


def _chance_of_word(word: str) -> float:
    return 1.0 if word.strip() in EVERYDAY else 8.0 ** -len(word.strip().encode("utf-8"))


def _without_longer(words: Clause) -> Clause:
    """Drop the words that hold another one: `prompts` says no more than `prompt`."""
    if len(words) > MAX_WORDS:
        return words
    return frozenset(word for word in words if not any(other != word and other in word for other in words))


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self.rest = pattern

    def alternatives(self) -> list[_Piece]:
        """Read up to the end of the group and return its branches."""
        branches = [self._sequence()]
        while self.rest.startswith("|"):
            self.rest = self.rest[1:]
            branches.append(self._sequence())
        return branches

    def _sequence(self) -> _Piece:
        run, clauses = frozenset({""}), list[Clause]()
        is_exact = True
        while self.rest and self.rest[0] not in "|)":
            piece = self._repeated()
            if piece.exact is not None and len(run) * len(piece.exact) <= MAX_WORDS:
                run = frozenset(plain_word(before + after) for before in run for after in piece.exact)
                continue
            clauses.extend(_Piece(exact=run).required())
            is_exact = False
            run = piece.exact if piece.exact is not None else frozenset({""})
            clauses.extend(piece.clauses)
        if is_exact:
            return _Piece(exact=run)
        return _Piece(clauses=(*clauses, *_Piece(exact=run).required()))

    def _repeated(self) -> _Piece:
        piece = self._single()
        while found := _TOKEN.match(self.rest):
            if not found["repeat"]:
                break
            self.rest = self.rest[found.end() :]
            piece = _repeat(piece, found["repeat"])
        return piece

    def _single(self) -> _Piece:
        if self.rest.startswith(GAP):
            self.rest = self.rest[len(GAP) :]
            return _SPACE
        found = _TOKEN.match(self.rest)
        if found is None or found.lastgroup == "repeat":
            raise ValueError(f"unexpected {self.rest[:8]!r} in a pattern")
        self.rest = self.rest[found.end() :]
        text = found.group()
        if found.lastgroup == "open" and not text.endswith(")"):
            return self._group()
        return _READ[found.lastgroup or ""](text)

    def _group(self) -> _Piece:
        branches = self.alternatives()
        if not self.rest.startswith(")"):
            raise ValueError("a group isn't closed")
        self.rest = self.rest[1:]
        return branches[0] if len(branches) == 1 else _either(branches)


def _either(branches: list[_Piece]) -> _Piece:
    exact = [branch.exact for branch in branches]
    if None not in exact:
        return _Piece(exact=frozenset[str]().union(*(words for words in exact if words is not None)))
    wanted = [_in_order(branch.required())[:1] for branch in branches]
    if not all(wanted):
        return _ANYTHING
    return _Piece(clauses=(_without_longer(frozenset[str]().union(*(clauses[0] for clauses in wanted))),))


def _repeat(piece: _Piece, sign: str) -> _Piece:
    if piece == _SPACE:
        return _Piece(exact=frozenset({"", " "})) if sign[0] in "*?" or sign.startswith("{0") else _SPACE
    if sign[0] in "*?" or sign.startswith("{0"):
        is_once = sign[0] == "?" or sign.rstrip("?") == "{0,1}"
        return _Piece(exact=piece.exact | {""}) if is_once and piece.exact is not None else _ANYTHING
    return _Piece(clauses=piece.required())


def _literal(character: str) -> _Piece:
    return _Piece(exact=frozenset({plain_word(character)}))


def _class(text: str) -> _Piece:
    """Return the members of a character class where they are few enough to be a clue."""
    if text.startswith("[^") or re.search(r"\\[dDsSwWpP]|\[:", text):
        return _ANYTHING
    ends = [_member(found) for found in _MEMBER.finditer(text[1:-1])]
    members: set[str] = set()
    place = 0
    while place < len(ends):
        is_range = place + 2 < len(ends) and ends[place + 1] == ("-", True)
        first, last = ord(ends[place][0]), ord(ends[place + 2 if is_range else place][0])
        members.update(map(chr, range(first, min(last, first + MAX_CLASS) + 1)))
        place += 3 if is_range else 1
    words = frozenset(map(plain_word, members))
    few = len(words) <= MAX_CLASS and sum(word.isascii() for word in words) <= MAX_ASCII_CLASS
    return _Piece(exact=words) if few else _ANYTHING


_READ: Final[dict[str, Callable[[str], _Piece]]] = {
    "open": lambda _: _NOTHING,  # flags
    "class": _class,
    "hex": lambda text: _literal(chr(int(text[2:].strip("{}"), 16))),
    "wild": lambda text: _SPACE if text == r"\s" else _ANYTHING,
    "anchor": lambda _: _NOTHING,
    "control": lambda text: _literal(_CONTROLS[text[1]]),
    "literal": lambda text: _literal(text[-1]),
}
"""What each kind of token says."""


def _member(found: re.Match[str]) -> tuple[str, bool]:
    """Return a character of a class, and whether it stands there plainly, as the dash of a range does."""
    if found["plain"]:
        return found["plain"], True
    code = found["long"] or found["short"]
    return (chr(int(code, 16)) if code else _CONTROLS.get(found["escape"], found["escape"])), False
