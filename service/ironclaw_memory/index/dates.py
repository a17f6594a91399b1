"""Calendar dates in text, in the spellings that people and file names use, as comparable terms.

Recognises, doesn't interpret: "yesterday" and "next week" have no date here. A date gives two terms, its day and its
month, so that "in May 2023" finds what is dated 8 May 2023.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH_NUMBER: Final = {name: i for i, name in enumerate(_MONTHS, 1)} | {
    name[:3]: i for i, name in enumerate(_MONTHS, 1)
}
_MONTH: Final = "|".join([*_MONTHS, "sept", *(name[:3] for name in _MONTHS)])
_DAY: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<y>(?:19|20)\d\d)"

_SPELLINGS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.年](?P<m>\d{1,2})(?:[-/.月](?P<d>\d{1,2}))?(?!\d)",
        rf"(?<!\d){_DAY} (?:of )?(?P<n>{_MONTH})\b\.?,? {_YEAR}(?!\d)",
        rf"\b(?P<n>{_MONTH})\b\.? {_DAY},? {_YEAR}(?!\d)",
        rf"\b(?P<n>{_MONTH})\b\.?,? (?:of )?(?P<d>)?{_YEAR}(?!\d)",
    )
)
_HINT: Final = re.compile(r"(?:19|20)\d\d")


def find_dates(text: str) -> Iterator[tuple[int, int, int | None]]:
    """Yield year, month and day (None where only the month is said) of each date in `text`, spelling by spelling."""
    if not _HINT.search(text):
        return
    for spelling in _SPELLINGS:
        for match in spelling.finditer(text):
            parts = match.groupdict()
            name = parts.get("n")
            month = _MONTH_NUMBER.get(name.lower(), 9) if name else int(parts["m"])
            day = int(parts["d"]) if parts["d"] else None
            if 1 <= month <= 12 and (day is None or 1 <= day <= 31):
                yield int(parts["y"]), month, day


def date_terms(text: str) -> list[str]:
    """Return the terms of the dates in `text`: `2023-05-08` and `2023-05`, each once."""
    terms: dict[str, None] = {}
    for year, month, day in find_dates(text):
        if day is not None:
            terms[f"{year:04}-{month:02}-{day:02}"] = None
        terms[f"{year:04}-{month:02}"] = None
    return list(terms)


def day_number(text: str) -> int | None:
    """Return the proleptic Gregorian ordinal of the first whole date in `text`, such as a path; None without one."""
    for year, month, day in find_dates(text):
        try:
            if day is not None:
                return date(year, month, day).toordinal()
        except ValueError:  # 31 February: not a date after all
            continue
    return None
