"""What the service is held to, and whether a run reached it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bench import throughput
from bench.footprint import Footprint
from bench.growth import OPERATIONS, BySize
from bench.index_cost import IndexCost
from bench.throughput import ByConcurrency


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that one run measured.

    Attributes:
        footprint: starts and idle memory.
        calls: by concurrency and subject.
        by_documents, by_scopes: by operation and size.
        index_cost: writes with and without the index.
        loaded_mib: resident memory of a worker after each load, by the load's name.
    """

    footprint: Footprint
    calls: ByConcurrency
    by_documents: BySize
    by_scopes: BySize
    index_cost: IndexCost
    loaded_mib: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Target:
    """One figure that a run is held to.

    Attributes:
        what: the figure in words.
        bound: its limit.
        at_least: whether the limit is the least that is good, else the most.
        measure: finds it in the results, once for each case in words; NaN where the run was too short to know.
    """

    what: str
    bound: float
    at_least: bool
    measure: Callable[[Results], Iterator[tuple[str, float]]]

    def is_reached(self, value: float) -> bool:
        """Whether a figure is good enough."""
        return value >= self.bound if self.at_least else value <= self.bound


def ratio_by_concurrency(subject: str, floor: str) -> Callable[[Results], Iterator[tuple[str, float]]]:
    """Return what compares the rates of two subjects at each concurrency."""

    def measure(results: Results) -> Iterator[tuple[str, float]]:
        for concurrency, samples in results.calls.items():
            yield f"{concurrency} in flight", samples[subject].over(samples[floor])

    return measure


def growth(operation: str) -> Callable[[Results], Iterator[tuple[str, float]]]:
    """Return what compares the median latency at the largest size with that at the smallest, on each axis."""

    def measure(results: Results) -> Iterator[tuple[str, float]]:
        for axis, by_size in (("documents", results.by_documents), ("scopes", results.by_scopes)):
            samples = by_size[operation]
            smallest, largest = min(samples), max(samples)
            yield f"{smallest:,} to {largest:,} {axis}", samples[largest].slower_than(samples[smallest])

    return measure


def _start(results: Results) -> Iterator[tuple[str, float]]:
    yield "median", results.footprint.start


def _memory(results: Results) -> Iterator[tuple[str, float]]:
    yield "idle", results.footprint.idle
    for load, mib in results.loaded_mib.items():
        yield f"after {load}", mib


def _index_cost(results: Results) -> Iterator[tuple[str, float]]:
    cost = results.index_cost
    yield "what a write waits for", cost.noted.slower_than(cost.without)
    yield "its indexing included", (cost.noted.p50_us + cost.indexing_us) / cost.without.p50_us


TARGETS: Final = (
    Target("Read, of an empty handler", 0.9, True, ratio_by_concurrency(throughput.READ, throughput.EMPTY)),
    Target("RetrieveContext, of a Read", 0.5, True, ratio_by_concurrency(throughput.CONTEXT, throughput.READ)),
    Target(
        "Write, of the bare file protocol", 0.7, True, ratio_by_concurrency(throughput.WRITE, throughput.BARE_WRITE)
    ),
    *(Target(f"{operation}'s growth", 1.3, False, growth(operation)) for operation in OPERATIONS),
    Target("Write with the index, of one without", 1.5, False, _index_cost),
    Target("start to ready, s", 1.5, False, _start),
    Target("resident memory of a worker, MiB", 120.0, False, _memory),
)


def bound_by_grpc(empty: float, bare: float) -> float:
    """Return the ratio that a write can reach at best: an empty call and then the bare protocol, and nothing else.

    It is exact for one caller, whose call does one after the other, and near for many, who share one interpreter.

    Args:
        empty: empty calls a second.
        bare: bare writes a second.
    """
    return 1 / (1 + bare / empty) if empty else math.nan
