"""What a question recalls through the running service, and the figures by which that is judged.

Both evaluations and the test that holds the index to its recall ask in this one way: `Search` for the order of the
documents, `RetrieveContext` for what a prompt would get. Nothing here knows what is asked or which answers are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.processes import product
from ironclaw_memory_client import MemoryClient
from ironclaw_memory_client.scope import Scope

RESULTS = 20
"""Documents asked for: as many as the search tool shows."""
SNIPPETS = 50
CALL_SECONDS = 60.0
COLUMNS = ("hit@1", "hit@5", "MRR", "evidence", "all of it", "content")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text that answers a question, and the document it stands in."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Figures:
    """One question's figures.

    Attributes:
        rank: of the first document with evidence, from 1; 0 when none is among the results.
        share: how much of the evidence is in the context that a prompt would get, from 0 to 1.
        content: how much of it is in the `content` of the first five results.
    """

    rank: int
    share: float
    content: float

    def columns(self) -> tuple[float, ...]:
        """Return the figures in the order of `COLUMNS`."""
        first, five = self.rank == 1, 1 <= self.rank <= 5
        reciprocal = 1 / self.rank if self.rank else 0.0
        return float(first), float(five), reciprocal, self.share, float(self.share == 1), self.content


@dataclass
class Table:
    """Figures by group."""

    groups: dict[str, list[Figures]] = field(default_factory=dict)

    def add(self, figures: Figures, *names: str) -> None:
        """Count a question in each of the named groups."""
        for name in names:
            self.groups.setdefault(name, []).append(figures)

    def means(self, name: str) -> dict[str, float]:
        """Return the means of a group by column."""
        rows = [figures.columns() for figures in self.groups[name]]
        return {column: sum(each) / len(rows) for column, each in zip(COLUMNS, zip(*rows, strict=True), strict=True)}

    def lines(self) -> Iterator[str]:
        """Yield the table, a row a group."""
        width = max(map(len, self.groups))
        yield f"{'':{width}} {'n':>5}" + "".join(f"{column:>11}" for column in COLUMNS)
        for name in self.groups:
            means = "".join(f"{value:11.3f}" for value in self.means(name).values())
            yield f"{name:{width}} {len(self.groups[name]):5}{means}"


class Memory:
    """One user's memory in a running service."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client

    def write(self, documents: Mapping[str, str]) -> None:
        """Store documents by their paths."""
        for path, text in documents.items():
            self._client.write(text, target=path, append=False)

    def ask(self, question: str, evidence: Iterable[Evidence]) -> Figures:
        """Ask one question and judge what comes back.

        White space counts as one blank on both sides: a block has no blank lines, whatever the document has.
        """
        evidence = list(evidence)
        found = self._client.search(question, limit=RESULTS).results
        block = _even(self._client.retrieve_context(question, max_snippets=SNIPPETS).block)
        wanted = {each.path for each in evidence}
        contents = {hit.path: _even(hit.content) for hit in found[:5]}
        return Figures(
            rank=next((rank for rank, hit in enumerate(found, 1) if hit.path in wanted), 0),
            share=sum(_even(each.text) in block for each in evidence) / len(evidence),
            content=sum(_even(each.text) in contents.get(each.path, "") for each in evidence) / len(evidence),
        )


def _even(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def open_memories(data_dir: Path) -> Iterator[Iterator[Memory]]:
    """Start a service on loopback over an empty folder; yield as many empty memories as are asked for."""
    with product(data_dir) as server, MemoryClient(server.address, Scope("eval", "0"), deadline=CALL_SECONDS) as client:
        yield (Memory(client.with_scope(user=f"user-{number}")) for number in range(1_000_000))
