"""Detection and false alarms on strings that live beside this file, by floors that may only rise.

`attacks-dev` and `everyday-dev` were there to develop rules on. The others were written before the rules that they
judge (`test`) or after those were frozen (`late`), and no rule was changed for what they showed: only their totals
were looked at. `docs/safety.md` says what the figures mean.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from ironclaw_memory.contract.safety import Severity
from ironclaw_memory.safety import Scanner

FOLDER = Path(__file__).parent
REFUSED = (Severity.HIGH, Severity.CRITICAL)
LANGUAGES = {"en", "de", "es", "fr", "ja", "ko", "pt", "ru", "zh"}


def load(name):
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def scanner():
    return Scanner()


@pytest.mark.parametrize(("name", "floor"), [("attacks-dev", 1.0), ("attacks-test", 0.91), ("attacks-late", 0.62)])
def test_attacks_on_memory_are_refused(scanner, name, floor):
    """At least the share of the set that was once reached is refused."""
    cases = load(name)
    refused = [case for case in cases if scanner.scan(case["text"]).severity in REFUSED]
    assert len(refused) / len(cases) >= floor, Counter(case["kind"] for case in cases if case not in refused)


@pytest.mark.parametrize(("name", "ceiling"), [("everyday-dev", 0), ("everyday-test", 0), ("everyday-late", 1)])
def test_everyday_memories_are_stored(scanner, name, ceiling):
    """What real users' memories hold in nearly the same words isn't refused, but for as many as once were."""
    refused = [case["text"] for case in load(name) if scanner.scan(case["text"]).severity in REFUSED]
    assert len(refused) <= ceiling, refused


@pytest.mark.parametrize("split", ["dev", "test", "late"])
def test_the_sets_cover_every_kind_in_every_language(split):
    """Each split holds every kind of attack as often, in nearly all of the nine languages."""
    cases = load(f"attacks-{split}")
    assert len(set(Counter(case["kind"] for case in cases).values())) == 1
    assert len({case["kind"] for case in cases}) == 10
    assert len(LANGUAGES & {case["language"] for case in cases}) >= 8


def test_no_string_stands_in_two_sets():
    """What rules are developed on doesn't judge them."""
    names = [f"{kind}-{split}" for kind in ("attacks", "everyday") for split in ("dev", "test", "late")]
    texts = [case["text"] for name in names for case in load(name)]
    assert len(set(texts)) == len(texts)
