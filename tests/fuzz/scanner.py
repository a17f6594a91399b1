"""The scanner gives every text a verdict, and its gate passes over nothing that a pattern matches."""

from collections.abc import Iterator

from ironclaw_memory.contract.safety import Severity
from ironclaw_memory.safety import Scanner, view
from ironclaw_memory.safety.gate import REACH
from ironclaw_memory.safety.pattern_set import Patterns, PatternSet, to_bytes
from ironclaw_memory.safety.rules import load_rules

RULES = load_rules().rules
ENTRIES = [(pattern,) for rule in RULES for pattern in rule.patterns] + [s for rule in RULES for s in rule.together]
PATTERNS = Patterns(ignore_case=True)
SET = PatternSet(ENTRIES, ignore_case=True)
SCANNER = Scanner(cache_size=0)


def seeds() -> Iterator[bytes]:
    """Yield what to begin with: the rules' own strings."""
    yield from (text.encode() for rule in RULES for text in (*rule.match, *rule.near))


def check(data: bytes) -> None:
    """Read the bytes as a text."""
    text = data.decode("utf-8", "surrogateescape")
    verdict = SCANNER.scan(text)
    assert verdict.severity in Severity
    assert verdict.findings == len(verdict.rule_ids) == len(SCANNER.explain(text))
    folded = view.fold(text)
    assert view.fold(folded) == folded
    encoded = to_bytes(text)
    if len(encoded) <= REACH:
        matching = {place for place, entry in enumerate(ENTRIES) if all(PATTERNS[p].search(encoded) for p in entry)}
        assert matching <= set(SET.matches(text, encoded))
