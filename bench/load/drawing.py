"""Draws groups of bars and of latency spans as SVG, coloured by the page's style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 540
LABELS: Final = 128
"""Width of the column of names, left of what is drawn."""
FIGURES: Final = 166
"""Width of the column of figures, right of the bars."""
ROW, GAP, BAR = 20, 14, 13
"""Heights: of a row, between groups, of a bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        share: its length, of the longest.
        value: the figure beside it.
        note: what is said after that.
        colour: a class of the page's style.
    """

    share: float
    value: str
    note: str
    colour: str


@dataclass(frozen=True, slots=True)
class Span:
    """Percentiles of a load's latency, in milliseconds, above 0; `colour` is a class of the page's style."""

    p50: float
    p95: float
    p99: float
    colour: str


def draw_bars(title: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Return groups of horizontal bars, each group under its name at the left."""
    parts, top = [], 4
    for name, bars in groups.items():
        parts.append(_name(name, top, len(bars)))
        parts += [_bar(bar, top + place * ROW) for place, bar in enumerate(bars)]
        top += len(bars) * ROW + GAP
    return _svg(title, parts, top)


def _bar(bar: Bar, top: float) -> str:
    room = WIDTH - LABELS - FIGURES
    y, length = top + (ROW - BAR) / 2, max(2.0, bar.share * room)
    return (
        f'<rect class="track" x="{LABELS}" y="{y}" width="{room}" height="{BAR}" rx="3"/>'
        f'<rect class="fill {bar.colour}" x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3"/>'
        f'<text class="value" x="{WIDTH - FIGURES + 62}" y="{top + 15}" text-anchor="end">{escape(bar.value)}</text>'
        f'<text class="soft" x="{WIDTH - FIGURES + 72}" y="{top + 15}">{escape(bar.note)}</text>'
    )


def draw_spans(title: str, groups: Mapping[str, Sequence[Span]]) -> str:
    """Return the spans of each group over one axis of powers of ten."""
    spans = [span for group in groups.values() for span in group]
    axis = _Axis(min(span.p50 for span in spans), max(span.p99 for span in spans))
    parts, top = [], 4
    for name, group in groups.items():
        parts.append(_name(name, top, len(group)))
        parts += [_span(span, top + (place + 0.5) * ROW, axis) for place, span in enumerate(group)]
        top += len(group) * ROW + GAP
    return _svg(title, [axis.draw(top), *parts], top + 18)


class _Axis:
    def __init__(self, least: float, most: float) -> None:
        self._first, self._last = math.log10(least * 0.8), math.log10(most * 1.2)

    def at(self, value: float) -> float:
        room = WIDTH - LABELS - 24
        return LABELS + 8 + room * (math.log10(value) - self._first) / (self._last - self._first)

    def draw(self, bottom: float) -> str:
        return "".join(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom - 4}"/>'
            f'<text class="soft" x="{x:.1f}" y="{bottom + 11}" text-anchor="middle">{tick:,.12g}</text>'
            for tick in self._ticks()
            for x in [self.at(tick)]
        )

    def _ticks(self) -> list[float]:
        """Return the powers of ten in sight, and where those are few, twice and five times them too."""
        powers = range(math.floor(self._first), math.ceil(self._last) + 1)
        ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        seen = [tick for tick in ticks if self._first <= math.log10(tick) <= self._last]
        tens = [tick for tick in seen if math.log10(tick).is_integer()]
        return tens if len(tens) > 2 else seen


def _span(span: Span, y: float, axis: _Axis) -> str:
    p50, p95, p99 = axis.at(span.p50), axis.at(span.p95), axis.at(span.p99)
    told = f"p50 {span.p50:.1f}, p95 {span.p95:.1f}, p99 {span.p99:.1f} ms"
    return (
        f'<g class="{span.colour}"><title>{told}</title>'
        f'<line class="span edge" x1="{p50:.1f}" x2="{p99:.1f}" y1="{y}" y2="{y}"/>'
        f'<circle class="hollow edge" cx="{p99:.1f}" cy="{y}" r="3.5"/>'
        f'<circle class="hollow edge" cx="{p95:.1f}" cy="{y}" r="3.5"/>'
        f'<circle class="fill" cx="{p50:.1f}" cy="{y}" r="5"/></g>'
    )


def _name(name: str, top: float, rows: int) -> str:
    """Return a group's name beside the middle of its rows; what follows a comma goes into a line of its own."""
    first, _, second = name.partition(", ")
    middle = top + rows * ROW / 2 + 4
    if not second:
        return f'<text class="name" x="0" y="{middle}">{escape(first)}</text>'
    return (
        f'<text class="name" x="0" y="{middle - 8}">{escape(first)}</text>'
        f'<text class="soft" x="0" y="{middle + 8}">{escape(second)}</text>'
    )


def _svg(title: str, parts: Sequence[str], height: float) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
