"""What each finds: the same conversations and questions, judged by what `bench.recall` asks of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compare.material import Material, Question
from bench.compare.rivals import Rival
from bench.compare.session import started
from bench.compare.subjects import Lacking
from bench.recall import Figures, Table


@dataclass(frozen=True, slots=True)
class Recall:
    """What was measured of one rival.

    Attributes:
        seconds: to store the conversations until all could be found.
        means: by column: `hit@1`, `hit@5`, `MRR` of the session, and `evidence` in the block of 4,096 bytes.
        questions: how many were asked.
        lacks: why there is none of it; empty otherwise.
    """

    seconds: float
    means: dict[str, float]
    questions: int
    lacks: str = ""


def measure_recall(rival: Rival, root: Path, path: Path, material: Material) -> Recall:
    """Ask one rival every question.

    Raises:
        Failed: it doesn't start, or fails at a conversation.
    """
    table, seconds = Table(), 0.0
    with started(rival, root, path) as session:
        try:
            for number, conversation in enumerate(material.conversations):
                told: dict[str, Any] = session.order("recall", conversation=number)
                seconds += told["seconds"]
                for question, (paths, block) in zip(conversation.questions, told["answers"], strict=True):
                    table.add(judge(question, paths, block), "all")
        except Lacking as why:
            return Recall(0.0, {}, 0, str(why))
    means = table.means("all")
    return Recall(
        seconds, {name: means[name] for name in ("hit@1", "hit@5", "MRR", "evidence")}, len(table.groups["all"])
    )


def judge(question: Question, paths: list[str], block: str) -> Figures:
    """Return the figures of one answer; white space counts as one blank, in texts and block alike."""
    wanted = {each.path.removesuffix(".md") for each in question.evidence}
    even = " ".join(block.split())
    there = sum(" ".join(each.text.split()) in even for each in question.evidence)
    return Figures(
        rank=next((rank for rank, path in enumerate(paths, 1) if path in wanted), 0),
        share=there / len(question.evidence),
        content=0.0,  # what search results show differs too much to compare
    )
