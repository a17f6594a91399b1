"""Where sentences and paragraphs end, for rules whose signs must stand near one another. Linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .rules import Within

_BLOCK_END: Final = rb"\n[ \t\r\f\v>]*(?:\n|[-*+#|][ \t]|\d{1,3}[.)][ \t])|\x1f"
_SENTENCE_END: Final = rb"[.!?](?=[\"')\]*_`]{0,3}\s)|\xe3\x80\x82|\xef\xbc\x81|\xef\xbc\x9f"

_ENDS: Final = {
    Within.PARAGRAPH: re.compile(_BLOCK_END),
    Within.SENTENCE: re.compile(_BLOCK_END + rb"|" + _SENTENCE_END),
}
"""A paragraph ends at a blank line or where a list item, a heading or a table's row begins; a sentence also at its
mark, with or without quotes after it, and at the full-width marks of Chinese and Japanese."""


def passages_around(
    spans: Iterable[tuple[int, int]], within: Within, data: bytes, reach: int
) -> Iterator[tuple[int, int]]:
    """Yield the passage around each span, or as much of it as is in reach; what was looked at isn't yielded again.

    Args:
        spans: places in `data`, in ascending order.
        within: which passages.
        data: the text in UTF-8.
        reach: how many bytes before and after a span are looked at.
    """
    last = -1
    for left, right in spans:
        if right <= last:
            continue
        first = max(0, left - reach)
        start = max((found.end() for found in _ENDS[within].finditer(data, first, left)), default=first)
        found = _ENDS[within].search(data, right, right + reach + 1)
        last = found.start() if found else min(len(data), right + reach)
        yield start, last
