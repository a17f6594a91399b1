"""The texts and questions of a run, the same for everybody, in a file that the drivers read.

With a data set the facts are its turns, each a text of its own, and its questions are asked of whole conversations too.
Without, facts are lines of the repository's own texts, on whose questions the service was developed: nothing is said
about recall then. Words are real ones in any case: made-up ones cost a model that embeds them several times as much.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compare.subjects import document_lines
from bench.eval_locomo import read_questions, read_sessions
from bench.eval_recall import RECALL
from bench.recall import Evidence

OWN = ("en", "code")
"""What of the repository's texts a model of English knows."""
SHORTEST = 20
"""Characters of a turn that counts as a fact."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, its kind, and the texts that answer it."""

    text: str
    kind: str
    evidence: list[Evidence]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Documents by path, and questions about them."""

    documents: dict[str, str]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Material:
    """What a run works with: facts and questions for speed, conversations for recall."""

    facts: list[str]
    questions: list[str]
    conversations: list[Conversation]

    def write(self, path: Path) -> None:
        """Write it for the drivers, which aren't told the answers."""
        told = {
            "facts": self.facts,
            "questions": self.questions,
            "conversations": [
                {"documents": each.documents, "questions": [{"text": question.text} for question in each.questions]}
                for each in self.conversations
            ],
        }
        path.write_text(json.dumps(told), "utf-8")


def read_own() -> Material:
    """Return material without a data set: lines and questions of the repository's own English texts."""
    documents = [each for name in OWN for each in json.loads((RECALL / "corpus" / f"{name}.json").read_text("utf-8"))]
    lines = [line for each in documents for line in document_lines(each["content"]) if len(line) >= SHORTEST]
    questions = json.loads((RECALL / "questions.json").read_text("utf-8"))
    return Material(list(dict.fromkeys(lines)), [each["query"] for each in questions if each["lang"] in OWN], [])


def read_locomo(path: Path, conversations: int, questions: int) -> Material:
    """Return material from LoCoMo's JSON.

    Args:
        path: the file.
        conversations: how many of its conversations are asked about at most.
        questions: how many questions of each at most, taken evenly.
    """
    samples = json.loads(path.read_text("utf-8"))
    told = [_read_conversation(sample, questions) for sample in samples]
    lines = [line for each in told for text in each.documents.values() for line in document_lines(text)]
    facts = [line for line in lines if len(line) >= SHORTEST]
    asked = [question.text for each in told for question in each.questions]
    return Material(facts, asked, told[:conversations])


def _read_conversation(sample: dict[str, Any], questions: int) -> Conversation:
    documents, turns = read_sessions(sample["conversation"])
    every = [Question(text, kind, evidence) for kind, text, evidence in read_questions(sample, turns)]
    step = max(1, -(-len(every) // questions))
    return Conversation(documents, every[::step])
