"""A program that records turns or ends a claim on a data directory, for tests that kill it on the way.

    python tests/crash/curator.py DATA_DIR record THREAD FIRST LAST
    python tests/crash/curator.py DATA_DIR complete LEASE TEXT

It prints one line for each turn that was acknowledged, or the outcome.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.interaction import Message, Role
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index import IndexSettings, SearchIndex
from ironclaw_memory.memory.changes import DocumentChanges
from ironclaw_memory.memory.curation import Completion, Curator
from ironclaw_memory.memory.interactions import Interaction, InteractionRecorder
from ironclaw_memory.safety.policy import PromptWritePolicy
from ironclaw_memory.safety.scanner import Scanner
from ironclaw_memory.store import DocumentStore, StoreLimits, open_data_dir

SCOPE = Scope("acme", "ada")


class Nowhere:
    """A recorder of events that keeps none."""

    def record(self, finding: object) -> None:
        """Take the event."""


class Bench:
    """The use cases over a real store and index, as a server has them, without the wire."""

    def __init__(self, data_dir: Path, **options: Any) -> None:
        self.store = DocumentStore(open_data_dir(data_dir), StoreLimits(), **options)
        self.index = SearchIndex(self.store, IndexSettings(background_seconds=0))
        self.changes = DocumentChanges(self.store, self.index, PromptWritePolicy(Scanner()), 1 << 20)
        self.recorder = InteractionRecorder(self.changes, self.store, self.store.curation, 10)
        self.curator = Curator(self.store, self.changes, self.store.curation, 10)

    def call(self, thread: str | None = None, request_id: str | None = None, recorder: Any = None) -> Call:
        """Return a call in the one scope."""
        return Call(SCOPE, thread, request_id, "c", Deadline.after(60), recorder or Nowhere())

    def record(self, thread: str, number: int) -> int:
        """Record a turn; return the count."""
        messages = (Message(Role.USER, f"turn {number}"),)
        return self.recorder.record(self.call(thread), Interaction(messages, f"run-{number}")).turns

    def turns(self) -> int:
        """Return the count."""
        return self.store.curation.count_turns(SCOPE, deadline=Deadline.after(60))


def main() -> None:
    """Do what the command line says, between two marks that a trace shows."""
    data_dir, verb, *rest = sys.argv[1:]
    bench = Bench(Path(data_dir))
    os.access("/begin", os.F_OK)
    if verb == "record":
        thread, first, last = rest
        for number in range(int(first), int(last)):
            bench.record(thread, number)
            print(number, flush=True)  # noqa: T201  # how the test learns of it
    else:
        lease, text = rest
        print(bench.curator.complete(bench.call(), Completion(lease, text)).outcome.value, flush=True)  # noqa: T201
    os.access("/end", os.F_OK)


if __name__ == "__main__":
    main()
