"""What a call costs beside an empty handler, a durable write beside the bare file protocol, a search beside FTS5."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from bench import corpus
from bench.bare_search import SearchJob, search_repeatedly
from bench.bare_write import DOCUMENTS, WriteJob, write_repeatedly
from bench.processes import ServerProcess, Worker, product, worker
from bench.rig import LIFECYCLE, Rig
from bench.sample import Round, Sample, take_turns

EMPTY, SURROUNDED, READ, SEARCH, TREE = "empty handler", "empty, intercepted", "Read", "Search", "Tree"
CONTEXT, RECORD = "RetrieveContext", "RecordInteraction"
BARE_SEARCH = "bare FTS query"
WRITE, WRITE_ONCE, BARE_WRITE = "Write", "Write, request id", "bare file protocol"
FLOORS: Final = {WRITE: BARE_WRITE, WRITE_ONCE: BARE_WRITE, SEARCH: BARE_SEARCH, CONTEXT: BARE_SEARCH}
"""What does the same work without a service around it."""
SCOPE_DOCUMENTS = 100

ByConcurrency = Mapping[int, Mapping[str, Sample]]


def measure_throughput(rig: Rig) -> tuple[ByConcurrency, float]:
    """Return the samples by concurrency and subject, and the service's resident MiB after all of it."""
    scope = corpus.SeededScope("throughput", SCOPE_DOCUMENTS)
    data_dir = corpus.new_data_dir(rig.folder / "throughput")
    corpus.seed_scope(data_dir, scope)
    with (
        ServerProcess("-m", "bench.reference", "bare", str(rig.folder / "bare")) as bare,
        ServerProcess("-m", "bench.reference", "surrounded", str(rig.folder / "surrounded")) as surrounded,
        product(data_dir) as service,
        worker(write_repeatedly) as writer,
        worker(search_repeatedly) as searcher,
    ):
        samples = {
            concurrency: take_turns(
                _subjects(rig, concurrency, scope, bare, surrounded, service, writer, searcher), rig.plan.rounds
            )
            for concurrency in rig.plan.concurrency
        }
        return samples, service.resident_mib()


def _subjects(
    rig: Rig,
    concurrency: int,
    scope: corpus.SeededScope,
    bare: ServerProcess,
    surrounded: ServerProcess,
    service: ServerProcess,
    writer: Worker,
    searcher: Worker,
) -> dict[str, Callable[[], Round]]:
    reads = partial(corpus.reads, scope)
    writes = partial(corpus.writes, scope, written=DOCUMENTS)
    bare_folder = str(rig.folder / "bare-write")
    turns = itertools.count()

    def search_bare() -> Round:
        database = str(rig.folder / "bare-search" / "lines.sqlite")
        job = SearchJob(database, scope.documents, next(turns), concurrency, rig.plan.seconds)
        outcome: Round = searcher.do(job)
        return outcome

    return {
        EMPTY: rig.calls(bare, "Read", reads, concurrency),
        SURROUNDED: rig.calls(surrounded, "Read", reads, concurrency),
        READ: rig.calls(service, "Read", reads, concurrency),
        BARE_SEARCH: search_bare,
        SEARCH: rig.calls(service, "Search", partial(corpus.searches, scope), concurrency),
        CONTEXT: rig.calls(service, CONTEXT, partial(corpus.contexts, scope), concurrency, service=LIFECYCLE),
        TREE: rig.calls(service, "Tree", partial(corpus.trees, scope), concurrency),
        BARE_WRITE: lambda: writer.do(WriteJob(bare_folder, concurrency, rig.plan.seconds)),
        WRITE: rig.calls(service, "Write", writes, concurrency),
        WRITE_ONCE: rig.calls(service, "Write", writes, concurrency, with_ids=True),
        RECORD: rig.calls(service, RECORD, partial(corpus.records, scope), concurrency, service=LIFECYCLE),
    }
