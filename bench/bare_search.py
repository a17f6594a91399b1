"""The floor of a search: one query of SQLite's FTS5 and nothing else, in one process with a thread for each caller.

The same documents and questions as the service is asked, a row a line, Porter's stems, any of the words, the five best
rows by BM25 with their text. No gRPC, no ranking of documents, no passages cut to size, no look at what has changed.
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from bench.caller import cpu_seconds
from bench.corpus import REQUESTS, document_path, make_query, make_text
from bench.sample import Round, round_of

BEST = 5
QUERY = "SELECT path, text FROM line WHERE line MATCH ? ORDER BY bm25(line) LIMIT ?"


@dataclass(frozen=True, slots=True)
class SearchJob:
    """A stretch of queries.

    Attributes:
        database: a file; made with the documents in it when it is missing.
        documents: how many.
        turn: which questions, as `corpus.searches` numbers them.
        concurrency: threads, each with a connection of its own.
        seconds: how long.
    """

    database: str
    documents: int
    turn: int
    concurrency: int
    seconds: float


def make_database(path: Path, documents: int) -> None:
    """Write the documents' lines into a new database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    with database:
        database.execute("CREATE VIRTUAL TABLE line USING fts5(path UNINDEXED, text, tokenize='porter unicode61')")
        lines = ((document_path(n), line) for n in range(documents) for line in make_text(n).splitlines())
        database.executemany("INSERT INTO line VALUES (?, ?)", lines)
    database.close()


def search_repeatedly(job: SearchJob) -> Round:
    """Do the queries and return how they went."""
    if not Path(job.database).exists():
        make_database(Path(job.database), job.documents)
    queries = [make_query(job.turn * REQUESTS + n).replace(" ", " OR ") for n in range(REQUESTS)]
    latencies: list[float] = []
    cpu, started = cpu_seconds(), time.perf_counter()

    def search(lane: int) -> None:
        database = sqlite3.connect(f"file:{job.database}?mode=ro", uri=True)
        for query in itertools.cycle(queries[lane :: job.concurrency]):
            began = time.perf_counter()
            if began - started >= job.seconds:
                break
            database.execute(QUERY, (query, BEST)).fetchall()
            latencies.append(time.perf_counter() - began)
        database.close()

    lanes = [threading.Thread(target=search, args=(lane,)) for lane in range(job.concurrency)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    return round_of(latencies, time.perf_counter() - started, cpu_seconds() - cpu)
