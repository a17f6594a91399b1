"""What goes into the prompt before a turn: both lanes, each passage made harmless and in its envelope, as one block.

The block has 4,096 bytes, and how they are given out decides what an agent remembers:

1. MEMORY.md is served first: it is what the user wants known in every turn.
2. The active thread may take half of what is left.
3. The best passages of all documents take the rest, a later one where a better one is too long.
4. The thread takes what they leave.

In the block the thread stands first, then MEMORY.md, then the passages. A text that tries to instruct the model is
withheld by itself, in MEMORY.md line by line, and an event tells of it; what else is in its document stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

import structlog

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.faults import DocumentNotText, Fault, Reason
from ironclaw_memory.contract.lanes import (
    BLOCK_BYTES,
    SNIPPET_BYTES,
    Context,
    ContextSnippet,
    Lane,
    LaneQuery,
    LaneReport,
    Snippet,
)
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.safety import SafetyFinding
from ironclaw_memory.memory.lanes import STANDING_PATH, LaneReader
from ironclaw_memory.memory.standing import StandingDocument, StandingLines, pack_lines
from ironclaw_memory.safety import envelope
from ironclaw_memory.safety.recall import RecallGuard

JOINT: Final = "\n"
_STANDING_BYTES: Final = 4096
"""Of MEMORY.md this much is made fit for a prompt, at least: twice what can be shown of it."""
_ROUNDS: Final = 8
"""How often MEMORY.md is packed anew after lines were withheld: each time, others move up."""

_PASSAGE_BYTES: Final = envelope.passage_bytes(SNIPPET_BYTES)
"""Passages are asked for at the size at which none has to be cut: what was cut off might be what matched."""

_NO_SNIPPETS: tuple[Snippet, ...] = ()
Part = TypeVar("Part")
log = structlog.get_logger("ironclaw_memory.context")


class ContextBuilder:
    """Builds the block for turns of one scope at a time.

    Args:
        lanes: reads memory.
        guard: says what must be withheld.
    """

    def __init__(self, lanes: LaneReader, guard: RecallGuard) -> None:
        self._lanes = lanes
        self._guard = guard

    def retrieve(self, call: Call, query: LaneQuery) -> Context:
        """Return what to put into the prompt. A lane that fails is empty, or has what could be read, and says so."""
        if query.is_disabled:
            return Context()
        lines, standing_failure = _attempt(lambda: self._standing_lines(call), StandingLines())
        passages, search_failure = _attempt(
            lambda: self._lanes.long_term_passages(call, query, query.max_snippets, _PASSAGE_BYTES), _NO_SNIPPETS
        )
        recent, short_failure = _attempt(
            lambda: self._lanes.short_term_passages(call, query, _PASSAGE_BYTES), _NO_SNIPPETS
        )
        screen = _Screen(self._guard, call)
        block = _Block(screen)
        standing = self._fill(block, query, lines, passages, recent)
        snippets = block.in_order()
        return Context(
            snippets=snippets,
            block=JOINT.join(snippet.text for snippet in snippets),
            dropped_snippets=screen.withheld,
            lanes=(
                LaneReport(Lane.SHORT_TERM, short_failure),
                LaneReport(Lane.LONG_TERM, standing_failure or search_failure),
            ),
            standing_lines_omitted=standing.omitted_lines,
        )

    def _standing_lines(self, call: Call) -> StandingLines:
        """Return the lines of MEMORY.md; one that isn't text is for a person to mend and no failure of the turn."""
        with suppress(DocumentNotText):
            return self._lanes.standing_lines(call)
        return StandingLines()

    @staticmethod
    def _fill(
        block: _Block,
        query: LaneQuery,
        lines: StandingLines,
        passages: tuple[Snippet, ...],
        recent: tuple[Snippet, ...],
    ) -> StandingDocument:
        """Give out the block's bytes in the order of the rules above; return what is shown of MEMORY.md."""
        standing = block.screen.pack(lines, query.max_snippets)
        block.add(Lane.LONG_TERM, (Snippet(STANDING_PATH.text, chunk) for chunk in standing.chunks), query.max_snippets)
        half = block.room // 2
        block.add(Lane.SHORT_TERM, recent, query.max_snippets, leave=half)
        block.add(Lane.LONG_TERM, passages, query.max_snippets)
        block.add(Lane.SHORT_TERM, recent, query.max_snippets)
        return standing


def _attempt(read: Callable[[], Part], nothing: Part) -> tuple[Part, Reason | None]:
    """Return what could be read and why it couldn't: a turn goes on without its memory."""
    try:
        return read(), None
    except Fault as fault:
        return nothing, fault.reason
    except Exception as error:  # the purpose of this function: a lane's failure is never the turn's
        log.warning("lane failed unexpectedly", error=type(error).__name__)
        return nothing, Reason.INTERNAL


class _Screen:
    """Withholds what tries to instruct the model, counts it, and has events tell of it."""

    def __init__(self, guard: RecallGuard, call: Call) -> None:
        self._guard = guard
        self._recorder = call.safety
        self.withheld = 0

    def pack(self, lines: StandingLines, max_chunks: int) -> StandingDocument:
        """Return MEMORY.md's chunks without the lines that try to instruct, others in their place."""
        lines = _make_fit(lines)
        for _ in range(_ROUNDS):
            standing = pack_lines(lines, max_chunks)
            if all(self._guard.find_hijack(STANDING_PATH, envelope.clean(chunk)) is None for chunk in standing.chunks):
                break
            bad = {line for line in standing.shown if not self.admits(STANDING_PATH, envelope.clean(line))}
            if not bad:  # only together do they instruct: the chunk is withheld as a passage is
                break
            lines = lines.without(bad)
        return standing

    def admits(self, path: DocumentPath, passage: envelope.Passage) -> bool:
        """Tell whether a passage may be shown; one that may not is counted and recorded."""
        finding = self._guard.find_hijack(path, passage)
        if finding is not None:
            self.withheld += 1
            self._record(finding)
        return finding is None

    def _record(self, finding: SafetyFinding) -> None:
        with suppress(Exception):  # the sink counts and logs what it loses; what was withheld stays withheld
            self._recorder.record(finding)


def _make_fit(standing: StandingLines) -> StandingLines:
    """Return the lines with those at the head cleaned together, since a key block goes over several."""
    size = count = 0
    for count, line in enumerate(standing.lines, 1):  # noqa: B007  # how many there were is what the loop is for
        size += len(line)
        if size > _STANDING_BYTES:
            break
    head = envelope.clean("\n".join(standing.lines[:count])).text
    lines = (line.strip() for line in head.split("\n"))
    return StandingLines((*filter(None, lines), *standing.lines[count:]), standing.goes_on)


@dataclass(slots=True)
class _Block:
    """The block while it is filled.

    Attributes:
        screen: looks at each passage before it goes in.
        room: bytes that are left.
    """

    screen: _Screen
    room: int = BLOCK_BYTES
    _snippets: list[ContextSnippet] = field(default_factory=list)
    _seen: set[tuple[Lane, str, str]] = field(default_factory=set)
    _texts: set[str] = field(default_factory=set)

    def add(self, lane: Lane, snippets: Iterable[Snippet], most: int, *, leave: int = 0) -> None:
        """Put in what fits, in its order, at most `most` of a lane, as long as `leave` bytes stay free."""
        taken = sum(snippet.lane is lane for snippet in self._snippets)
        for snippet in snippets:
            if taken >= most:
                return
            if self._may_fit(snippet, leave) and self._take(lane, snippet, leave):
                taken += 1

    def _may_fit(self, snippet: Snippet, leave: int) -> bool:
        """Tell whether it is worth a closer look."""
        return min(len(snippet.text), SNIPPET_BYTES) < self.room - leave

    def _take(self, lane: Lane, snippet: Snippet, leave: int) -> bool:
        key = (lane, snippet.path, snippet.text)
        passage = envelope.clean(snippet.text)
        path = envelope.clean_path(snippet.path)
        if key in self._seen or passage.text in self._texts:
            return False
        text = envelope.wrap(path.text, passage.text, SNIPPET_BYTES)
        cost = len(text.encode("utf-8")) + len(JOINT if self._snippets else "")
        if not passage.text or cost > self.room - leave:
            return False
        self._seen.add(key)
        if not self.screen.admits(DocumentPath(snippet.path), passage if path.is_safe else path):
            return False
        self._texts.add(passage.text)
        self._snippets.append(ContextSnippet(lane, snippet.path, text))
        self.room -= cost
        return True

    def in_order(self) -> tuple[ContextSnippet, ...]:
        """Return what is in it, the thread's passages first, else in the order in which it went in."""
        return tuple(sorted(self._snippets, key=lambda snippet: snippet.lane is not Lane.SHORT_TERM))
