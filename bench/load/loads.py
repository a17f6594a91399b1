"""Which loads there are, and what is known of one when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench import corpus
from bench.caller import Prepared
from bench.rig import LIFECYCLE, SERVICE
from bench.sample import Round

SCOPE: Final = corpus.SeededScope("load", 100)
"""Whose documents are read and written; the configurations of `ghz` name the same."""

WRITTEN: Final = 15


@dataclass(frozen=True, slots=True)
class SingleLoad:
    """One method, called again and again.

    Attributes:
        method: its name, which is the load's.
        service: the service's full name with a slash before it.
        config: the file under `load/` by which `ghz` calls it, without its ending.
        prepare: makes the Python client's requests from a number.
        once: whether each call carries a request id of its own.
    """

    method: str
    service: str
    config: str
    prepare: Callable[[int], Sequence[Prepared]]
    once: bool = False


SINGLE_LOADS: Final = (
    SingleLoad("Read", SERVICE, "read", lambda turn: corpus.reads(SCOPE, turn)),
    SingleLoad("Search", SERVICE, "search", lambda turn: corpus.searches(SCOPE, turn)),
    SingleLoad("RetrieveContext", LIFECYCLE, "retrieve-context", lambda turn: corpus.contexts(SCOPE, turn)),
    SingleLoad("Write", SERVICE, "write", lambda turn: corpus.writes(SCOPE, turn, written=WRITTEN), once=True),
)

TURN: Final = "Turn"
SIDE_BY_SIDE: Final = "Turn, side by side"

TURN_CONFIGS: Final = ("turn-1-retrieve", "turn-2-search", "turn-3-write", "turn-4-record")
"""The calls of a turn, each a file under `load/`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one load on one server.

    Attributes:
        load: the load's name.
        workers: how many workers the server had.
        client: what sent it: `ghz` or `Python`.
        taken: calls (or turns) answered, their latencies, and failures by code. A turn that lacks an answer is none.
        served: answers among which the server's CPU is shared out: calls or turns, and of calls side by side a fourth.
        server_cores: CPU that the server took, in cores.
        peak_mib: the most resident memory that one of its processes held meanwhile, in MiB.
        offered: turns a second that were offered; 0 where each lane calls again as soon as it was answered.
    """

    load: str
    workers: int
    client: str
    taken: Round
    served: float
    server_cores: float
    peak_mib: float
    offered: float = 0.0

    @property
    def server_us(self) -> float:
        """Server CPU a call or turn, in microseconds; what failed calls took is in it."""
        return self.server_cores * self.taken.seconds / self.served * 1e6

    @property
    def failures(self) -> Mapping[str, int]:
        """How many calls failed, by code and reason."""
        return self.taken.failures
