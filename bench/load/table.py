"""Prints the loads' results as text."""

from __future__ import annotations

from collections.abc import Sequence

from bench import report
from bench.load.loads import SIDE_BY_SIDE, Result

HEADER = ("", "workers", "client", "a second", "p50", "p95", "p99", "server CPU", "CPU, us each", "peak MiB", "errors")


def print_results(results: Sequence[Result], seconds: float, clients: int) -> None:
    """Print a row for each load and number of workers, and then each error by its code."""
    title = f"{clients} clients, {seconds:g} s a load (latencies in milliseconds, server CPU in percent of a core)"
    report.print_table(title, HEADER, [_row(result) for result in results])
    for result in results:
        for outcome, count in sorted(result.failures.items()):
            print(f"  FAILED {count:,} x {outcome} ({result.load}, workers: {result.workers})")
    if any(result.load == SIDE_BY_SIDE for result in results):
        print("  Side by side: the calls of a turn by four processes, each at the rate of the turns above it.")


def _row(result: Result) -> report.Row:
    taken = result.taken
    return (
        result.load,
        str(result.workers),
        result.client,
        report.figure(taken.rate),
        *(f"{microseconds / 1e3:.1f}" for microseconds in (taken.p50_us, taken.p95_us, taken.p99_us)),
        f"{result.server_cores:.0%}",
        report.figure(result.server_us),
        f"{result.peak_mib:.0f}",
        f"{sum(result.failures.values()):,}",
    )
