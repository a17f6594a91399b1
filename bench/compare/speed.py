"""How fast each is, how much memory and disk it takes: one rival after the other, each with the machine to itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.compare.lanes import Stretch
from bench.compare.rivals import Rival
from bench.compare.session import Failed, Session, started
from bench.compare.subjects import Lacking

OPERATIONS: Final = {"get": "read", "search": "search", "context": "context for a turn", "put": "write"}
"""In the order in which they are measured: writes last, so that every search is over the same texts."""
LANES: Final = (1, 8)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    Attributes:
        facts: texts that are there when reads and searches are measured, or fewer:
        load_seconds: no more are stored once it took so long.
        seconds: how long each operation is called at each number of clients.
        conversations, questions: how many conversations are asked about, and questions of each at most.
        timed: writes whose system calls are watched.
        appends: appends of each of two clients to one text.
        acknowledged: writes that are waited for before the process is killed.
    """

    facts: int
    load_seconds: float
    seconds: float
    conversations: int
    questions: int
    timed: int
    appends: int
    acknowledged: int


FULL: Final = Plan(500, 45.0, 3.0, 3, 150, 20, 100, 50)
QUICK: Final = Plan(150, 10.0, 1.0, 1, 40, 10, 25, 20)


@dataclass(slots=True)
class Speed:
    """What was measured of one rival.

    Attributes:
        texts: how many were stored.
        load_seconds: until all of them were stored and could be found.
        disk_mib: what they then took on the disk.
        stretches: by operation and number of clients.
        lacks: why there is no figure, by operation.
        resident_mib: of the process that holds the data, at the end.
    """

    texts: int = 0
    load_seconds: float = 0.0
    disk_mib: float = 0.0
    stretches: dict[str, dict[int, Stretch]] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    resident_mib: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        stretches = {
            name: {str(lanes): taken.to_json() for lanes, taken in by_lanes.items()}
            for name, by_lanes in self.stretches.items()
        }
        return asdict(self) | {"stretches": stretches}


def measure_speed(rival: Rival, root: Path, material: Path, plan: Plan) -> Speed:
    """Measure one rival on a new folder.

    Raises:
        Failed: it doesn't start or can't store the facts.
    """
    speed = Speed()
    with started(rival, root, material) as session:
        loaded = session.order("load", count=plan.facts, seconds=plan.load_seconds)
        speed.texts, speed.load_seconds = loaded["texts"], loaded["seconds"]
        speed.disk_mib = session.disk_mib()
        for operation in OPERATIONS:
            _measure_operation(session, operation, plan, speed)
        speed.resident_mib = session.resident_mib()
    return speed


def _measure_operation(session: Session, operation: str, plan: Plan, speed: Speed) -> None:
    by_lanes = speed.stretches.setdefault(operation, {})
    try:
        for lanes in LANES:
            taken = session.order("measure", what=operation, lanes=lanes, seconds=plan.seconds)
            by_lanes[lanes] = Stretch.from_json(taken)
    except (Lacking, Failed) as why:
        speed.lacks[operation] = str(why)
