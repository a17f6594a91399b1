"""`python -m bench.compare`: the service beside what a user would pick instead, on this machine, in one run."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.compare.environments import write_locks
from bench.compare.guarantees import try_guarantees
from bench.compare.material import Material, read_locomo, read_own
from bench.compare.recall import measure_recall
from bench.compare.report import Entry, write_tables
from bench.compare.rivals import Absent, Rival, prepare
from bench.compare.session import LOGS, Failed
from bench.compare.speed import FULL, QUICK, Plan, measure_speed
from bench.processes import REPOSITORY

BUILD = REPOSITORY / "build" / "compare"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under four minutes; fewer texts, rougher figures")
    parser.add_argument("--dataset", type=Path, help="LoCoMo's JSON; without it nothing is said about recall")
    parser.add_argument("--only", action="append", metavar="NAME", help="measure only this one; may be repeated")
    parser.add_argument("--folder", type=Path, default=BUILD, help="for rivals, data, logs, result (build/compare)")
    parser.add_argument("--lock", action="store_true", help="resolve what the rivals depend on anew and stop")
    parser.add_argument("--install", action="store_true", help="install the rivals and stop")
    return parser.parse_args(arguments)


def choose_material(chosen: argparse.Namespace, plan: Plan) -> Material:
    """Return the texts and questions of the run."""
    return read_locomo(chosen.dataset, plan.conversations, plan.questions) if chosen.dataset else read_own()


def choose_rivals(chosen: argparse.Namespace, root: Path) -> tuple[list[Rival], list[Absent]]:
    """Install everybody who was asked for, and return who takes part and who can't."""
    every = list(prepare(root, chosen.only or ()))
    return [each for each in every if isinstance(each, Rival)], [each for each in every if isinstance(each, Absent)]


def measure(rival: Rival, root: Path, path: Path, material: Material, plan: Plan) -> Entry:
    """Measure everything of one rival; what fails is noted and the rest goes on."""
    entry = Entry(rival.version)
    trials: dict[str, Callable[[], Any]] = {
        "speed": lambda: measure_speed(rival, root, path, plan),
        "recall": lambda: measure_recall(rival, root, path, material) if material.conversations else None,
    }
    for name, trial in trials.items():
        try:
            setattr(entry, name, trial())
        except Failed as why:
            entry.failures.append(f"{name}: {why}")
    entry.findings, entry.languages = try_guarantees(rival, root, path, plan)
    return entry


def run(chosen: argparse.Namespace, rivals: Sequence[Rival]) -> dict[str, Entry]:
    """Measure one rival after the other and return the entries by name."""
    plan = QUICK if chosen.quick else FULL
    material = choose_material(chosen, plan)
    entries: dict[str, Entry] = {}
    # On the disk that the checkout is on: /tmp may be in memory, where a durable write costs nothing.
    with tempfile.TemporaryDirectory(prefix="data-", dir=chosen.folder, ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "material.json"
        material.write(path)
        for rival in rivals:
            started = time.monotonic()
            entries[rival.name] = measure(rival, Path(folder), path, material, plan)
            print(f"{rival.name}: {time.monotonic() - started:.0f} s", flush=True)
            shutil.copytree(Path(folder) / LOGS, chosen.folder / LOGS, dirs_exist_ok=True)
    return entries


def main(arguments: Sequence[str] | None = None) -> int:
    """Install, measure, print and keep the result; return the exit status."""
    chosen = parse_arguments(arguments)
    if chosen.lock:
        write_locks()
        return 0
    chosen.folder = chosen.folder.resolve()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    rivals, absent = choose_rivals(chosen, chosen.folder / "rivals")
    for each in absent:
        print(f"{each.name} is left out: {each.why}")
    if chosen.install:
        return 0
    started, load = time.monotonic(), os.getloadavg()[0]
    entries = run(chosen, rivals)
    print(*write_tables(entries, absent), sep="\n")
    seconds = time.monotonic() - started
    print(f"\n{os.cpu_count()} cores; load average before the run {load:.1f}. Took {seconds:.0f} s.")
    result = {
        "seconds": seconds,
        "load_before": load,
        "rivals": {name: entry.to_json() for name, entry in entries.items()},
        "absent": {each.name: each.why for each in absent},
    }
    (chosen.folder / "result.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
