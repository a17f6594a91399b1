"""What a call costs beside an empty handler, and a durable write beside the bare file protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from bench import corpus
from bench.bare_write import DOCUMENTS, WriteJob, write_repeatedly
from bench.processes import ServerProcess, Worker, product, worker
from bench.rig import LIFECYCLE, Rig
from bench.sample import Round, Sample, take_turns

EMPTY, SURROUNDED, READ, SEARCH, TREE = "empty handler", "empty, intercepted", "Read", "Search", "Tree"
CONTEXT, RECORD = "RetrieveContext", "RecordInteraction"
WRITE, WRITE_ONCE, BARE_WRITE = "Write", "Write, request id", "bare file protocol"
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
    ):
        samples = {
            concurrency: take_turns(
                _subjects(rig, concurrency, scope, bare, surrounded, service, writer), rig.plan.rounds
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
) -> dict[str, Callable[[], Round]]:
    reads = partial(corpus.reads, scope)
    writes = partial(corpus.writes, scope, written=DOCUMENTS)
    bare_folder = str(rig.folder / "bare-write")
    return {
        EMPTY: rig.calls(bare, "Read", reads, concurrency),
        SURROUNDED: rig.calls(surrounded, "Read", reads, concurrency),
        READ: rig.calls(service, "Read", reads, concurrency),
        SEARCH: rig.calls(service, "Search", partial(corpus.searches, scope), concurrency),
        CONTEXT: rig.calls(service, CONTEXT, partial(corpus.contexts, scope), concurrency, service=LIFECYCLE),
        TREE: rig.calls(service, "Tree", partial(corpus.trees, scope), concurrency),
        BARE_WRITE: lambda: writer.do(WriteJob(bare_folder, concurrency, rig.plan.seconds)),
        WRITE: rig.calls(service, "Write", writes, concurrency),
        WRITE_ONCE: rig.calls(service, "Write", writes, concurrency, with_ids=True),
        RECORD: rig.calls(service, RECORD, partial(corpus.records, scope), concurrency, service=LIFECYCLE),
    }
