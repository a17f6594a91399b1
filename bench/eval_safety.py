"""Measures the prompt-write check: what it refuses of attacks, what it refuses of ordinary text, and how fast it is.

Usage: python -m bench.eval_safety [--dir DIR] [--attacks FILE ...] [--benign FILE-OR-FOLDER ...] [--show N]
                                   [--half odd|even]

A file is JSON (a list of texts, or of objects with a `prompt` or `text`; or an object of such lists), JSON Lines of
the same, CSV with a `prompt` column, or text with one case a line; a folder is searched for Markdown, each file one
case. `--dir` names a folder with `attacks/` and `benign/` in it, of such files and folders. The strings of
`tests/safety` are always measured; larger sets aren't part of the repository. `--half` takes every other case, by hash,
so that rules can be developed on one half and judged on the other. Speed is measured on the benign folders' Markdown
too.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ironclaw_memory.contract.safety import Severity
from ironclaw_memory.safety import Scanner, find_secrets
from ironclaw_memory.safety.rules import load_rules

REFUSED = (Severity.HIGH, Severity.CRITICAL)
PLAIN = "The user drinks green tea in the morning and walks along the river - rain or shine, the path is short. "
OWN = Path(__file__).parents[1] / "tests" / "safety"
TYPESET = "The user’s tea → green, café at 7 – “no sugar” ✅ 👩‍💻, see §2… "


def cases_in(path: Path) -> Iterator[str]:
    """Yield the cases of a file or of a folder of Markdown."""
    if path.is_dir():
        yield from (text for file in sorted(path.rglob("*.md")) if (text := _read(file)).strip())
    elif path.suffix == ".json":
        yield from _texts_in(json.loads(_read(path)))
    elif path.suffix == ".jsonl":
        yield from _texts_in([json.loads(line) for line in _read(path).splitlines()])
    elif path.suffix == ".csv":
        yield from (row["prompt"] for row in csv.DictReader(_read(path).splitlines(keepends=True)))
    elif path.suffix == ".md":
        yield _read(path)
    else:
        yield from (line for line in _read(path).splitlines() if line.strip())


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts_in(value.get("prompt") or value.get("text") or list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from _texts_in(part)


def half_of(texts: Iterable[str], half: str | None) -> list[str]:
    """Return the texts, or the half of them that a hash puts aside."""
    return [text for text in texts if half is None or _side(text) == half]


def _side(text: str) -> str:
    return "odd" if hashlib.sha256(text.encode("utf-8", "replace")).digest()[0] & 1 else "even"


def measure(scanner: Scanner, name: str, texts: list[str], *, benign: bool, show: int) -> None:
    """Print the share of the texts that is refused and warned about, and the rules that did it."""
    verdicts = [(text, scanner.scan(text)) for text in texts]
    refused = [(text, verdict) for text, verdict in verdicts if verdict.severity in REFUSED]
    warned = sum(verdict.findings > 0 for _, verdict in verdicts) - len(refused)
    secret = sum(bool(find_secrets(text)) for text in texts)
    share = 100 * len(refused) / max(1, len(texts))
    print(f"{name}: {len(texts)} texts, {share:.1f} % refused, {warned} warned, {secret} with a credential")
    for rule, count in Counter(rule for _, verdict in refused for rule in verdict.rule_ids).most_common(12):
        print(f"    {count:5} {rule}")
    wrong = refused if benign else [(t, v) for t, v in verdicts if v.severity not in REFUSED]
    for text, verdict in wrong[:show]:
        print(f"    {'REFUSED' if benign else 'MISSED'} {verdict.rule_ids} {text[:300]!r}")


def measure_speed(scanner: Scanner, documents: list[str]) -> None:
    """Print what a check takes for 2,000 characters, the verdict not remembered, in microseconds of processor time."""
    for name, unit in (("ascii", PLAIN), ("typeset", TYPESET)):
        for length in (2_000, 16_000, 1_000_000):
            text = (unit * (length // len(unit) + 1))[:length]
            times = [_time(scanner, text) for _ in range(50 if length < 100_000 else 3)]
            scan, secrets = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
            print(f"speed: {name} {length} characters: rules {scan:.0f} us, credentials {secrets:.0f} us")
    pages = [text[:2_000] for text in documents if len(text) >= 1_500]
    if pages:
        rounds = [[_time(scanner, page) for page in pages] for _ in range(5)]
        scan, secrets = (min(sum(t[part] for t in r) for r in rounds) / len(pages) * 1e6 for part in (0, 1))
        print(
            f"speed: {len(pages)} documents' first 2,000 characters, mean of the best of 5 rounds:"
            f" rules {scan:.0f} us, credentials {secrets:.0f} us"
        )


def _time(scanner: Scanner, text: str) -> tuple[float, float]:
    start = time.thread_time()
    scanner.scan(text)
    middle = time.thread_time()
    find_secrets(text)
    return middle - start, time.thread_time() - middle


def main() -> None:
    """Run the measurements that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attacks", nargs="*", type=Path, default=[])
    parser.add_argument("--benign", nargs="*", type=Path, default=[])
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--half", choices=("odd", "even"))
    parser.add_argument("--dir", type=Path)
    options = parser.parse_args()
    attacks = [*sorted(OWN.glob("attacks-*.jsonl")), *options.attacks]
    benign = [*sorted(OWN.glob("everyday-*.jsonl")), *options.benign]
    if options.dir:
        attacks += sorted((options.dir / "attacks").iterdir())
        benign += sorted((options.dir / "benign").iterdir())
    scanner = Scanner(cache_size=0)
    rules = load_rules().rules
    measure(scanner, "rules' own attacks", [t for rule in rules for t in rule.match], benign=False, show=0)
    measure(scanner, "rules' own near misses", [t for rule in rules for t in rule.near], benign=True, show=options.show)
    for path in attacks:
        measure(scanner, str(path), half_of(cases_in(path), options.half), benign=False, show=options.show)
    for path in benign:
        measure(scanner, str(path), half_of(cases_in(path), options.half), benign=True, show=options.show)
    measure_speed(scanner, [text for path in benign if path.is_dir() for text in cases_in(path)])


if __name__ == "__main__":
    main()
