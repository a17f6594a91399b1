"""Finds, runs and reads `ghz`, a load client for gRPC that is written in Go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.processes import REPOSITORY
from bench.traffic import Outcome

PACKAGE: Final = "github.com/bojand/ghz/cmd/ghz@v0.120.0"
"""Pinned: the proxy's `latest` is an older version, whose number was given out before the versions were renumbered."""

INSTALL_SECONDS: Final = 300.0
GRACE_SECONDS: Final = 60.0


def find_ghz(folder: Path) -> Path | None:
    """Return where `ghz` is, installing it into `folder` where Go is there to do it; None where it can't be had."""
    found = shutil.which("ghz") or shutil.which("ghz", path=str(folder))
    if found:
        return Path(found)
    go = shutil.which("go")
    if go is None:
        return None
    print(f"Installing {PACKAGE} into {folder} ...", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(
            [go, "install", PACKAGE],
            env=os.environ | {"GOBIN": str(folder.resolve())},
            check=True,
            timeout=INSTALL_SECONDS,
            capture_output=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        print(f"ghz couldn't be installed ({type(error).__name__}); the Python client takes its place.")
        return None
    return folder / "ghz"


class Ghz:
    """One run of `ghz`, which has begun when this is made.

    Args:
        program: where `ghz` is.
        address: HOST:PORT of the server.
        config: the name of a file under `load/`, without its ending.
        lanes: calls in flight, each over a connection of its own: a connection stays with one worker of the server.
        seconds: how long.
        rate: the most calls a second; 0 for as many as come.
    """

    def __init__(self, program: Path, address: str, config: str, lanes: int, seconds: float, rate: float = 0.0) -> None:
        self._seconds = seconds
        flags = ["--config", f"load/{config}.json", "--concurrency", str(lanes), "--connections", str(lanes)]
        flags += ["--duration", f"{seconds:g}s", "--duration-stop", "wait", "--format", "json"]
        flags += ["--rps", str(round(rate))] if rate else []
        self._process = subprocess.Popen(
            [str(program), *flags, address], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self) -> Outcome:
        """Return what came of it.

        Raises:
            RuntimeError: it failed, or took much longer than it should.
        """
        try:
            output, errors = self._process.communicate(timeout=self._seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise RuntimeError("ghz hangs") from None
        if self._process.returncode:
            raise RuntimeError(f"ghz failed: {errors.strip()}")
        return read_result(json.loads(output))


def read_result(result: Any) -> Outcome:
    """Return the outcome that `ghz` wrote as JSON: exact latencies of the calls that ended OK, all others by code."""
    outcome = Outcome(seconds=result["total"] / 1e9)
    for call in result["details"] or ():
        if call["status"] == "OK":
            outcome.latencies.append(call["latency"] / 1e9)
    codes = Counter(result["statusCodeDistribution"] or {})
    del codes["OK"]
    outcome.failures.update({_code_name(code): count for code, count in codes.items()})
    return outcome


def _code_name(code: str) -> str:
    """Return a code as the protocol spells it: `DeadlineExceeded` becomes `DEADLINE_EXCEEDED`."""
    return "".join(f"_{c}" if c.isupper() and n else c for n, c in enumerate(code)).upper()


def slowest(outcomes: Sequence[Outcome]) -> float:
    """Return the rate of the run that answered the fewest calls a second: that many whole turns came of them."""
    return min(len(outcome.latencies) / outcome.seconds for outcome in outcomes)
