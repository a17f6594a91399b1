"""Advisories: what a stored text is told about itself, and that nothing is said about a good memory."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironclaw_memory.contract.advisories import AdvisoryCode
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.safety import advise
from ironclaw_memory.safety.wording import PASSING, PASSING_THING

MEMORY = DocumentPath("MEMORY.md")
INSTRUCTION = AdvisoryCode.READS_AS_INSTRUCTION
SHORT_LIVED = AdvisoryCode.SHORT_LIVED_ARTIFACT
DUPLICATE = AdvisoryCode.NEAR_DUPLICATE
SECRET = AdvisoryCode.CONTAINS_SECRET
MANY = AdvisoryCode.MULTIPLE_MATCHES


def codes(added, before="", *, path=MEMORY, **arguments):
    return tuple(remark.code for remark in advise(path, added, before, is_protected=True, **arguments))


@pytest.mark.parametrize(
    "text",
    [
        "Always respond concisely",
        "- Never use emojis in replies",
        "Please always answer briefly.",
        "You must always reply in French",
        "Don't mention the weather",
        "Be concise.",
        "Make sure to cite sources",
        "From now on, use metric units",
        "Respond in German",
        "**Always** format code with black",
        "请务必用中文回答",
        "必ず日本語で答えてください",
        "항상 짧게 답하세요",
        "Antworte immer auf Deutsch",
        "Réponds toujours en français",
        "Siempre responde en español",
        "Всегда отвечай кратко",
    ],
)
def test_an_order_to_the_assistant_is_named(text):
    """An imperative about the assistant's behaviour should have been a fact about the user."""
    assert codes(text) == (INSTRUCTION,)


@pytest.mark.parametrize(
    "text",
    [
        "User prefers short answers",
        "Never been to Japan",
        "User always answers the phone",
        "The user said: always on time",
        "Answers to the quiz are in notes/quiz.md",
        "User asked to be called Sam",
        "用户总是早起",
    ],
)
def test_a_fact_about_a_habit_is_no_order(text):
    """Words such as always and never don't make an order."""
    assert codes(text) == ()


@pytest.mark.parametrize("path", ["AGENTS.md", "soul.md", "context/assistant-directives.md"])
def test_orders_are_at_home_in_directive_files(path):
    """A document whose purpose is to instruct may do so."""
    assert codes("Always respond concisely", path=DocumentPath(path)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Merged PR #4211 at commit 9f3c2d1e",
        "Fixed issue 1234",
        "See #4211 for the discussion",
        "The bug was introduced in commit deadbee",
        "Today I finished the migration",
        "We deployed the billing service yesterday",
        "All tests passed",
        "今天完成了登录页面",
    ],
)
def test_what_soon_means_nothing_is_named(text):
    """Numbers of pull requests, hashes of commits and news of the day don't belong in long-term memory."""
    assert codes(text) == (SHORT_LIVED,)


@pytest.mark.parametrize(
    "text",
    [
        "User was born in 1987 and lives at number 42",
        "The team uses SHA-256 and UTF-8",
        "User's favourite colour is #ff8800",
        "The café opens at 7 today's standard",
        "Use port 8080 for the proxy, said the admin",
        "# 2026 goals",
        "User is added to the defaced facade project",
    ],
)
def test_lasting_facts_with_figures_are_not_named(text):
    """A year, a port or a colour is no passing thing."""
    assert SHORT_LIVED not in codes(text)


def test_the_daily_log_is_the_place_for_today():
    """What happened today is what a daily log is for."""
    assert codes("Merged PR #4211", path=DocumentPath("daily/2026-12-01.md")) == ()


PASSING_TEXTS = st.one_of(*(st.from_regex(re.compile(pattern, re.IGNORECASE)) for pattern in PASSING))
WORDS = st.sampled_from(
    [
        "pr", "PRS", "issue", "ıssue", "bug", "no.", "number", "#", "4", "42", "٤٢", "commit: 9f3c2d1e", "deadbee",
        "today", "YESTERDAY", "just now", "we", "i", "fixed", "今天", "完成", "wip:", "tests are green",
        "currently fixing", "worK in progress", "ſha", "방금", "배포", ",",
    ]
)  # fmt: skip
SENTENCES = st.lists(WORDS, max_size=9).map(" ".join)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.one_of(PASSING_TEXTS, SENTENCES, st.text(max_size=20)), min_size=1, max_size=12))
def test_the_quick_look_overlooks_nothing(pieces):
    """Whatever a pattern of the table matches is named, as if each line had been tried on all of them."""
    added = "\n".join(pieces)
    lines = [line for line in added.splitlines() if line.strip()][:64]
    assert (SHORT_LIVED in codes(added)) is any(PASSING_THING.search(line) for line in lines)


BEFORE = "Always respond concisely\nMerged PR #4211 at commit 9f3c2d1e\nUser prefers green tea in the morning\n"


def test_a_near_duplicate_names_the_line_it_resembles():
    """A line that says what another says comes with that other line."""
    (remark,) = advise(MEMORY, "User prefers green tea in the mornings", BEFORE, is_protected=True)
    assert remark.code is DUPLICATE
    assert remark.line == "User prefers green tea in the morning"


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("User prefers green tea in the morning", "User prefers green tea in the morning"),
        ("* user prefers Green Tea in the morning!", "- User prefers green tea in the morning"),
        ("用户每天早上喜欢喝一杯热的绿茶", "用户每天早上喜欢喝一杯热绿茶"),
        ("User lives in Lyon with two cats.", "User lives in Lyon, with two cats"),
    ],
)
def test_wording_and_marks_do_not_hide_a_duplicate(line, there):
    """Bullets, letter case and punctuation don't count."""
    assert codes(line, there) == (DUPLICATE,)


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("User prefers coffee after lunch", "User prefers green tea in the morning"),
        ("Server 12 stands in Berlin", "Server 13 stands in Berlin"),
        ("User's sister is called Anna", "User's brother is called Tom"),
        ("## Food", "## Food"),
        ("User has a dog named Rex", "User has a boat named Freedom"),
    ],
)
def test_different_facts_are_no_duplicates(line, there):
    """Lines that share their form but not their content are both worth keeping."""
    assert codes(line, there) == ()


def test_a_credential_in_an_ordinary_note_is_named_first():
    """Outside prompt files a credential is stored, and the first thing said about."""
    note = DocumentPath("notes/keys.md")
    remarks = advise(note, "Always use AKIAIOSFODNN7EXAMPLQ", "")
    assert [remark.code for remark in remarks] == [SECRET, INSTRUCTION]
    assert not any("AKIA" in remark.message for remark in remarks)
    assert advise(note, "AKIAIOSFODNN7EXAMPLE", "") == ()


def test_a_patch_of_the_first_of_several_matches_says_how_many():
    """The number of matches comes with the remark."""
    (remark,) = advise(MEMORY, "coffee", "", is_protected=True, matches=3)
    assert (remark.code, remark.count) == (MANY, 3)
    assert codes("coffee", matches=1) == ()


@pytest.mark.timeout(20)
def test_a_large_document_costs_bounded_work():
    """Many lines added to a mebibyte are looked at within the bound, not each against each."""
    before = "".join(f"User fact {n:06} about the garden and the sea\n" for n in range(22_000))
    added = "\n".join(f"User fact about garden {'abcdefghij'[n % 10]} and the far sea" for n in range(500))
    start = time.perf_counter()
    advise(MEMORY, added, before)
    assert time.perf_counter() - start < 5
