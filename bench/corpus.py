"""Documents and questions to measure with, and how they get into a data folder: as plain files, which is legal.

Words are made up and drawn with the unevenness of a text's content words: the most frequent of 5,000 is in about three
documents of ten, most are in one of a hundred. Everything follows from fixed seeds, so two runs see the same texts.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path

from bench.caller import Metadata, Prepared
from ironclaw.memory.v1 import lifecycle_service_pb2 as lifecycle
from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store import layout
from ironclaw_memory.store.datadir import open_data_dir

WORDS = 5_000
LINES, WORDS_A_LINE = 8, 10
DOCUMENTS_A_FOLDER = 100
QUERY_WORDS = 3
REQUESTS = 512
CONTEXT_SNIPPETS = 8
RECORDED_RUNS = 50
"""Different requests that a turn of calls repeats."""

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Return the words, most frequent first, and their cumulative weights (Zipf and Mandelbrot, shifted by 50)."""
    chosen = random.Random(1)
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(chosen.choices(_SYLLABLES, k=chosen.randint(2, 4)))] = None
    return list(words), list(accumulate(1 / (rank + 50) for rank in range(WORDS)))


@lru_cache(maxsize=100)
def make_text(seed: int) -> str:
    """Return a document of eight lines, about 600 bytes."""
    chosen = random.Random(seed)
    words, weights = vocabulary()
    lines = (" ".join(chosen.choices(words, cum_weights=weights, k=WORDS_A_LINE)) for _ in range(LINES))
    return "".join(f"- {line}.\n" for line in lines)


def make_query(seed: int) -> str:
    """Return a question of three words, drawn as the documents' words are."""
    words, weights = vocabulary()
    return " ".join(random.Random(-seed - 1).choices(words, cum_weights=weights, k=QUERY_WORDS))


def document_path(number: int) -> str:
    """Return the path of a seeded document: two folders deep, a hundred documents a folder."""
    return f"notes/part-{number // DOCUMENTS_A_FOLDER:03}/note-{number:05}.md"


@dataclass(frozen=True, slots=True)
class SeededScope:
    """A scope with documents in it.

    Attributes:
        tenant: its tenant.
        documents: how many there are.
        user: its user.
    """

    tenant: str
    documents: int
    user: str = "bench"

    @property
    def metadata(self) -> Metadata:
        """What a call about it carries."""
        return (("x-ironclaw-tenant-id", self.tenant), ("x-ironclaw-user-id", self.user))

    @property
    def scope(self) -> Scope:
        """The checked value."""
        return Scope(self.tenant, self.user, None, None)

    def folder(self, data_dir: Path) -> Path:
        """Return where it lies."""
        return data_dir.joinpath(*(name.decode("ascii") for name in layout.scope_names(self.scope)))


def new_data_dir(path: Path) -> Path:
    """Make a data folder as the service would, so that files may be put into it."""
    return open_data_dir(path).path


def seed_scope(data_dir: Path, scope: SeededScope) -> int:
    """Write a scope's documents as files and return the size of their texts in bytes.

    The folders beside them are made too, so that no first write pays for making the scope.
    """
    root = scope.folder(data_dir)
    parts = (layout.HISTORY, layout.METADATA, layout.REQUESTS, layout.LOCKS, layout.INDEX)
    for part in (layout.DOCUMENTS, *parts):
        _make_folder(data_dir, root / part.decode("ascii"))
    _write_ids(root, scope)
    return sum(_seed_document(data_dir, root, number) for number in range(scope.documents))


def seed_bystander(data_dir: Path, scope: SeededScope) -> None:
    """Make a scope that nobody will call, with one document."""
    root = scope.folder(data_dir)
    (root / "documents").mkdir(mode=0o700, parents=True)
    _write_ids(root, scope)
    _seed_document(data_dir, root, 0)


def _write_ids(root: Path, scope: SeededScope) -> None:
    ids = {"tenant": scope.tenant, "user": scope.user, "agent": None, "project": None}
    (root / "scope.json").write_text(json.dumps(ids, indent=2) + "\n", "ascii")


def _seed_document(data_dir: Path, root: Path, number: int) -> int:
    file = root / "documents" / document_path(number)
    if number % DOCUMENTS_A_FOLDER == 0:
        _make_folder(data_dir, file.parent)
    return file.write_bytes(make_text(number).encode("ascii"))


def _make_folder(data_dir: Path, folder: Path) -> None:
    for ancestor in (*reversed(folder.relative_to(data_dir).parents), folder.relative_to(data_dir)):
        (data_dir / ancestor).mkdir(mode=0o700, exist_ok=True)


def reads(scope: SeededScope, turn: int, count: int = REQUESTS) -> list[Prepared]:
    """Return requests for documents of the scope, drawn evenly."""
    chosen = random.Random(turn)
    numbers = (chosen.randrange(scope.documents) for _ in range(count))
    return [(wire.ReadRequest(path=document_path(n)).SerializeToString(), scope.metadata) for n in numbers]


def writes(scope: SeededScope, turn: int, count: int = REQUESTS, written: int = 10) -> list[Prepared]:
    """Return requests that each replace one of `written` documents of the scope by another text of about its size.

    They are spread over the scope and the same in each turn, so that scopes of any size compare: a document's first
    versions cost an fsync more, and a larger scope would have more first versions. Every document comes at least twice,
    with different texts, and no two turns share a text. So however often the requests are repeated, each changes its
    document: writing what is already there would cost next to nothing.
    """
    chosen = random.Random(turn)
    step = max(1, scope.documents // written)
    targets = range(0, scope.documents, step)[:written]
    numbers = [chosen.choice(targets) for _ in range(count // 2)] * 2
    return [
        (
            wire.WriteRequest(
                target=document_path(number), content=make_text((turn + 1) * 1_000_000 + place), append=False
            ).SerializeToString(),
            scope.metadata,
        )
        for place, number in enumerate(numbers)
    ]


def searches(scope: SeededScope, turn: int, count: int = REQUESTS) -> list[Prepared]:
    """Return requests that ask the scope different questions."""
    return [
        (wire.SearchRequest(query=make_query(turn * REQUESTS + n)).SerializeToString(), scope.metadata)
        for n in range(count)
    ]


def contexts(scope: SeededScope, turn: int, count: int = REQUESTS) -> list[Prepared]:
    """Return requests for the block before a turn, on the questions that `searches` asks."""
    return [
        (
            lifecycle.RetrieveContextRequest(
                query=make_query(turn * REQUESTS + n), max_snippets=CONTEXT_SNIPPETS
            ).SerializeToString(),
            scope.metadata,
        )
        for n in range(count)
    ]


def records(scope: SeededScope, turn: int, count: int = REQUESTS) -> list[Prepared]:
    """Return requests that each record a short exchange; a run that comes again is overwritten by another text."""
    chosen = random.Random(turn)
    thread = (*scope.metadata, ("x-ironclaw-thread-id", "bench"))
    return [
        (
            lifecycle.RecordInteractionRequest(
                turn_run_id=f"run-{chosen.randrange(RECORDED_RUNS)}",
                messages=[
                    lifecycle.InteractionMessage(role="MESSAGE_ROLE_USER", content=make_query(turn * REQUESTS + n)),
                    lifecycle.InteractionMessage(role="MESSAGE_ROLE_ASSISTANT", content=make_text(turn * REQUESTS + n)),
                ],
            ).SerializeToString(),
            thread,
        )
        for n in range(count)
    ]


def trees(scope: SeededScope, turn: int, count: int = REQUESTS) -> list[Prepared]:
    """Return requests to list one folder of the scope, of a hundred documents or all there are."""
    chosen = random.Random(turn)
    folders = (chosen.randrange(0, scope.documents, DOCUMENTS_A_FOLDER) for _ in range(count))
    return [
        (wire.TreeRequest(path=document_path(n).rpartition("/")[0]).SerializeToString(), scope.metadata)
        for n in folders
    ]
