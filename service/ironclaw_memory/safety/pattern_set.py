"""Many patterns read over a text at once, in time linear in the text. RE2, with its silent failure made loud.

RE2's filter looks for the literal pieces of all patterns in one pass and then runs only the patterns whose pieces occur.
One automaton for all patterns would be faster on texts of a kind that it has seen, but grows by some 80 MB with the
variety of texts, in every worker; and on a new kind of text building it costs three times what it saves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import re2

_CANARY: Final = b"\x02ironclaw-canary\x02\n"


class ScannerFailed(Exception):
    """RE2 gave no answer for a text; nothing is known about it."""


class PatternSet:
    """A compiled set; safe to share between threads.

    RE2 reports a text in which it could not look for the pieces as one without matches. Each text is therefore read
    with a canary before it, in a line of its own, that is a pattern of the set: when it isn't found, the engine failed.

    Args:
        patterns: in RE2's syntax; a match is reported by the pattern's place in here. An anchor at the beginning must
            mean that of a line, because of the canary.
        ignore_case: whether letter case counts.

    Raises:
        ValueError: a pattern is not one.
    """

    def __init__(self, patterns: Iterable[str], *, ignore_case: bool) -> None:
        self._filter = re2.Filter()
        options = options_for(ignore_case=ignore_case)
        try:
            for pattern in patterns:
                self._filter.Add(pattern, options)
            self._canary = self._filter.Add(re2.escape(_CANARY.decode("ascii")), options)
        except re2.error as error:
            raise ValueError(str(error)) from None
        self._filter.Compile()

    def matches(self, data: bytes) -> list[int]:
        """Return the places of the patterns that occur in `data`, in ascending order.

        Raises:
            ScannerFailed: the engine gave no answer.
        """
        found: list[int] = self._filter.Match(_CANARY + data) or []
        if self._canary not in found:
            raise ScannerFailed
        found.remove(self._canary)
        return sorted(found)


def options_for(*, ignore_case: bool) -> Any:
    """Return the options of every pattern in this package; RE2's own log, which quotes the text, stays silent."""
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    return options


def to_bytes(text: str) -> bytes:
    """Return the text in UTF-8 for the engine; a lone surrogate, which has no UTF-8, becomes a question mark."""
    return text.encode("utf-8", "replace")
