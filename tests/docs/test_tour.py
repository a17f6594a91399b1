"""The README's five minutes happen as shown."""

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.server_process import run_server

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def steps() -> list[tuple[str, str]]:
    """Return the tour's commands, each with the output that the README shows."""
    tour = README.split("\n## Five minutes\n", 1)[1]
    console = re.search(r"```console\n(.*?)```", tour, re.DOTALL)
    assert console is not None
    parts = re.split(r"^\$ (.*)\n", console.group(1), flags=re.MULTILINE)[1:]
    return [(c, o) for c, o in zip(parts[::2], parts[1::2], strict=True) if not c.startswith("export ")]


def test_the_tour_happens_as_shown(tmp_path: Path):
    """Each command of the tour prints what the README says it prints, the date aside."""
    data_dir = tmp_path / "data"
    with run_server(data_dir=data_dir) as server:
        for command, shown in steps():
            words = shlex.split(command)
            if words[0] == "ironclaw-memory":
                words[:1] = [sys.executable, "-m", "ironclaw_memory"]
            environment = {**os.environ, "IRONCLAW_MEMORY_SERVER": server.address}
            done = subprocess.run(
                words,
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            today = datetime.now(UTC).date().isoformat()
            assert DATE.sub(today, done.stdout) == DATE.sub(today, shown), command


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_python_example_runs(code: str, tmp_path: Path):
    """The README's Python code works against a server as it stands there."""
    with run_server(data_dir=tmp_path / "data") as server:
        program = code.replace("127.0.0.1:50051", server.address)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "MEMORY.md User prefers concise responses." in done.stdout
