"""The calling side, in the rival's own environment: takes orders as lines of JSON, answers in kind.

    python -m bench.compare.driver MODULE [alone]       # MODULE: of `bench.compare.subjects`; alone: without a network

An order is an object with `do` and the arguments of the method of that name. The answer is `{"answer": ...}`,
`{"lacking": why}` where the rival has no such operation, or `{"failed": what}`. Whatever a library prints goes to
standard error, so that nothing but answers is on standard output.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.compare.lanes import run_lanes
from bench.compare.subjects import Lacking, Place, Subject

SEEN_SECONDS = 10.0
"""How long a change by hand may take to be noticed."""


class Driver:
    """Does what it is told with one adapter."""

    def __init__(self, module: str, tell: Callable[[dict[str, Any]], None]) -> None:
        self._module, self._tell = module, tell
        self._memory: Subject
        self._facts: list[str] = []
        self._questions: list[str] = []
        self._conversations: list[dict[str, Any]] = []
        self._imported = 0
        self._written = itertools.count()

    def open(self, folder: str, address: str, variant: str, material: str) -> str:
        """Open the memory and read the texts; return what can call it."""
        read = json.loads(Path(material).read_text("utf-8"))
        self._facts, self._questions, self._conversations = read["facts"], read["questions"], read["conversations"]
        adapter = importlib.import_module(f"bench.compare.subjects.{self._module}").Memory
        self._memory = adapter(Place(Path(folder), address, variant))
        return str(adapter.languages)

    def load(self, count: int, seconds: float) -> dict[str, Any]:
        """Store facts one by one, so many at most and for so long; return how many, and when all were findable."""
        started = time.perf_counter()
        while self._imported < count and time.perf_counter() - started < seconds:
            self._memory.put(_fact_key(self._imported), self._facts[self._imported % len(self._facts)])
            self._imported += 1
        self._memory.settle()
        return {"texts": self._imported, "seconds": time.perf_counter() - started}

    def measure(self, what: str, lanes: int, seconds: float) -> dict[str, Any]:
        """Do one kind of operation for a while in so many threads."""
        operate = getattr(self, f"_{what}")
        operate(0, 0)  # what is opened at the first call isn't counted
        taken = run_lanes(operate, lanes, seconds)
        if what == "put":
            self._memory.settle()
        return taken.to_json()

    def _put(self, lane: int, number: int) -> None:
        del lane, number
        each = next(self._written)
        self._memory.put(f"written/{each:06}", self._facts[(self._imported + each) % len(self._facts)])

    def _get(self, lane: int, number: int) -> None:
        each = random.Random(lane * 1_000_003 + number).randrange(self._imported)
        if not self._memory.get(_fact_key(each)):
            raise RuntimeError("an empty text")

    def _search(self, lane: int, number: int) -> None:
        self._memory.search(self._question(lane, number))

    def _context(self, lane: int, number: int) -> None:
        self._memory.context(self._question(lane, number))

    def _question(self, lane: int, number: int) -> str:
        return self._questions[(lane * 37 + number) % len(self._questions)]

    def recall(self, conversation: int) -> dict[str, Any]:
        """Store a conversation as a user of its own and ask its questions: seconds to store, ranks and blocks."""
        told = self._conversations[conversation]
        memory = self._memory.as_user(f"conversation-{conversation}")
        started = time.perf_counter()
        for path, text in told["documents"].items():
            memory.add_document(path.removesuffix(".md"), text)
        memory.settle()
        seconds = time.perf_counter() - started
        answers = [memory.ask(question["text"]) for question in told["questions"]]
        return {"seconds": seconds, "answers": answers}

    def time_puts(self, count: int) -> list[tuple[float, float]]:
        """Store texts one by one and return when each call began and ended, by the clock of the machine."""
        times = []
        for number in range(count):
            began = time.time()
            self._memory.put(f"timed/{number:04}", self._facts[number % len(self._facts)])
            times.append((began, time.time()))
        return times

    def put_until_killed(self, seconds: float) -> int:
        """Store texts and tell of each once it is acknowledged; return at an error, or after so many seconds."""
        end = time.monotonic() + seconds
        for number in itertools.count():
            if time.monotonic() > end:
                return number
            self._memory.put(f"killed/{number:05}", f"Acknowledged text number {number}.")
            self._tell({"acknowledged": number})
        raise AssertionError  # unreachable: the count has no end

    def missing(self, count: int) -> int:
        """Return how many of the texts that `put_until_killed` told of aren't there."""
        return sum(not self._is_there(number) for number in range(count))

    def _is_there(self, number: int) -> bool:
        try:
            return f"number {number}." in self._memory.get(f"killed/{number:05}")
        except KeyError:
            return False

    def race_appends(self, lanes: int, each: int, seconds: float) -> dict[str, Any]:
        """Append lines to one text from several threads at once; return how many were acknowledged and are there."""
        end = time.monotonic() + seconds
        self._memory.put("raced/note", "start\n")
        acknowledged: list[str] = []
        failed: list[str] = []

        def lane(mine: int) -> None:
            for number in range(each):
                line = f"- line {mine}.{number};"
                if time.monotonic() > end:
                    return
                try:
                    self._memory.append("raced/note", line)
                except Exception as error:  # said no: not a lost update
                    failed.append(f"{type(error).__name__}: {str(error)[:120]}")
                else:
                    acknowledged.append(line)

        threads = [threading.Thread(target=lane, args=(mine,)) for mine in range(lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        text = self._memory.get("raced/note")
        kept = sum(line in text for line in acknowledged)
        return {"acknowledged": len(acknowledged), "kept": kept, "refused": len(failed), "said": failed[:1]}

    def edit_by_hand(self) -> dict[str, Any]:
        """Change a text on the disk; return after how many seconds a read and a search see it, None for never."""
        self._memory.put("edited/note", "Nothing of note.")
        self._memory.settle()
        self._memory.edit_by_hand("edited/note", "The quokka was fed at noon.\n")
        started = time.monotonic()
        seen: dict[str, float | None] = {"read": None, "search": None}
        while None in seen.values() and time.monotonic() - started < SEEN_SECONDS:
            looks = {
                "read": lambda: "quokka" in self._memory.get("edited/note"),
                "search": lambda: "edited/note" in self._memory.search("quokka fed noon")[:1],
            }
            for name, look in looks.items():
                if seen[name] is None and look():
                    seen[name] = time.monotonic() - started
            time.sleep(0.05)
        return seen

    def probe(self, what: str) -> dict[str, str]:
        """Run one of the adapter's probes."""
        finding = getattr(self._memory, f"probe_{what}")()
        return {"holds": finding.holds, "what": finding.what}

    def close(self) -> None:
        """End the adapter."""
        self._memory.close()


def _fact_key(number: int) -> str:
    return f"facts/{number:05}"


def _obey(driver: Driver, order: dict[str, Any]) -> dict[str, Any]:
    method = getattr(driver, order.pop("do"))
    try:
        return {"answer": method(**order)}
    except Lacking as lacking:
        return {"lacking": str(lacking)}
    except Exception as error:  # told to the parent, which notes it in the rival's column
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {str(error)[:300]}"}


def leave_network() -> None:
    """Put this process where there is no network, if it may; a library that is told to be quiet needn't be believed."""
    if hasattr(os, "unshare"):
        with suppress(OSError):
            os.unshare(os.CLONE_NEWNET)


def main() -> None:
    """Obey until the orders end."""
    if "alone" in sys.argv[2:]:
        leave_network()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    driver = Driver(sys.argv[1], lambda said: print(json.dumps(said), file=answers, flush=True))
    for line in sys.stdin:
        print(json.dumps(_obey(driver, json.loads(line))), file=answers, flush=True)
    os._exit(0)  # some rivals leave threads that don't end


if __name__ == "__main__":
    main()
