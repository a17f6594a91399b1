"""Many patterns tried on a text at the price of a few, in time linear in the text.

A gate tells from the words of the text which patterns may match, and RE2 tries only those. One RE2 automaton for all
patterns is no alternative: it grows by some 80 MB with the variety of texts, and building it costs more than it saves.
RE2's own filter has the same trouble with its set of words. Hyperscan takes minutes to compile these patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import re2

from .gate import Gate

_PROGRAM_BYTES: Final = 4 << 20
"""What the program and the states of one pattern may take; RE2 forgets states before it takes more."""


class PatternSet:
    """A compiled set; safe to share between threads.

    Args:
        entries: patterns in RE2's syntax; of an entry of several the first is looked for, and the words of the others.
        ignore_case: whether letter case is ignored.

    Raises:
        ValueError: a pattern is not one.
    """

    def __init__(self, entries: Iterable[tuple[str, ...]], *, ignore_case: bool) -> None:
        self._entries = tuple(entries)
        self._patterns = Patterns(ignore_case=ignore_case)
        for entry in self._entries:
            for source in entry:
                compile_pattern(source, options_for(ignore_case=ignore_case))
        re2.purge()
        self._gate = Gate(self._entries)

    def matches(self, text: str, data: bytes) -> list[int]:
        """Return the places of the entries that occur in a text, in ascending order.

        Args:
            text: the text.
            data: the same as `to_bytes` makes it.
        """
        places = self._gate.candidates(text, data)
        return [place for place in places if self._patterns[self._entries[place][0]].search(data)]


class Patterns(dict[str, Any]):
    """Patterns by their source, each compiled when it is first needed: most never are, and each takes 100 KB.

    Args:
        ignore_case: whether letter case is ignored.
    """

    def __init__(self, *, ignore_case: bool) -> None:
        super().__init__()
        self._options = options_for(ignore_case=ignore_case)

    def __missing__(self, source: str) -> Any:
        pattern = self[source] = compile_pattern(source, self._options)
        return pattern


def compile_pattern(source: str, options: Any) -> Any:
    """Return a compiled pattern.

    Raises:
        ValueError: it isn't one.
    """
    try:
        return re2.compile(source, options)
    except re2.error as error:
        raise ValueError(f"{error} in a pattern") from None


def options_for(*, ignore_case: bool) -> Any:
    """Return the options of every pattern in this package; RE2's own log, which quotes the text, stays silent."""
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    options.max_mem = _PROGRAM_BYTES
    return options


def to_bytes(text: str) -> bytes:
    """Return the text in UTF-8 for the engine; a lone surrogate, which has no UTF-8, becomes a question mark."""
    return text.encode("utf-8", "replace")
