"""`python -m bench`: one run on this machine, told as ratios. Nothing is left behind, and nothing is sent anywhere."""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import report
from bench.caller import call_repeatedly
from bench.footprint import measure_footprint
from bench.growth import BySize, measure_documents, measure_scopes
from bench.index_cost import IndexCostJob, run_index_cost
from bench.processes import worker
from bench.rig import FULL, QUICK, Plan, Rig
from bench.targets import Results
from bench.throughput import measure_throughput


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; smaller sizes, rougher figures")
    parser.add_argument("--documents", type=int, help="the largest number of documents a scope (default 10,000)")
    parser.add_argument("--scopes", type=int, help="the largest number of scopes (default 1,000)")
    parser.add_argument("--growth", action="store_true", help="only how calls grow, with documents and with scopes")
    parser.add_argument(
        "--folder", type=Path, help="where to put the data: on the disk to be measured (default: the current folder)"
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when a target isn't reached")
    return parser.parse_args(arguments)


def choose_plan(chosen: argparse.Namespace) -> Plan:
    """Return how much to measure."""
    plan = QUICK if chosen.quick else FULL
    documents, scopes = chosen.documents or max(plan.documents), chosen.scopes or max(plan.scopes)
    return replace(plan, documents=sizes_up_to(documents), scopes=sizes_up_to(scopes))


def sizes_up_to(largest: int) -> tuple[int, ...]:
    """Return 10, 100 and so on, and last the largest size."""
    sizes = itertools.takewhile(lambda size: size < largest, (10**power for power in itertools.count(1)))
    return (*sizes, largest)


def run(rig: Rig) -> int:
    """Measure and print everything, and return how many targets weren't reached."""
    report.print_machine()
    footprint = measure_footprint(rig)
    report.print_footprint(footprint)
    calls, after_calls = measure_throughput(rig)
    report.print_calls(calls)
    by_documents, by_scopes, after_documents, after_scopes = run_growth(rig)
    with worker(run_index_cost) as writer:
        cost = writer.do(IndexCostJob(str(rig.folder / "index-cost"), rig.plan.rounds, rig.plan.writes))
    report.print_index_cost(cost)
    report.print_write_share(calls, cost)
    loaded = {"calls": after_calls} | after_growth(rig, after_documents, after_scopes)
    report.print_memory(loaded)
    return report.print_targets(Results(footprint, calls, by_documents, by_scopes, cost, loaded))


def run_growth(rig: Rig) -> tuple[BySize, BySize, float, float]:
    """Measure and print how calls grow; return the samples by size, and the resident MiB after each."""
    by_documents, indices, after_documents = measure_documents(rig)
    report.print_growth("Growth with the documents of a scope", "documents", by_documents)
    report.print_indices(indices)
    by_scopes, after_scopes = measure_scopes(rig)
    report.print_growth("Growth with the number of scopes", "scopes", by_scopes)
    return by_documents, by_scopes, after_documents, after_scopes


def after_growth(rig: Rig, after_documents: float, after_scopes: float) -> dict[str, float]:
    """Return the resident MiB by what the service had just been through."""
    sizes = {"documents": max(rig.plan.documents), "scopes": max(rig.plan.scopes)}
    return {
        f"{sizes['documents']:,} documents": after_documents,
        f"{sizes['scopes']:,} scopes": after_scopes,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    chosen = parse_arguments(arguments)
    started = time.monotonic()
    # Not in /tmp, which may be in memory: there a durable write costs nothing.
    with (
        tempfile.TemporaryDirectory(prefix=".bench-", dir=chosen.folder or Path.cwd()) as folder,
        worker(call_repeatedly) as caller,
    ):
        rig = Rig(choose_plan(chosen), Path(folder), caller)
        missed = run(rig) if not chosen.growth else 0
        if chosen.growth:
            report.print_machine()
            report.print_memory(after_growth(rig, *run_growth(rig)[2:]))
    if not chosen.growth:
        print(f"\n{missed or 'No'} figures not reached.")
    print(f"\nTook {time.monotonic() - started:.0f} s.")
    return int(chosen.strict and missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
