"""Measures recall over LoCoMo conversations: is the session found, and is the evidence in the context of a prompt?

    python -m bench.eval_locomo FILE            # FILE: LoCoMo's JSON, or a part of it

A session is a document: a heading with its date, then a line a turn. A question is asked as it stands, through a
running service: `Search` gives the ranks, `RetrieveContext` the context of at most 4,096 bytes.

`evidence` is THE recall of evidence: the mean over questions of the share of their evidence turns whose whole text is
in the context. It is the reading under which plain BM25 with a Porter stemmer recalls what is known of it: about 70 %
over single lines and 79 % over windows of three (0.67 and 0.79 on half of the conversations, at session hit@5 of 0.87
and 0.91). `all of it` counts the questions of which no evidence is missing, `content` looks for the evidence in what
the first five results of `Search` show. Questions that name no evidence are left out.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.recall import Evidence, Table, open_memories

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def read_sessions(conversation: dict[str, Any]) -> tuple[dict[str, str], dict[str, Evidence]]:
    """Return the documents by path, and each turn by its id."""
    documents: dict[str, str] = {}
    turns: dict[str, Evidence] = {}
    number = 1
    while (session := conversation.get(f"session_{number}")) is not None:
        path = f"sessions/session-{number:02}.md"
        lines = [f"# Session {number}, {conversation[f'session_{number}_date_time']}", ""]
        for turn in session:
            lines.append(f"{turn['speaker']}: {turn['text']}")
            turns[turn["dia_id"]] = Evidence(path, turn["text"])
        documents[path] = "\n".join(lines) + "\n"
        number += 1
    return documents, turns


def read_questions(sample: dict[str, Any], turns: dict[str, Evidence]) -> Iterator[tuple[str, str, list[Evidence]]]:
    """Yield category, text and evidence of each question that names any."""
    for question in sample["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(question.get("evidence", ())))
        if evidence := [turns[name] for name in named if name in turns]:
            yield CATEGORIES[question["category"]], question["question"], evidence


def measure(samples: list[dict[str, Any]], *, show_misses: bool = False) -> Table:
    """Ask every question of every conversation, each in a memory of its own."""
    table = Table({name: [] for name in CATEGORIES.values()})
    with tempfile.TemporaryDirectory() as folder, open_memories(Path(folder, "data")) as memories:
        for sample, memory in zip(samples, memories, strict=False):
            documents, turns = read_sessions(sample["conversation"])
            memory.write(documents)
            for category, question, evidence in read_questions(sample, turns):
                figures = memory.ask(question, evidence)
                table.add(figures, category, "all")
                if show_misses and figures.share < 1:
                    print(f"{figures.share:.2f}  {category:12} {question}")
    table.groups = {name: figures for name, figures in table.groups.items() if figures}
    return table


def main() -> None:
    """Print a table, one row a category."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--misses", action="store_true", help="print the questions whose evidence is missing")
    chosen = arguments.parse_args()
    print(*measure(json.loads(chosen.file.read_text()), show_misses=chosen.misses).lines(), sep="\n")
    print("evidence: mean over questions of the share of their evidence turns in the context of 4,096 bytes")


if __name__ == "__main__":
    main()
