"""What a turn reads of memory (contract 3): the question, the two lanes, and what is put into a prompt. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .argument_rules import MAX_QUERY_BYTES
from .faults import InvalidArguments, Reason

MAX_SNIPPETS: Final = 50
SNIPPET_BYTES: Final = 512
"""The most bytes of a snippet; in a prompt, its envelope included."""
BLOCK_BYTES: Final = 4096
"""The most bytes that memory may take of a prompt: about a thousand tokens a turn."""
DISABLED_PROFILES: Final = frozenset({"memory_disabled", "memory-disabled", "disabled_context", "context_disabled"})


class Lane(StrEnum):
    """Where a snippet comes from. The wire's enum is `CONTEXT_LANE_` and the member's name."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"


@dataclass(frozen=True, slots=True)
class LaneQuery:
    """What a turn asks of memory.

    Attributes:
        query: any text; blank finds nothing.
        max_snippets: the most snippets of a lane; made with any number, holds 0 to 50.
        context_profile_id: the host's name for how context is built.

    Raises:
        InvalidArguments: the query is over 4,096 bytes or holds NUL.
    """

    query: str
    max_snippets: int
    context_profile_id: str = ""

    def __post_init__(self) -> None:
        if "\0" in self.query:
            raise InvalidArguments("query must not hold a NUL character.", field="query")
        if len(self.query) > MAX_QUERY_BYTES or len(self.query.encode("utf-8")) > MAX_QUERY_BYTES:
            raise InvalidArguments(f"query is longer than {MAX_QUERY_BYTES} bytes.", field="query")
        object.__setattr__(self, "max_snippets", max(0, min(self.max_snippets, MAX_SNIPPETS)))

    @property
    def is_disabled(self) -> bool:
        """Whether nothing at all is to be read."""
        return self.max_snippets == 0 or self.context_profile_id in DISABLED_PROFILES


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage as it stands in its document: where, and its text of at most 512 bytes."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class LongTerm:
    """The long-term lane.

    Attributes:
        snippets: the chunks of `MEMORY.md`, then the passages that match, best first.
        standing_lines_omitted: how many lines of `MEMORY.md` found no room.
    """

    snippets: tuple[Snippet, ...] = ()
    standing_lines_omitted: int = 0


@dataclass(frozen=True, slots=True)
class ContextSnippet:
    """A passage in its envelope, at most 512 bytes with it; `path` is the document's whole path."""

    lane: Lane
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class LaneReport:
    """How reading a lane went; `failure` is None when all of it could be read."""

    lane: Lane
    failure: Reason | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What goes into the prompt.

    Attributes:
        snippets: the parts of the block, short-term first.
        block: the snippets, one after another, at most 4,096 bytes.
        dropped_snippets: how many passages were withheld because they try to instruct the model.
        lanes: one report a lane, short-term first.
        standing_lines_omitted: how many lines of `MEMORY.md` found no room.
    """

    snippets: tuple[ContextSnippet, ...] = ()
    block: str = ""
    dropped_snippets: int = 0
    lanes: tuple[LaneReport, ...] = (LaneReport(Lane.SHORT_TERM), LaneReport(Lane.LONG_TERM))
    standing_lines_omitted: int = 0
