"""What a measurement is: rounds of calls, taken in turns with what they are compared to, and their medians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, slots=True)
class Round:
    """One stretch of back-to-back calls.

    Attributes:
        calls: how many were answered.
        seconds: how long it took.
        p50_us, p95_us, p99_us: latency seen by the caller, in microseconds.
        failures: how many calls ended otherwise than OK, by code and reason.
        caller_us: CPU that the calling process took a call, in microseconds.
        server_us: CPU that the serving process took a call, in microseconds; its background work included.
    """

    calls: int
    seconds: float
    p50_us: float
    p95_us: float
    p99_us: float
    failures: Mapping[str, int] = field(default_factory=dict)
    caller_us: float = 0.0
    server_us: float = 0.0

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds


def round_of(
    latencies: list[float], seconds: float, cpu_seconds: float, failures: Mapping[str, int] | None = None
) -> Round:
    """Return the round that took these latencies, in seconds each."""
    if not latencies:
        raise RuntimeError(f"not one call was answered: {dict(failures or {})}")
    ordered = sorted(latencies)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e6

    calls = len(ordered)
    return Round(calls, seconds, at(0.50), at(0.95), at(0.99), dict(failures or {}), cpu_seconds / calls * 1e6)


@dataclass(slots=True)
class Sample:
    """The rounds of one subject. Each figure is the median over them, so that one disturbed round doesn't count."""

    rounds: list[Round] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Calls a second."""
        return median(r.rate for r in self.rounds)

    @property
    def p50_us(self) -> float:
        """Median latency, in microseconds."""
        return median(r.p50_us for r in self.rounds)

    @property
    def p99_us(self) -> float:
        """99th percentile of the latency, in microseconds."""
        return median(r.p99_us for r in self.rounds)

    @property
    def server_us(self) -> float:
        """Server CPU a call, in microseconds."""
        return median(r.server_us for r in self.rounds)

    @property
    def caller_us(self) -> float:
        """Caller CPU a call, in microseconds."""
        return median(r.caller_us for r in self.rounds)

    def over(self, other: Sample) -> float:
        """Return this rate as a multiple of another's: the median of the ratios of rounds that ran side by side."""
        return median(mine.rate / theirs.rate for mine, theirs in zip(self.rounds, other.rounds, strict=True))

    def slower_than(self, other: Sample) -> float:
        """Return this median latency as a multiple of another's: the median of the ratios of rounds side by side."""
        return median(mine.p50_us / theirs.p50_us for mine, theirs in zip(self.rounds, other.rounds, strict=True))


def take_turns(subjects: Mapping[str, Callable[[], Round]], rounds: int) -> dict[str, Sample]:
    """Measure the subjects in turns, in reverse order every other round, and return their samples by name.

    Whatever else the machine does then falls on all of them alike. A round whose calls fail ends the benchmark: a
    refusal is quicker than an answer, and its rate would be worth nothing.

    Raises:
        RuntimeError: a call failed.
    """
    samples = {name: Sample() for name in subjects}
    for number in range(rounds):
        for name in sorted(subjects, key=list(subjects).index, reverse=number % 2 == 1):
            taken = subjects[name]()
            if taken.failures:
                raise RuntimeError(f"{name}: calls failed: {dict(taken.failures)}")
            samples[name].rounds.append(taken)
    return samples
