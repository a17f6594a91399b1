"""How fast the service is ready and how much memory it holds while it does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.processes import product
from bench.rig import Rig


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a service costs before it serves.

    Attributes:
        start_seconds: from starting the interpreter to the ready line, each start.
        idle_mib: resident memory at that moment, in MiB, each start.
    """

    start_seconds: Sequence[float]
    idle_mib: Sequence[float]

    @property
    def start(self) -> float:
        """The median start, in seconds."""
        return median(self.start_seconds)

    @property
    def idle(self) -> float:
        """The median resident memory, in MiB."""
        return median(self.idle_mib)


def measure_footprint(rig: Rig) -> Footprint:
    """Start the service a few times on a data folder that exists."""
    starts, memory = [], []
    for _ in range(rig.plan.starts + 1):
        with product(rig.folder / "footprint") as service:
            starts.append(service.start_seconds)
            memory.append(service.resident_mib())
    return Footprint(starts[1:], memory[1:])  # the first start makes the data folder and warms the file cache
