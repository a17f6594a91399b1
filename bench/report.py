"""Prints a run as tables in plain text, fit to be pasted into `docs/benchmarks.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence

import grpc

from bench import throughput
from bench.footprint import Footprint
from bench.growth import BySize, IndexSize
from bench.index_cost import IndexCost
from bench.sample import Sample
from bench.targets import TARGETS, Results, bound_by_grpc
from bench.throughput import ByConcurrency

Row = Sequence[str]


def print_table(title: str, header: Row, rows: Sequence[Row]) -> None:
    """Print rows under a title; the first column to the left, figures to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  " + "  ".join(cells))


def figure(value: float) -> str:
    """Return a figure with three digits or so."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_machine() -> None:
    """Say what the figures depend on."""
    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, grpcio {grpc.__version__}; "
        f"load average before the run {load:.1f}"
    )


def print_footprint(footprint: Footprint) -> None:
    """Print start and memory."""
    starts = ", ".join(f"{seconds:.2f}" for seconds in footprint.start_seconds)
    print(f"\nStart to ready: median {footprint.start:.2f} s ({starts}); resident then {footprint.idle:.0f} MiB")


def print_calls(calls: ByConcurrency) -> None:
    """Print rates, latencies and CPU for each concurrency, and the ratios."""
    for concurrency, samples in calls.items():
        title = f"Calls, {concurrency} in flight (latency and CPU in microseconds)"
        header = ("", "calls/s", "p50", "p99", "server CPU", "caller CPU", "of empty", "of bare")
        print_table(title, header, [_call_row(name, samples) for name in samples])
        bound = bound_by_grpc(samples[throughput.EMPTY].rate, samples[throughput.BARE_WRITE].rate)
        print(f"  An empty call and a bare write, one after the other, would be {bound:.2f} of the bare protocol.")


def _call_row(name: str, samples: Mapping[str, Sample]) -> Row:
    sample = samples[name]
    is_bare = name in throughput.FLOORS.values()
    floor = throughput.FLOORS.get(name)
    return (
        name,
        figure(sample.rate),
        figure(sample.p50_us),
        figure(sample.p99_us),
        figure(sample.caller_us if is_bare else sample.server_us),
        "" if is_bare else figure(sample.caller_us),
        "" if is_bare else f"{sample.over(samples[throughput.EMPTY]):.2f}",
        f"{sample.over(samples[floor]):.2f}" if floor else "",
    )


def print_growth(title: str, unit: str, samples: BySize) -> None:
    """Print how calls grow with `unit`."""
    header = ("", unit, "calls/s", "p50", "p99", "server CPU", "p50, of the smallest")
    rows = [
        (
            operation,
            f"{size:,}",
            figure(sample.rate),
            figure(sample.p50_us),
            figure(sample.p99_us),
            figure(sample.server_us),
            f"{sample.slower_than(sizes[min(sizes)]):.2f}",
        )
        for operation, sizes in samples.items()
        for size, sample in sizes.items()
    ]
    print_table(f"{title} (one caller, microseconds)", header, rows)


def print_indices(indices: Mapping[int, IndexSize]) -> None:
    """Print size and making of the index."""
    header = ("documents", "text, KiB", "index, KiB", "index/text", "built in, s", "first search, ms")
    rows = [
        (
            f"{size:,}",
            figure(index.text_bytes / 1024),
            figure(index.index_bytes / 1024),
            f"{index.index_bytes / index.text_bytes:.1f}",
            f"{index.build_seconds:.2f}",
            figure(index.first_search_ms),
        )
        for size, index in indices.items()
    ]
    print_table("The index of a scope, built from files put there", header, rows)


def print_index_cost(cost: IndexCost) -> None:
    """Print what the index adds to a write."""
    header = ("", "p50", "p99", "CPU")
    rows = [
        (name, figure(sample.p50_us), figure(sample.p99_us), figure(sample.caller_us))
        for name, sample in (("without index", cost.without), ("with index", cost.noted))
    ]
    print_table("A write without gRPC (microseconds)", header, rows)
    print(f"  Indexing a written document later, by a search or in the background, takes {figure(cost.indexing_us)}.")


def print_write_share(calls: ByConcurrency, cost: IndexCost) -> None:
    """Print where the server's CPU for a write goes, and what the bare protocol takes of it."""
    samples = calls[min(calls)]
    empty, surrounded = samples[throughput.EMPTY].server_us, samples[throughput.SURROUNDED].server_us
    rows = [
        ("gRPC: an empty handler", empty),
        ("interceptors", max(0.0, surrounded - empty)),
        ("use case, policy and store", cost.without.caller_us),
        ("of which the bare file protocol", samples[throughput.BARE_WRITE].caller_us),
        ("noting the change for the index", max(0.0, cost.noted.caller_us - cost.without.caller_us)),
        ("indexing it, in the background", cost.indexing_us),
        ("measured, all in all", samples[throughput.WRITE].server_us),
    ]
    title = f"Server CPU of a Write, {min(calls)} in flight (microseconds)"
    print_table(title, ("", "CPU"), [(name, figure(value)) for name, value in rows])


def print_memory(loaded_mib: Mapping[str, float]) -> None:
    """Print the memory held after the loads."""
    told = ", ".join(f"{mib:.0f} MiB after {load}" for load, mib in loaded_mib.items())
    print(f"\nResident memory of the worker: {told}")


def print_targets(results: Results) -> int:
    """Print each target with what was measured, and return how many weren't reached."""
    rows, missed = [], 0
    for target in TARGETS:
        for case, value in target.measure(results):
            reached = target.is_reached(value)
            missed += not reached
            sign = ">=" if target.at_least else "<="
            rows.append(
                (target.what, case, f"{value:.2f}", f"{sign} {target.bound:g}", "reached" if reached else "NOT REACHED")
            )
    print_table("Targets", ("", "case", "measured", "target", ""), rows)
    return missed
