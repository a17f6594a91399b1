"""Reads the rule table: `rules.toml` becomes patterns that RE2 takes. No text is looked at here."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, Final

from ..contract.safety import Severity
from .plain_text import GAP

_WORD: Final = r"[\pL\pN'’./@#&$-]+"
_NOTATION: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|(?P<gap> )|\{(?P<name>[a-z_]+?)(?P<count>\d*)\}")
"""Escapes and character classes are skipped over, so a space inside one stays a space."""


class Within(StrEnum):
    """How near to one another the signs of a rule must stand."""

    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the table, ready for RE2.

    Attributes:
        id: its stable name, such as `override-all`; what events and refusals carry.
        category: the kind of attack, such as `instruction_override`.
        severity: how bad a match is.
        patterns: any of which is a match.
        together: lists of patterns; a passage in which each of a list matches, in whatever order, is a match.
        within: how long such a passage is.
        unless: patterns that soften the matches they enclose, and the passages they occur in.
        softened: the severity where every match is softened.
        raw: True when only the text as it was sent counts, not its normalised views.
        match: strings that must match.
        near: strings that must not match with `severity`.
    """

    id: str
    category: str
    severity: Severity
    patterns: tuple[str, ...]
    together: tuple[tuple[str, ...], ...]
    within: Within
    unless: tuple[str, ...]
    softened: Severity
    raw: bool
    match: tuple[str, ...]
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleTable:
    """All rules and the version that verdicts are tied to; the version changes with every byte of the table."""

    rules: tuple[Rule, ...]
    version: str


@cache
def load_rules() -> RuleTable:
    """Return the table that ships with the package.

    Raises:
        ValueError: the table doesn't parse, or a pattern names a vocabulary that isn't there.
    """
    data = resources.files(__package__).joinpath("rules.toml").read_bytes()
    return parse_rules(data)


def parse_rules(data: bytes) -> RuleTable:
    """Return the table written in `data`, which is TOML in UTF-8.

    Raises:
        ValueError: as for `load_rules`.
    """
    table = tomllib.loads(data.decode("utf-8"))
    rules = tuple(_read_rule(entry, table["words"]) for entry in table["rule"])
    return RuleTable(rules, f"prompt-injection-rules:v{table['version']}+{hashlib.sha256(data).hexdigest()[:12]}")


def _read_rule(entry: Mapping[str, Any], words: Mapping[str, str]) -> Rule:
    return Rule(
        id=entry["id"],
        category=entry["class"],
        severity=Severity(entry["severity"]),
        patterns=tuple(expand(text, words) for text in entry.get("patterns", ())),
        together=tuple(tuple(expand(text, words) for text in signs) for signs in entry.get("together", ())),
        within=Within(entry.get("within", "sentence")),
        unless=tuple(expand(text, words) for text in entry.get("unless", ())),
        softened=Severity(entry.get("softened", "none")),
        raw=entry.get("raw", False),
        match=tuple(entry["match"]),
        near=tuple(entry["near"]),
    )


def expand(pattern: str, words: Mapping[str, str]) -> str:
    """Return `pattern` with its vocabularies, wildcards and gaps written out for RE2.

    Raises:
        ValueError: a vocabulary isn't in `words`.
    """

    def write_out(found: re.Match[str]) -> str:
        if found["gap"]:
            return GAP
        name, count = found["name"], found["count"]
        if name is None:
            return found.group()
        if name == "any" and count:
            return rf"(?:{GAP}{_WORD}){{0,{count}}}"
        if name not in words or count:
            raise ValueError(f"unknown vocabulary {found.group()}")
        return f"(?:{expand(words[name], words)})"

    return _NOTATION.sub(write_out, pattern)
