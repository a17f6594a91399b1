"""Notices what makes a stored text poor memory (contract 4.3). Nothing is refused here.

Only what the text itself shows: instructions where a fact should be, matters of today, a line that says what another
says, credentials. The work is bounded whatever the document's size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import re2
from rapidfuzz import fuzz, process, utils

from ..contract.advisories import Advisory, AdvisoryCode
from ..contract.path import DocumentPath
from .pattern_set import options_for, to_bytes
from .secrets import find_secrets
from .wording import LEAD, ORDER, PASSING_THING

SIMILAR: Final = 90.0
"""From this similarity on (0 to 100, Indel ratio of the words as written) two lines say the same thing."""

MAX_LINES: Final = 64
"""How many of the added lines are looked at."""

MAX_COMPARISONS: Final = 30_000
"""How many pairs of lines are compared at most; some ten milliseconds' worth."""

_PAGE: Final = 8
"""Lines that are looked at together for a first sign of a passing thing."""

_SHORTEST: Final = 12
"""Shorter lines are headings and single words, which recur without saying the same thing; in characters."""

_DIRECTIVE_FILES: Final = frozenset(
    {
        "agents.md", "soul.md", "system.md", "identity.md", "tools.md", "heartbeat.md", "bootstrap.md",
        "context/assistant-directives.md",
    }
)  # fmt: skip
"""Documents whose purpose is to instruct; an instruction there is no mistake."""

_PASSING_SIGNS: Final = (
    r"(?:pr|mr|quest|issue|ticket|bug)s?.{0,11}\p{Nd}",
    r"#\p{Nd}{2}",
    r"[0-9a-f]{7}",
    r"today|tonight|yesterday|just now|this (?:morning|afternoon|evening|session)",
    r"all tests pass|tests are (?:green|passing)|work in progress|wip:|next step is to",
    r"currently (?:working on|debugging|fixing|implementing)",
    r"今天|刚刚|剛剛|刚才|昨天|今日|さっき|昨日|오늘|방금|어제",
    r"[ıİ]",  # `re` takes them for an i when it ignores letter case, RE2 doesn't
)
"""What stands in every line that `PASSING` matches, for RE2: a few characters of each pattern, generously taken.

`PASSING` needs `re`, which tries eleven patterns at every place of every line. One look for the signs, a hundred times
faster, shows that nearly every text has none of them."""

_PASSING_SIGN: Final = re2.compile("|".join(_PASSING_SIGNS), options_for(ignore_case=True))

_MESSAGES: Final = {
    AdvisoryCode.CONTAINS_SECRET: (
        "This text holds a credential in plain sight; remove it from memory and have it replaced."
    ),
    AdvisoryCode.READS_AS_INSTRUCTION: (
        "This reads as an order to the assistant; store it as a fact about the user, such as"
        " 'User prefers short answers'."
    ),
    AdvisoryCode.SHORT_LIVED_ARTIFACT: (
        "This names something that soon means nothing, such as a pull request, a commit or what was done today;"
        " keep it in the daily log and store what will still hold in a month."
    ),
    AdvisoryCode.NEAR_DUPLICATE: (
        "A line much like this one is already there; patch that line instead of adding another."
    ),
}


def advise(
    path: DocumentPath, added: str, before: str, *, is_protected: bool = False, matches: int = 1
) -> tuple[Advisory, ...]:
    """Return what is worth saying about a write that was stored, the gravest first, each code at most once.

    Args:
        path: where the text went.
        added: what the call itself brought: the entry, the content or the new string.
        before: the text that it joined; empty for a replace and for a patch, where nothing can be a duplicate.
        is_protected: whether credentials are refused at `path` anyway, so there is nothing to say about them.
        matches: how often a patch's old string occurred while only the first was changed.
    """
    remarks = [
        _remark(AdvisoryCode.CONTAINS_SECRET) if not is_protected and find_secrets(added) else None,
        _many_matches(matches) if matches > 1 else None,
        _remark(AdvisoryCode.READS_AS_INSTRUCTION) if _reads_as_instruction(path, added) else None,
        _remark(AdvisoryCode.SHORT_LIVED_ARTIFACT) if _is_short_lived(path, added) else None,
        _near_duplicate(added, before),
    ]
    return tuple(remark for remark in remarks if remark is not None)


def _remark(code: AdvisoryCode, line: str | None = None) -> Advisory:
    return Advisory(code, _MESSAGES[code], line)


def _many_matches(matches: int) -> Advisory:
    message = (
        f"The old string occurs {matches} times and only the first was changed; "
        "set replace_all, or give a longer old string."
    )
    return Advisory(AdvisoryCode.MULTIPLE_MATCHES, message, count=matches)


def _reads_as_instruction(path: DocumentPath, added: str) -> bool:
    if path.text.casefold() in _DIRECTIVE_FILES:
        return False
    return any(ORDER.match(LEAD.sub("", line).replace("*", "")) for line in _lines(added))


def _is_short_lived(path: DocumentPath, added: str) -> bool:
    """A daily log is the place for what happened today."""
    return path.segments[0].casefold() != "daily" and any(map(_names_passing_thing, _pages(added)))


def _names_passing_thing(page: str) -> bool:
    if _PASSING_SIGN.search(to_bytes(page)) is None:
        return False
    return any(PASSING_THING.search(line) for line in page.split("\n"))


def _pages(text: str) -> Iterator[str]:
    """Yield the lines a few at a time: one that has a sign has only its neighbours looked at with it."""
    lines = list(_lines(text))
    for start in range(0, len(lines), _PAGE):
        yield "\n".join(lines[start : start + _PAGE])


def _lines(text: str) -> Iterator[str]:
    """Yield the first lines that say something, clipped where a line is no sentence any more."""
    return islice((line[:1000] for line in text.splitlines() if line.strip()), MAX_LINES)


def _near_duplicate(added: str, before: str) -> Advisory | None:
    if not before:
        return None
    fresh = [plain for plain in map(_plain, _lines(added)) if len(plain) >= _SHORTEST]
    if not fresh:
        return None
    lines = [line for line in before.splitlines() if len(line) >= _SHORTEST]
    budget = MAX_COMPARISONS
    for plain in fresh:
        near = [line for line in lines if 0.8 * len(plain) - 4 <= len(line) <= 1.25 * len(plain) + 8]
        near = near[-budget:] if budget > 0 else []
        budget -= len(near)
        line = _most_similar(plain, near)
        if line is not None:
            return _remark(AdvisoryCode.NEAR_DUPLICATE, line.strip())
    return None


def _most_similar(plain: str, lines: list[str]) -> str | None:
    """Return the line that says what `plain` says; lines that differ in a figure are different facts."""
    choices = [_plain(line) for line in lines]
    figures = re.findall(r"\d+", plain)
    best = process.extract(plain, choices, scorer=fuzz.ratio, score_cutoff=SIMILAR, limit=5)
    return next((lines[place] for text, _, place in best if re.findall(r"\d+", text) == figures), None)


def _plain(line: str) -> str:
    """Return the line without its bullet, letter case and punctuation."""
    return " ".join(utils.default_process(LEAD.sub("", line)).split())
