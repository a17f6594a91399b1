"""Measures search over the repository's own multilingual set (tests/recall), by language and by kind of question.

    python -m bench.eval_recall [--misses]

All languages are indexed together, as one user's memory in a running service. The columns are those of
`bench.eval_locomo`; unanswerable questions are left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bench.recall import Evidence, Table, open_memories

RECALL = Path(__file__).resolve().parent.parent / "tests" / "recall"


def measure(folder: Path, *, show_misses: bool = False) -> Table:
    """Ask every answerable question of the set; `folder` is scratch space."""
    table = Table()
    with open_memories(folder / "data") as memories:
        memory = next(memories)
        for file in sorted((RECALL / "corpus").glob("*.json")):
            memory.write({each["path"]: each["content"] for each in json.loads(file.read_text("utf-8"))})
        for question in json.loads((RECALL / "questions.json").read_text("utf-8")):
            if not question["answers"]:
                continue
            figures = memory.ask(question["query"], [Evidence(**answer) for answer in question["answers"]])
            table.add(figures, f"language {question['lang']}", f"type {question['type']}", "all")
            if show_misses and (figures.share < 1 or not 1 <= figures.rank <= 5):
                print(question["id"], question["type"], f"rank {figures.rank}", question["query"], sep="  ")
    table.groups = dict(sorted(table.groups.items(), reverse=True))
    return table


def main() -> None:
    """Print a row for each language and each kind of question."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--misses", action="store_true", help="print the questions that aren't answered whole")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(*measure(Path(folder), show_misses=chosen.misses).lines(), sep="\n")


if __name__ == "__main__":
    main()
