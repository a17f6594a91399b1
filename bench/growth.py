"""How calls grow: with the documents of a scope, and with the number of scopes.

One caller at a time, since what is asked is how long a call takes, not how many fit. All sizes are in one data folder
behind one server and measured in turns.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import corpus
from bench.caller import CallJob, Prepared
from bench.processes import ServerProcess, product
from bench.rig import SERVICE, Rig
from bench.sample import Round, Sample, take_turns

OPERATIONS: Mapping[str, Callable[..., list[Prepared]]] = {
    "Read": corpus.reads,
    "Write": corpus.writes,
    "Search": corpus.searches,
    "Tree": corpus.trees,
}
SCOPE_DOCUMENTS = 10
BUILD_SECONDS = 240.0
SCOPES_A_JOB = 500
"""Whose indices are built in one job; a job may not take for ever."""

ROOM = ("--scope-documents", "20000")

BySize = Mapping[str, Mapping[int, Sample]]


@dataclass(frozen=True, slots=True)
class IndexSize:
    """The index of a scope.

    Attributes:
        text_bytes: size of the documents' texts.
        index_bytes: size of the index's files.
        build_seconds: from the first search, which finds no index, to the index being in use.
        first_search_ms: how long that first search took to answer, from the files.
    """

    text_bytes: int
    index_bytes: int
    build_seconds: float
    first_search_ms: float


def measure_documents(rig: Rig) -> tuple[BySize, Mapping[int, IndexSize], float]:
    """Return samples by operation and documents a scope, the indices, and the server's resident MiB afterwards."""
    data_dir = corpus.new_data_dir(rig.folder / "documents")
    scopes = {size: corpus.SeededScope(f"documents-{size}", size) for size in rig.plan.documents}
    text_bytes = {size: corpus.seed_scope(data_dir, scope) for size, scope in scopes.items()}
    with product(data_dir, *ROOM) as service:
        indices = {size: build_index(rig, service, data_dir, scope, text_bytes[size]) for size, scope in scopes.items()}
        samples = {
            name: take_turns_by_size(
                {size: rig.calls(service, name, partial(prepare, scope), 1) for size, scope in scopes.items()},
                rig.plan.rounds,
            )
            for name, prepare in OPERATIONS.items()
        }
        return samples, indices, service.resident_mib()


def measure_scopes(rig: Rig) -> tuple[BySize, float]:
    """Return samples by operation and number of scopes, called in random order, and the resident MiB afterwards."""
    data_dir = corpus.new_data_dir(rig.folder / "scopes")
    scopes = [corpus.SeededScope(f"scope-{n}", SCOPE_DOCUMENTS) for n in range(max(rig.plan.scopes))]
    for scope in scopes:
        corpus.seed_scope(data_dir, scope)
    with product(data_dir) as service:
        _search_each(rig, service, scopes)
        samples = {
            name: take_turns_by_size(
                {count: _over_scopes(rig, service, name, scopes[:count]) for count in rig.plan.scopes}, rig.plan.rounds
            )
            for name in OPERATIONS
        }
        return samples, service.resident_mib()


def take_turns_by_size(subjects: Mapping[int, Callable[[], Round]], rounds: int) -> dict[int, Sample]:
    """Measure the sizes in turns."""
    samples = take_turns({str(size): subject for size, subject in subjects.items()}, rounds)
    return {int(size): sample for size, sample in samples.items()}


def build_index(
    rig: Rig, service: ServerProcess, data_dir: Path, scope: corpus.SeededScope, text_bytes: int
) -> IndexSize:
    """Search a scope until its index is in use, and return what became of it.

    Raises:
        RuntimeError: the index wasn't ready in time.
    """
    folder = scope.folder(data_dir) / "index"
    started = time.perf_counter()
    first = rig.call(service, _one_search(service, [scope]))
    while not (folder / "current").exists():
        if time.perf_counter() - started > BUILD_SECONDS:
            raise RuntimeError("the index isn't built")
        time.sleep(0.02)
    seconds = time.perf_counter() - started
    rig.call(service, _one_search(service, [scope]))
    size = sum(file.stat().st_size for file in folder.iterdir())
    return IndexSize(text_bytes, size, seconds, first.seconds * 1e3)


def _one_search(service: ServerProcess, scopes: Sequence[corpus.SeededScope]) -> CallJob:
    requests = [corpus.searches(scope, 0, count=1)[0] for scope in scopes]
    return CallJob(service.address, f"{SERVICE}/Search", requests, 1, 0.0, once=True)


def _search_each(rig: Rig, service: ServerProcess, scopes: Sequence[corpus.SeededScope]) -> None:
    for first in range(0, len(scopes), SCOPES_A_JOB):
        rig.call(service, _one_search(service, scopes[first : first + SCOPES_A_JOB]))


def _over_scopes(
    rig: Rig, service: ServerProcess, name: str, scopes: Sequence[corpus.SeededScope]
) -> Callable[[], Round]:
    # As many requests as there are scopes at least, so that no scope is called again while it must still be open.
    each = max(2, corpus.REQUESTS // len(scopes))

    def prepare(turn: int) -> list[Prepared]:
        requests = [request for scope in scopes for request in OPERATIONS[name](scope, turn, count=each)]
        random.Random(turn).shuffle(requests)
        return requests

    return rig.calls(service, name, prepare, 1)
