"""Measures search over the repository's own multilingual set (tests/recall), by language and by kind of question.

    python bench/eval_recall.py [--misses]

All languages are indexed together. `hit@k`: a document that answers is among the first k; `shown`: every answer's text
is in the block of 4,096 bytes that a prompt would get; `content`: it is in the `content` of the first five results.
Unanswerable questions are left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from eval_locomo import PASSAGE_BYTES, Folder, assemble_block

from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index import IndexSettings, SearchIndex, SearchQuery

RECALL = Path(__file__).resolve().parent.parent / "tests" / "recall"
SCOPE = Scope("bench", "recall")
COLUMNS = ("hit@1", "hit@5", "MRR", "shown", "content")


def judge(index: SearchIndex, question: dict[str, Any]) -> tuple[float, ...]:
    """Ask one question; return its figures in the order of `COLUMNS`."""
    answers = question["answers"]
    answer = index.search(SCOPE, SearchQuery(question["query"], limit=20, passage_bytes=PASSAGE_BYTES))
    paths = {each["path"] for each in answers}
    rank = next((i for i, hit in enumerate(answer.hits, 1) if hit.path.text in paths), 0)
    block = assemble_block(answer)
    contents = {hit.path.text: hit.content for hit in answer.hits[:5]}
    return (
        float(rank == 1),
        float(1 <= rank <= 5),
        1 / rank if rank else 0.0,
        sum(each["text"] in block for each in answers) / len(answers),
        sum(each["text"] in contents.get(each["path"], "") for each in answers) / len(answers),
    )


def main() -> None:
    """Print a row for each language and each kind of question."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument(
        "--misses", action="store_true", help="print the questions not answered among the first five"
    )
    chosen = arguments.parse_args()
    groups: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as root:
        folder = Folder(Path(root))
        for file in sorted((RECALL / "corpus").glob("*.json")):
            for document in json.loads(file.read_text()):
                folder.write(document["path"], document["content"])
        index = SearchIndex(folder, IndexSettings(background_seconds=0, build_wait_seconds=60))
        for question in json.loads((RECALL / "questions.json").read_text()):
            if question["answers"]:
                figures = judge(index, question)
                for group in (f"lang {question['lang']}", f"type {question['type']}", "~ all"):
                    groups[group].append(figures)
                if chosen.misses and not (figures[1] and figures[3]):
                    print(question["id"], question["type"], figures, question["query"], sep="  ")
        index.close()
    print(f"{'':18}    n" + "".join(f"{name:>9}" for name in COLUMNS))
    for name, rows in sorted(groups.items()):
        print(f"{name:18} {len(rows):4}" + "".join(f"{sum(each) / len(rows):9.3f}" for each in zip(*rows, strict=True)))


if __name__ == "__main__":
    main()
