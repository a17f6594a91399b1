"""Starting the writer program: plainly, under strace with faults injected, or in a file system of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
# Calls that change what is on the disk; a kill between two of them looks like one at the second.
CHANGING = ("openat", "mkdirat", "write", "pwrite64", "fsync", "fdatasync", "renameat", "unlinkat", "ftruncate")


@dataclass(frozen=True)
class Outcome:
    """How the writer ended: its exit code as a shell tells it, and one answer for each step that was done."""

    code: int
    answers: list[dict[str, Any]]
    trace: str = ""


def command(data_dir: Path, *steps: list[Any]) -> list[str]:
    """Return the command line of the writer."""
    return [sys.executable, str(_ROOT / "tests/crash/writer.py"), str(data_dir), json.dumps(steps)]


def environment() -> dict[str, str]:
    """Return an environment in which the writer finds the packages."""
    return {**os.environ, "PYTHONPATH": str(_ROOT / "service"), "PYTHONDONTWRITEBYTECODE": "1"}


def start(data_dir: Path, *steps: list[Any]) -> subprocess.Popen[bytes]:
    """Start the writer and return at once."""
    return subprocess.Popen(command(data_dir, *steps), stdout=subprocess.PIPE, env=environment())


def run(data_dir: Path, *steps: list[Any], before: list[str] | None = None) -> Outcome:
    """Run the writer to its end, with `before` in front of its command line."""
    done = subprocess.run(
        [*(before or []), *command(data_dir, *steps)], env=environment(), capture_output=True, timeout=100, check=False
    )
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    assert code in (0, 137), done.stderr.decode()
    return Outcome(code, [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")])


def run_traced(data_dir: Path, log: Path, *steps: list[Any], inject: str | None = None) -> Outcome:
    """Run the writer under strace.

    Args:
        log: where the trace goes.
        inject: what to do to which call, in strace's words.
    """
    require_strace()
    before = [
        "strace",
        "-f",
        "-qq",
        "-o",
        str(log),
        "-e",
        f"trace={','.join(CHANGING)},?openat2,access,faccessat,faccessat2",
    ]
    injection = ["-e", f"inject={inject}"] if inject else []
    outcome = run(data_dir, *steps, before=[*before, *injection, "--"])
    return Outcome(outcome.code, outcome.answers, log.read_text(errors="replace"))


def changing_calls(trace: str) -> list[tuple[str, int]]:
    """Return name and ordinal of the calls between the marks that change something, counted from the start."""
    return [
        (name, ordinal)
        for name, ordinal, arguments in calls_between_marks(trace)
        if not arguments.startswith("1,") and (not name.startswith("openat") or "O_CREAT" in arguments)
    ]


def calls_between_marks(trace: str) -> list[tuple[str, int, str]]:
    """Return name, ordinal and arguments of the traced calls between the marks."""
    counts: dict[str, int] = {}
    found: list[tuple[str, int, str]] = []
    inside = False
    for line in trace.splitlines():
        match = re.match(r"\d+ +(\w+)\((.*)", line)
        if match is None:
            continue
        name, arguments = match.groups()
        counts[name] = counts.get(name, 0) + 1
        if name in ("access", "faccessat", "faccessat2"):
            inside = '"/begin"' in arguments or (inside and '"/end"' not in arguments)
        elif inside:
            found.append((name, counts[name], arguments))
    return found


@cache
def _strace_works() -> bool:
    if shutil.which("strace") is None:
        return False
    tried = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return tried.returncode == 0


def skip_unless_ci(why: str) -> None:
    """Leave a test out, unless it runs where it must not be left out."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{why}; the continuous integration must not leave these tests out")
    pytest.skip(why)


def require_strace() -> None:
    """Leave the test out where system calls can't be traced."""
    if not _strace_works():
        skip_unless_ci("strace is missing or may not trace")


def own_mount(folder: Path, options: str) -> list[str]:
    """Return what to put before a command so that it has a small file system of its own at `folder`.

    Args:
        options: of the tmpfs, such as `size=1m`.
    """
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    script = f'mount -t tmpfs -o {options},mode=700 tmpfs "$0" && exec "$@"'
    before = [*unshare, "sh", "-c", script, str(folder)]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
        skip_unless_ci("mounting isn't allowed")
    return before
