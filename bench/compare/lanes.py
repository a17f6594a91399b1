"""One stretch of operations by some threads, and how it went. Runs in a driver, with the standard library alone."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

MAX_FAILURES = 5
"""In a row: then a lane gives up."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """How operations went.

    Attributes:
        calls: how many were answered.
        seconds: how long all of them took together.
        p50_ms, p99_ms: latency that a lane saw, in milliseconds; NaN-free: 0 when nothing was answered.
        failures: how many failed, by what they said.
    """

    calls: int
    seconds: float
    p50_ms: float
    p99_ms: float
    failures: dict[str, int]

    @property
    def rate(self) -> float:
        """Answered operations a second."""
        return self.calls / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it, the rate included."""
        return asdict(self) | {"rate": self.rate}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Stretch:
        """Return what `to_json` made."""
        return cls(**{name: value[name] for name in cls.__slots__})


def run_lanes(operate: Callable[[int, int], object], lanes: int, seconds: float) -> Stretch:
    """Call `operate(lane, number)` in so many threads, each again when it returned, until the time is over.

    A failure counts and isn't timed: a refusal can be quicker than an answer.
    """
    latencies: list[float] = []
    failures: Counter[str] = Counter()
    started = time.perf_counter()

    def lane(mine: int) -> None:
        number = in_a_row = 0
        while (began := time.perf_counter()) - started < seconds and in_a_row < MAX_FAILURES:
            try:
                operate(mine, number)
            except Exception as error:  # whatever a rival raises under load is what we are here to see
                failures[f"{type(error).__name__}: {str(error)[:120]}"] += 1
                in_a_row += 1
            else:
                latencies.append(time.perf_counter() - began)
                in_a_row = 0
            number += 1

    threads = [threading.Thread(target=lane, args=(mine,)) for mine in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _stretch(latencies, time.perf_counter() - started, failures)


def _stretch(latencies: list[float], seconds: float, failures: Counter[str]) -> Stretch:
    ordered = sorted(latencies)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3 if ordered else 0.0

    return Stretch(len(ordered), seconds, at(0.50), at(0.99), dict(failures))
