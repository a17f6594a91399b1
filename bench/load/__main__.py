"""The command line of the loads."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import report
from bench.load.ghz import find_ghz
from bench.load.measure import LoadPlan, measure_workers
from bench.load.page import write_page
from bench.load.table import print_results
from bench.processes import REPOSITORY

OUTPUT = REPOSITORY / "build" / "load"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description="Loads a server of its own on loopback.")
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--clients", type=int, default=16, help="calls in flight, each over its connection (default 16)"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each load (default 10)")
    parser.add_argument(
        "--workers", default=f"1,{cores}", help="numbers of workers to compare (default 1 and the cores)"
    )
    parser.add_argument("--client", choices=("auto", "ghz", "python"), default="auto", help="who calls single methods")
    parser.add_argument("--processes", type=int, default=1, help="processes of the Python client (default 1)")
    parser.add_argument("--folder", type=Path, help="where the server puts its data (default: the current folder)")
    parser.add_argument("--report", type=Path, default=OUTPUT / "report.html", help="where the page goes")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Load servers, print a table, write the page; return 1 when a call failed."""
    chosen = parse_arguments(arguments)
    ghz = None if chosen.client == "python" else find_ghz(OUTPUT)
    if chosen.client == "ghz" and ghz is None:
        print("There is no ghz, and no Go to install it with.")
        return 2
    report.print_machine()
    print(
        f"Single methods are called by {'ghz' if ghz else 'the Python client'}, turns by the Python client.", flush=True
    )
    # Not in /tmp, which may be in memory: there a durable write costs nothing.
    with tempfile.TemporaryDirectory(prefix=".load-", dir=chosen.folder or Path.cwd()) as folder:
        plan = LoadPlan(chosen.seconds, chosen.clients, chosen.processes, ghz, Path(folder))
        counts = dict.fromkeys(int(count) for count in chosen.workers.split(","))
        results = [result for workers in counts for result in measure_workers(plan, workers)]
    print_results(results, plan.seconds, plan.clients)
    write_page(chosen.report, results, plan.seconds, plan.clients)
    print(f"\nThe same as a page: {chosen.report}")
    return int(any(result.failures for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
