"""`python -m bench`: one run on this machine, told as ratios. Nothing is left behind, and nothing is sent anywhere."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import report
from bench.caller import call_repeatedly
from bench.footprint import measure_footprint
from bench.growth import measure_documents, measure_scopes
from bench.index_cost import IndexCostJob, run_index_cost
from bench.processes import worker
from bench.rig import FULL, QUICK, Plan, Rig
from bench.targets import Results
from bench.throughput import measure_throughput


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; smaller sizes, rougher figures")
    parser.add_argument("--scopes", type=int, help="the largest number of scopes (default 1,000; 10,000 takes long)")
    parser.add_argument(
        "--folder", type=Path, help="where to put the data: on the disk to be measured (default: the current folder)"
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when a target isn't reached")
    return parser.parse_args(arguments)


def choose_plan(chosen: argparse.Namespace) -> Plan:
    """Return how much to measure."""
    plan = QUICK if chosen.quick else FULL
    if chosen.scopes is None:
        return plan
    return replace(plan, scopes=(*(count for count in plan.scopes if count < chosen.scopes), chosen.scopes))


def run(rig: Rig) -> int:
    """Measure and print everything, and return how many targets weren't reached."""
    report.print_machine()
    footprint = measure_footprint(rig)
    report.print_footprint(footprint)
    calls, after_calls = measure_throughput(rig)
    report.print_calls(calls)
    by_documents, indices, after_documents = measure_documents(rig)
    report.print_growth("Growth with the documents of a scope", "documents", by_documents)
    report.print_indices(indices)
    by_scopes, after_scopes = measure_scopes(rig)
    report.print_growth("Growth with the number of scopes", "scopes", by_scopes)
    with worker(run_index_cost) as writer:
        cost = writer.do(IndexCostJob(str(rig.folder / "index-cost"), rig.plan.rounds, rig.plan.writes))
    report.print_index_cost(cost)
    report.print_write_share(calls, cost)
    loaded = {
        "calls": after_calls,
        f"{max(rig.plan.documents):,} documents": after_documents,
        f"{max(rig.plan.scopes):,} scopes": after_scopes,
    }
    report.print_memory(loaded)
    return report.print_targets(Results(footprint, calls, by_documents, by_scopes, cost, loaded))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    chosen = parse_arguments(arguments)
    started = time.monotonic()
    # Not in /tmp, which may be in memory: there a durable write costs nothing.
    with (
        tempfile.TemporaryDirectory(prefix=".bench-", dir=chosen.folder or Path.cwd()) as folder,
        worker(call_repeatedly) as caller,
    ):
        missed = run(Rig(choose_plan(chosen), Path(folder), caller))
    print(f"\n{missed or 'No'} figures not reached. Took {time.monotonic() - started:.0f} s.")
    return int(chosen.strict and missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
