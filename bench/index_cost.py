"""What search adds to a write: the same writes in one process, with the index listening and with nobody listening.

The store, the choke point and the use case are the service's own; gRPC is left out, for it would hide the difference.
A write only notes its document; indexing comes with the next search or in the background. Both are told: what a write
waits for, and the work that it leaves behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import corpus
from bench.caller import cpu_seconds
from bench.sample import Round, Sample, round_of, take_turns
from ironclaw_memory.contract.arguments import WriteArguments
from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.safety import SafetyFinding
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index.query import IndexSettings, SearchQuery
from ironclaw_memory.index.search import SearchIndex
from ironclaw_memory.logs import set_up_logs
from ironclaw_memory.memory.changes import ChangeListener, DocumentChanges
from ironclaw_memory.memory.profile import ProfileZone
from ironclaw_memory.memory.write import Writer
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.store.datadir import open_data_dir
from ironclaw_memory.store.documents import DocumentStore, StoreLimits

SCOPE_DOCUMENTS = 400
DOCUMENT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class IndexCostJob:
    """What to measure: turns, and writes a turn, in a folder to be made."""

    folder: str
    rounds: int
    writes: int


@dataclass(frozen=True, slots=True)
class IndexCost:
    """Writes with and without the index.

    Attributes:
        without, noted: writes without the index, and with it.
        indexing_us: what indexing one written document takes afterwards, in microseconds.
    """

    without: Sample
    noted: Sample
    indexing_us: float


class NullIndex:
    """Nobody listening."""

    def note_changed(self, scope: Scope, path: DocumentPath) -> None:
        """Do nothing."""


class NullRecorder:
    """Keeps no safety events."""

    def record(self, finding: SafetyFinding) -> None:
        """Do nothing."""


def measure_index_cost(job: IndexCostJob) -> IndexCost:
    """Write with and without the index, in turns."""
    folder = corpus.new_data_dir(Path(job.folder))
    scopes = {name: corpus.SeededScope(name, SCOPE_DOCUMENTS) for name in ("without", "noted")}
    for scope in scopes.values():
        corpus.seed_scope(folder, scope)
    store = DocumentStore(open_data_dir(folder), StoreLimits())
    # No background: it would index during turns in which it isn't measured.
    index = SearchIndex(store, IndexSettings(background_seconds=0))
    try:
        return _compare(job, store, index, scopes)
    finally:
        index.close()


def _compare(
    job: IndexCostJob, store: DocumentStore, index: SearchIndex, scopes: dict[str, corpus.SeededScope]
) -> IndexCost:
    _catch_up(index, scopes["noted"].scope)
    left_behind: list[float] = []

    def write_and_index() -> Round:
        taken = noted()
        started = time.perf_counter()
        _catch_up(index, scopes["noted"].scope)
        left_behind.append((time.perf_counter() - started) / job.writes * 1e6)
        return taken

    without = _writes(store, NullIndex(), scopes["without"], job.writes)
    noted = _writes(store, index, scopes["noted"], job.writes)
    samples = take_turns({"without": without, "noted": write_and_index}, job.rounds)
    return IndexCost(samples["without"], samples["noted"], sorted(left_behind)[len(left_behind) // 2])


def _catch_up(index: SearchIndex, scope: Scope) -> None:
    index.search(scope, SearchQuery(corpus.make_query(0)))
    index.stats(scope)


def _writes(
    store: DocumentStore, listener: ChangeListener, scope: corpus.SeededScope, count: int
) -> Callable[[], Round]:
    policy = PromptWritePolicy(Scanner(), ())
    writer = Writer(DocumentChanges(store, listener, policy, DOCUMENT_BYTES), ProfileZone(store))
    texts = iter(range(1_000_000, 2_000_000))

    def turn() -> Round:
        latencies: list[float] = []
        arguments = [_replacement(number, next(texts)) for number in range(count)]
        cpu, started = cpu_seconds(), time.perf_counter()
        for each in arguments:
            began = time.perf_counter()
            writer.write(_call(scope.scope), each)
            latencies.append(time.perf_counter() - began)
        return round_of(latencies, time.perf_counter() - started, cpu_seconds() - cpu)

    return turn


def _replacement(number: int, text: int) -> WriteArguments:
    path = corpus.document_path(number % SCOPE_DOCUMENTS)
    return WriteArguments(target=path, content=corpus.make_text(text), append=False)


def _call(scope: Scope) -> Call:
    return Call(scope, None, None, "bench", Deadline.after(10.0), NullRecorder())


def run_index_cost(job: IndexCostJob) -> IndexCost:
    """Do the job in a worker, without log lines between the tables."""
    set_up_logs("error")
    return measure_index_cost(job)
