"""Runs a fuzz target: `python -m tests.fuzz scanner --seconds 60`. Needs atheris.

A target is a module with `check(data)`, which raises where its invariant doesn't hold, and `seeds()`, what to begin
with. A failing input is written to the working folder and named in the output; `--input FILE` tries it again.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz the target that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--input", type=Path)
    options = parser.parse_args()
    if "FUZZ_FOLDER" in os.environ:
        fuzz(options.target, Path(os.environ["FUZZ_FOLDER"]), options.seconds)
    elif options.input:
        importlib.import_module(f"tests.fuzz.{options.target}").check(options.input.read_bytes())
    else:
        sys.exit(fuzz_in_child())


def fuzz_in_child() -> int:
    """Run this command again in a folder of its own: libFuzzer leaves its process without cleaning up."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"FUZZ_FOLDER": folder, "TMPDIR": folder}
        return subprocess.run(
            [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]], env=environment, check=False
        ).returncode


def fuzz(name: str, folder: Path, seconds: int) -> None:
    """Fuzz a target in this process, which ends with it."""
    with atheris.instrument_imports(include=["ironclaw_memory"], enable_loader_override=False):
        target = importlib.import_module(f"tests.fuzz.{name}")
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(seed)
    limits = (f"-max_total_time={seconds}", "-max_len=4096", "-timeout=20", "-print_final_stats=1")
    atheris.Setup([sys.argv[0], str(corpus), *limits, f"-artifact_prefix=fuzz-{name}-"], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
