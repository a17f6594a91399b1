"""A few seconds of fuzzing in every run of the tests; `make fuzz` takes longer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
SECONDS = 3

if not os.environ.get("CI"):
    pytest.importorskip("atheris", reason="atheris isn't installed here, so nothing is fuzzed; CI has it")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("target", TARGETS)
def test_an_invariant_holds_for_some_seconds_of_fuzzing(target, tmp_path):
    """No input that a few seconds turn up breaks what the target's module says in its first sentence."""
    command = [sys.executable, "-m", "tests.fuzz", target, "--seconds", str(SECONDS)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert tried is not None
    assert int(tried[1]) > 50
