"""Holds search to what it recalls of the set beside this file, through a running service.

A floor is a question or two below what is reached, so that a change that costs more than it brings is seen, whatever
it was made for. Raise a floor when the figures rise; lower one only with the reason in the commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.eval_recall import measure
from bench.recall import Table

FLOORS = {
    # group: hit@5, evidence in the context of a prompt
    "all": (0.930, 0.930),
    "language code": (0.96, 0.96),
    "language de": (0.91, 0.95),
    "language en": (0.81, 0.81),
    "language ja": (0.92, 0.85),
    "language ko": (0.95, 0.95),
    "language th": (0.88, 0.88),
    "language zh": (0.96, 0.95),
    "type date": (0.88, 0.96),
    "type exact": (0.97, 0.97),
    "type identifier": (1.00, 1.00),
    "type inflected": (0.96, 0.96),
    "type multi_fact": (0.92, 0.90),
    "type paraphrased": (0.78, 0.75),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Every answerable question, asked once."""
    return measure(Path(tmp_path_factory.mktemp("recall")))


@pytest.mark.parametrize("group", FLOORS)
def test_recall_stays_above_its_floor(table, group):
    """The answering document is among the first five, and the answer is in the context, about as often as ever."""
    means = table.means(group)
    hit, evidence = FLOORS[group]
    assert means["hit@5"] >= hit
    assert means["evidence"] >= evidence


def test_every_group_has_a_floor(table):
    """No language and no kind of question can fall unseen."""
    assert set(table.groups) == set(FLOORS)
