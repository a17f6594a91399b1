"""Reads strace's log of the calls that make data durable, to tell whether one ended before a write was answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TRACED = ("fsync", "fdatasync", "sync_file_range", "msync")
COMMAND = ("strace", "-f", "--seccomp-bpf", "-qq", "-ttt", "-T", "-e", f"trace={','.join(TRACED)}", "-e", "signal=none")

_LINE = re.compile(
    r"^(?:\d+\s+)?(?P<at>\d+\.\d+) (?:<\.\.\. )?(?P<call>\w+)(?P<resumed> resumed>)?.*= 0 <(?P<took>[\d.]+)>$"
)


@dataclass(frozen=True, slots=True)
class SyncShare:
    """What was seen of the writes of a stretch.

    Attributes:
        writes: how many there were.
        synced: in how many of them a call that makes data durable ended before the answer.
        calls: how many such calls there were a write, in the whole stretch.
    """

    writes: int
    synced: int
    calls: float


def read_sync_ends(log: Iterable[str]) -> Iterator[float]:
    """Yield when each successful call ended, in seconds of the machine's clock."""
    for line in log:
        if match := _LINE.match(line.rstrip("\n")):
            # A call that was interrupted in the log is told at its end, any other at its beginning.
            yield float(match["at"]) + (0.0 if match["resumed"] else float(match["took"]))


def count_synced(ends: Iterable[float], writes: list[tuple[float, float]]) -> SyncShare:
    """Tell for the intervals of the writes how many had a call end within them."""
    first, last = writes[0][0], writes[-1][1]
    within = [end for end in ends if first <= end <= last]
    synced = sum(any(began <= end <= ended for end in within) for began, ended in writes)
    return SyncShare(len(writes), synced, len(within) / len(writes))


def read_log(path: Path, writes: list[tuple[float, float]]) -> SyncShare:
    """Read a whole log."""
    with path.open(encoding="utf-8", errors="replace") as log:
        return count_synced(list(read_sync_ends(log)), writes)
