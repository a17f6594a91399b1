"""`python -m bench.load`: mixed turns, as agents make them: search, write what was learnt, read it back.

Every call's status is looked at, and so is what comes back: a read must hold the line that the same client has just
been told was written. The run ends by itself; without `--server` it starts a server of its own on loopback and ends
that too. Where `ghz` is installed, single methods are then loaded with the configurations under `load/`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import tempfile
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc
import psutil

from bench import corpus, report
from bench.caller import CALL_SECONDS, Metadata, cpu_seconds, describe_failure
from bench.processes import REPOSITORY, ServerProcess, product, worker
from bench.sample import Round, round_of
from ironclaw.memory.v1 import memory_service_pb2 as wire
from ironclaw.memory.v1 import memory_service_pb2_grpc as stubs

SEARCH, WRITE, READ = "Search", "Write", "Read"
GHZ_RUNS: Final = ("write", "read", "search")
"""Files under `load/`; writing comes first, for it makes the documents that are read."""

FACTS_A_DOCUMENT: Final = 50
"""Then a client begins another document, as a daily log does; else its reads would grow for ever."""

WRONG_ANSWER: Final = "a read without what was written"


@dataclass(frozen=True, slots=True)
class LoadJob:
    """What one calling process does.

    Attributes:
        address: HOST:PORT of the server.
        clients: how many clients it plays, each with its connection, its scope and one call in flight.
        seconds: how long.
        run: a name that no other run has, for scopes and request ids.
    """

    address: str
    clients: int
    seconds: float
    run: str


@dataclass(slots=True)
class Tally:
    """What came of the calls of a process.

    Attributes:
        latencies: of the answered calls, by method, in seconds.
        failures: other outcomes, by code and reason.
        cpu_seconds: what the process took.
    """

    latencies: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: Counter[str] = field(default_factory=Counter)
    cpu_seconds: float = 0.0

    def add(self, other: Tally) -> None:
        """Add what came of another process's calls."""
        for method, latencies in other.latencies.items():
            self.latencies[method].extend(latencies)
        self.failures.update(other.failures)
        self.cpu_seconds += other.cpu_seconds


def play_clients(job: LoadJob) -> Tally:
    """Play the clients of one process."""
    tally = Tally()
    cpu = cpu_seconds()
    asyncio.run(_play_all(job, tally))
    tally.cpu_seconds = cpu_seconds() - cpu
    tally.latencies = dict(tally.latencies)
    return tally


async def _play_all(job: LoadJob, tally: Tally) -> None:
    end = time.perf_counter() + job.seconds
    await asyncio.gather(*(_Client(job, number, tally).play_until(end) for number in range(job.clients)))


class _Client:
    """One agent: turns of three calls in a scope of its own."""

    def __init__(self, job: LoadJob, number: int, tally: Tally) -> None:
        self._job = job
        self._tally = tally
        self._name = f"{job.run}-{number}"
        self._chosen = random.Random(self._name)
        self._metadata = (("x-ironclaw-tenant-id", "load"), ("x-ironclaw-user-id", self._name))
        self._turns = 0

    async def play_until(self, end: float) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]  # a connection of its own: workers share out connections
        async with grpc.aio.insecure_channel(self._job.address, options=options) as channel:
            stub = stubs.MemoryServiceStub(channel)
            while time.perf_counter() < end:
                await self._take_turn(stub)

    async def _take_turn(self, stub: stubs.MemoryServiceStub) -> None:
        self._turns += 1
        path = f"log/{self._turns // FACTS_A_DOCUMENT:04}.md"
        fact = f"Fact {self._turns} of {self._name}: {corpus.make_query(self._chosen.randrange(10_000))}."
        await self._call(SEARCH, stub.Search, wire.SearchRequest(query=corpus.make_query(self._turns)))
        written = await self._call(WRITE, stub.Write, wire.WriteRequest(target=path, content=fact), once=True)
        if written is None:
            return
        read = await self._call(READ, stub.Read, wire.ReadRequest(path=path))
        if read is not None and f"{fact}\n" not in read.content:
            self._tally.failures[WRONG_ANSWER] += 1

    async def _call(self, method: str, call: Callable[..., Any], request: Any, *, once: bool = False) -> Any:
        metadata: Metadata = self._metadata
        if once:
            metadata = (*metadata, ("x-ironclaw-request-id", f"{self._name}-{self._turns}"))
        began = time.perf_counter()
        try:
            answer = await call(request, metadata=metadata, timeout=CALL_SECONDS, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            self._tally.failures[f"{method}: {describe_failure(error)}"] += 1
            return None
        self._tally.latencies[method].append(time.perf_counter() - began)
        return answer


@contextmanager
def serve(chosen: argparse.Namespace) -> Iterator[tuple[str, ServerProcess | None]]:
    """Yield the address of the server that was named, or of one that runs for the block, with its process."""
    if chosen.server:
        yield chosen.server, None
        return
    with (
        tempfile.TemporaryDirectory(prefix=".load-", dir=chosen.folder or Path.cwd()) as folder,
        product(Path(folder) / "data", "--workers", str(chosen.workers)) as server,
    ):
        yield server.address, server


def run_turns(address: str, chosen: argparse.Namespace, server: ServerProcess | None) -> Tally:
    """Load the server with mixed turns, print what came of it, and return that."""
    run, total = uuid.uuid4().hex[:8], Tally()
    shares = [len(range(n, chosen.clients, chosen.processes)) for n in range(min(chosen.processes, chosen.clients))]
    with ExitStack() as stack:
        running = [stack.enter_context(worker(play_clients)) for _ in shares]
        started, before = time.perf_counter(), server.cpu_seconds() if server else 0.0
        for number, (process, clients) in enumerate(zip(running, shares, strict=True)):
            process.start(LoadJob(address, clients, chosen.seconds, f"{run}-{number}"))
        for process in running:
            total.add(process.finish())
        seconds = time.perf_counter() - started
    print_turns(total, chosen.seconds)
    if server:
        print_server(server, server.cpu_seconds() - before, total, seconds)
    return total


def print_turns(tally: Tally, seconds: float) -> None:
    """Print rates, latencies and failures."""
    rounds = {method: round_of(found, seconds, 0.0) for method, found in tally.latencies.items() if found}
    report.print_table(
        f"Mixed turns, {seconds:g} s (milliseconds)",
        ("", "calls", "calls/s", "p50", "p95", "p99"),
        [(name, f"{taken.calls:,}", report.figure(taken.rate), *_latencies(taken)) for name, taken in rounds.items()],
    )
    for outcome, count in tally.failures.most_common():
        print(f"  FAILED {count:,} x {outcome}")
    if not tally.failures:
        print("  Every call ended OK, and every read held what had been written.")


def _latencies(taken: Round) -> tuple[str, str, str]:
    p50, p95, p99 = (f"{value / 1e3:.1f}" for value in (taken.p50_us, taken.p95_us, taken.p99_us))
    return p50, p95, p99


def print_server(server: ServerProcess, cpu: float, tally: Tally, seconds: float) -> None:
    """Print what the server and the clients took."""
    calls = sum(map(len, tally.latencies.values())) or 1
    cores = psutil.cpu_count() or 1
    print(
        f"  The server took {cpu / seconds:.2f} of {cores} cores ({cpu / calls * 1e6:.0f} us a call), the clients "
        f"{tally.cpu_seconds / seconds:.2f}; its largest process holds {server.resident_mib():.0f} MiB."
    )


def run_ghz(address: str, chosen: argparse.Namespace) -> int:
    """Load single methods with ghz and return how many calls failed."""
    rows, failed = [], 0
    for name in GHZ_RUNS:
        result = _ghz(name, address, chosen)
        codes = dict(result["statusCodeDistribution"])
        # A stretch ends while calls are in flight; ghz counts them as cancelled or unavailable, and calls them so.
        good = codes.pop("OK", 0)
        failed += sum(codes.values())
        at = {entry["percentage"]: f"{entry['latency'] / 1e6:.1f}" for entry in result["latencyDistribution"] or ()}
        told = ", ".join(f"{count} {code}" for code, count in codes.items())
        rows.append((name, f"{good:,}", report.figure(result["rps"]), at[50], at[95], at[99], told))
    title = f"Single methods by ghz, {chosen.clients} in flight (milliseconds)"
    report.print_table(title, ("", "OK", "calls/s", "p50", "p95", "p99", "other"), rows)
    return failed


def _ghz(name: str, address: str, chosen: argparse.Namespace) -> Any:
    command = ["ghz", "--config", f"load/{name}.json", "--concurrency", str(chosen.clients)]
    command += ["--connections", str(min(chosen.clients, 4)), "--duration", f"{chosen.seconds:g}s", "--format", "json"]
    command += ["--duration-stop", "wait", address]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True, timeout=chosen.seconds + 60)
    return json.loads(done.stdout)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--server", help="HOST:PORT of a running server (default: one of its own)")
    parser.add_argument("--clients", type=int, default=16, help="clients, each with one call in flight (default 16)")
    parser.add_argument("--processes", type=int, default=1, help="processes that play the clients (default 1)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each stretch (default 10)")
    parser.add_argument("--workers", type=int, default=1, help="workers of its own server (default 1)")
    parser.add_argument("--folder", type=Path, help="where its own server puts its data (default: the current folder)")
    parser.add_argument("--no-ghz", action="store_true", help="leave out the single methods")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Load a server and return the exit status: 1 when a call failed."""
    chosen = parse_arguments(arguments)
    with serve(chosen) as (address, server):
        failed = sum(run_turns(address, chosen, server).failures.values())
        if chosen.no_ghz:
            return int(failed > 0)
        if shutil.which("ghz") is None:
            print("\nghz isn't installed; go install github.com/bojand/ghz/cmd/ghz@latest for single methods.")
        else:
            failed += run_ghz(address, chosen)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
