"""Measures recall over LoCoMo conversations: is the session found, and is the evidence in the block a prompt would get?

    python bench/eval_locomo.py FILE            # FILE: LoCoMo's JSON, or a part of it

A session is a document: a heading with its date, then a line a turn. A question is asked as it stands. The block is
put together as RetrieveContext does it: the passages of all documents found, best first, each at most 512 bytes with
its envelope, until 4,096 bytes are full. Evidence counts when the text of its turn is in the block: `by turn` over all
turns named as evidence, `by quest` as the mean share of a question's turns, `any` when at least one of them is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ironclaw_memory.contract.document import DocumentStat, Metadata, StoredDocument
from ironclaw_memory.contract.faults import DocumentMissing
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index import IndexSettings, SearchAnswer, SearchIndex, SearchQuery
from ironclaw_memory.safety.envelope import passage_bytes

BLOCK_BYTES = 4096
SNIPPET_BYTES = 512
PASSAGE_BYTES = passage_bytes(SNIPPET_BYTES)
ENVELOPE_BYTES = SNIPPET_BYTES - PASSAGE_BYTES
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


class Folder:
    """A document source over plain files, for measuring the index without the store."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        """Store `text` at `path`."""
        file = self.root / "documents" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def list_documents(self, _scope: Scope) -> Iterator[DocumentStat]:
        """Yield every file."""
        base = self.root / "documents"
        for file in sorted(path for path in base.rglob("*") if path.is_file()):
            stat = file.stat()
            path = DocumentPath(file.relative_to(base).as_posix())
            yield DocumentStat(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def read_document(self, _scope: Scope, path: DocumentPath) -> StoredDocument:
        """Return the file."""
        file = self.root / "documents" / path.text
        if not file.is_file():
            raise DocumentMissing
        content = file.read_bytes()
        return StoredDocument(content, hashlib.sha256(content).hexdigest(), 0, datetime.fromtimestamp(0, UTC))

    def effective_metadata(self, _scope: Scope, _path: DocumentPath) -> Metadata:
        """Return none."""
        return {}

    def index_folder(self, _scope: Scope) -> Path:
        """Return a folder beside the documents."""
        folder = self.root / "index"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass
class Tally:
    """Sums of one category of questions."""

    questions: int = 0
    first: int = 0
    in_five: int = 0
    reciprocal: float = 0.0
    turns: int = 0
    turns_found: int = 0
    share: float = 0.0
    any_found: int = 0
    misses: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """Return the category's line of the report."""
        n = max(self.questions, 1)
        return (
            f"{name:12} {self.questions:5} {self.first / n:7.3f} {self.in_five / n:7.3f} {self.reciprocal / n:7.3f}"
            f" {self.turns_found / max(self.turns, 1):9.3f} {self.share / n:9.3f} {self.any_found / n:9.3f}"
        )


def read_sessions(conversation: dict[str, Any]) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return the documents by path, and each turn's path and text by its id."""
    documents: dict[str, str] = {}
    turns: dict[str, tuple[str, str]] = {}
    number = 1
    while (session := conversation.get(f"session_{number}")) is not None:
        path = f"sessions/session-{number:02}.md"
        lines = [f"# Session {number}, {conversation[f'session_{number}_date_time']}", ""]
        for turn in session:
            lines.append(f"{turn['speaker']}: {turn['text']}")
            turns[turn["dia_id"]] = (path, turn["text"])
        documents[path] = "\n".join(lines) + "\n"
        number += 1
    return documents, turns


def assemble_block(answer: SearchAnswer) -> str:
    """Return what a prompt would get: the best passages of all documents while they fit."""
    passages = sorted((p for hit in answer.hits for p in hit.passages), key=lambda passage: -passage.score)
    block: list[str] = []
    size = 0
    for passage in passages:
        cost = len(passage.text.encode()) + ENVELOPE_BYTES
        if size + cost <= BLOCK_BYTES:
            size += cost
            block.append(passage.text)
    return "\n".join(block)


def measure(sample: dict[str, Any], tallies: dict[int, Tally], settings: IndexSettings) -> None:
    """Index one conversation and ask its questions."""
    scope = Scope("bench", str(sample["sample_id"]))
    documents, turns = read_sessions(sample["conversation"])
    with tempfile.TemporaryDirectory() as root:
        folder = Folder(Path(root))
        for path, text in documents.items():
            folder.write(path, text)
        index = SearchIndex(folder, settings)
        for question in sample["qa"]:
            named = re.findall(r"D\d+:\d+", " ".join(question.get("evidence", ())))
            if evidence := [turns[name] for name in named if name in turns]:
                answer = index.search(scope, SearchQuery(question["question"], limit=20, passage_bytes=PASSAGE_BYTES))
                count(tallies[question["category"]], question["question"], answer, evidence)
        index.close()


def count(tally: Tally, question: str, answer: SearchAnswer, evidence: list[tuple[str, str]]) -> None:
    """Add one question."""
    wanted = {path for path, _ in evidence}
    rank = next((i for i, hit in enumerate(answer.hits, 1) if hit.path.text in wanted), 0)
    block = assemble_block(answer)
    found = sum(text in block for _, text in evidence)
    tally.questions += 1
    tally.first += rank == 1
    tally.in_five += 1 <= rank <= 5
    tally.reciprocal += 1 / rank if rank else 0
    tally.turns += len(evidence)
    tally.turns_found += found
    tally.share += found / len(evidence)
    tally.any_found += found > 0
    if not found:
        tally.misses.append(question)


def main() -> None:
    """Print a table, one row a category."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--misses", action="store_true", help="print the questions whose evidence was missed")
    chosen = arguments.parse_args()
    tallies: dict[int, Tally] = defaultdict(Tally)
    for sample in json.loads(chosen.file.read_text()):
        measure(sample, tallies, IndexSettings(background_seconds=0, build_wait_seconds=60))
    print("category         n   hit@1   hit@5     MRR   by turn   by quest       any")
    total = Tally()
    for number, tally in sorted(tallies.items()):
        print(tally.row(CATEGORIES[number]))
        for name in ("questions", "first", "in_five", "reciprocal", "turns", "turns_found", "share", "any_found"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        if chosen.misses:
            print(*(f"    {miss}" for miss in tally.misses), sep="\n")
    print(total.row("all"))


if __name__ == "__main__":
    main()
