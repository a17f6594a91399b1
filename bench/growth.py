"""How calls grow: with the documents of a scope, and with the number of scopes.

One caller at a time, since what is asked is how long a call takes, not how many fit. All sizes are in one data folder
behind one server and measured in turns. Writing comes last, so that no search pays for what was written to measure.

Of many scopes at most `VISITED_SCOPES` are called, spread over all of them: the calls of a run reach no more. The rest
are there for what grows with their number, folders and the file system's own caches, and hold a document each.
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
from bench.rig import LIFECYCLE, SERVICE, Prepare, Rig
from bench.sample import Round, Sample, take_turns

OPERATIONS: Mapping[str, Callable[..., list[Prepared]]] = {
    "Read": corpus.reads,
    "Tree": corpus.trees,
    "Search": corpus.searches,
    "RetrieveContext": corpus.contexts,
    "Write": corpus.writes,
}
SERVICES: Mapping[str, str] = {"RetrieveContext": LIFECYCLE}
"""Whose methods they are, where not the tools'."""
SCOPE_DOCUMENTS = 10
VISITED_SCOPES = 2_000
BUILD_SECONDS = 1_200.0
SCOPES_A_JOB = 500
"""Whose indices are built in one job; a job may not take for ever."""

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
    room = ("--scope-documents", str(2 * max(rig.plan.documents)))
    with product(data_dir, *room) as service:
        indices = {size: build_index(rig, service, data_dir, scope, text_bytes[size]) for size, scope in scopes.items()}
        samples = {
            name: take_turns_by_size(
                {size: _calls(rig, service, name, partial(prepare, scope)) for size, scope in scopes.items()},
                rig.plan.rounds,
            )
            for name, prepare in OPERATIONS.items()
        }
        return samples, indices, service.resident_mib()


def measure_scopes(rig: Rig) -> tuple[BySize, float]:
    """Return samples by operation and number of scopes, called in random order, and the resident MiB afterwards."""
    data_dir = corpus.new_data_dir(rig.folder / "scopes")
    chosen = _seed_scopes(data_dir, rig.plan.scopes)
    with product(data_dir) as service:
        _search_each(rig, service, list(dict.fromkeys(scope for scopes in chosen.values() for scope in scopes)))
        samples = {
            name: take_turns_by_size(
                {count: _over_scopes(rig, service, name, scopes) for count, scopes in chosen.items()}, rig.plan.rounds
            )
            for name in OPERATIONS
        }
        return samples, service.resident_mib()


def _seed_scopes(data_dir: Path, counts: Sequence[int]) -> Mapping[int, Sequence[corpus.SeededScope]]:
    """Make as many scopes as the largest of the counts, and return which are called for each count."""
    numbers = {count: range(0, count, max(1, count // VISITED_SCOPES)) for count in counts}
    called = {number for each in numbers.values() for number in each}
    for number in range(max(counts)):
        if number in called:
            corpus.seed_scope(data_dir, _scope(number))
        else:
            corpus.seed_bystander(data_dir, _scope(number))
    return {count: [_scope(number) for number in each] for count, each in numbers.items()}


def _scope(number: int) -> corpus.SeededScope:
    """Return a scope by its number: a hundred users a tenant, so that both kinds of folder grow."""
    return corpus.SeededScope(f"tenant-{number // 100}", SCOPE_DOCUMENTS, f"user-{number % 100}")


def _calls(rig: Rig, service: ServerProcess, name: str, prepare: Prepare) -> Callable[[], Round]:
    return rig.calls(service, name, prepare, 1, service=SERVICES.get(name, SERVICE))


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
    rig.call(service, _one_search(service, [scope]))  # compares with the files for the first time
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

    return _calls(rig, service, name, prepare)
