"""The one analysis: which texts come to share a term."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.index.analysis import MAX_QUERY_TERMS, analyse, analyse_query, read_tokens
from ironclaw_memory.index.dates import date_terms, day_number
from ironclaw_memory.index.languages import stem

ENGLISH = ("english",)


def terms(text):
    return set(analyse(text, "english")[0])


def wishes(text, languages=ENGLISH):
    return {variant for wish in analyse_query(text, languages) for variant in wish.variants}


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("She was running", "run"),
        ("a long run", "RUNNING"),
        ("Élodie", "elodie"),
        ("elodie", "ÉLODIE"),
        ("ПРИВЕТ", "привет"),
        ("STRASSE", "straße"),
        ("ＡＢＣ", "abc"),
        ("Smørrebrød", "smorrebrod"),
        (unicodedata.normalize("NFD", "café"), unicodedata.normalize("NFC", "café")),
        ("great!", "great"),
        ("it's late", "it's"),
        ("O'Brien called", "obrien"),
        ("the user’s bike", "user"),
        ("getUserName", "user name"),
        ("user name", "getUserName"),
        ("snake_case_id", "case id"),
        ("XMLHttpRequest", "http"),
        ("gpt-4", "gpt4"),
        ("gpt-4", "GPT 4"),
        ("e-mail", "email"),
        ("C++", "C++"),
        ("C#", "c#"),
        ("20.04", "20.04"),
        ("1,000 users", "1000"),
        ("bob@example.com", "example.com"),
        ("src/main/app.py", "app.py"),
        ("我喜欢喝绿茶", "绿茶"),
        ("我喜欢喝绿茶", "茶"),
        ("我喜欢喝绿茶", "用户喜欢什么茶"),
        ("今日Pythonを学んだ", "python"),
        ("東京タワー", "東京"),
        ("커피를 마신다", "커피"),
        ("ผู้ใช้ชอบชาเขียว", "ชาเขียว"),
        ("नमस्ते दुनिया", "दुनिया"),
        ("dated 2023-05-08", "8 May, 2023"),
        ("daily/2023-05-08.md", "in May 2023"),
        ("2023年5月8日", "May 8th, 2023"),
    ],
)
def test_document_and_query_share_a_term(document, query):
    """Spellings of one thing meet in at least one term, whichever of the two is the document."""
    assert terms(document) & wishes(query)


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("tea", "team"),
        ("C++", "C#"),
        ("20.04", "2004"),
        ("8 May 2023", "9 June 2024 ad"),
        ("绿茶", "红酒"),
        ("йод", "иод"),
    ],
)
def test_different_things_share_no_term(document, query):
    """Analysis doesn't throw together what people keep apart."""
    assert not terms(document) & wishes(query)


def test_a_name_without_marks_differs_from_the_language():
    """`C++` asks for more than `C`: the whole name is a term of its own."""
    assert terms("C++") - terms("C")


@pytest.mark.parametrize("query", ["to be or not to be", "AND", "the", "who are you", "не"])
def test_function_words_alone_are_searched(query):
    """A query of nothing but function words is not empty."""
    assert wishes(query) & terms(query)


def test_function_words_beside_others_are_left_out():
    """A question asks for its telling words only."""
    assert wishes("what is the tea") == wishes("tea")


@pytest.mark.parametrize("query", ["*", "(", "...", "🙂", "\u200b"])
def test_a_query_without_words_asks_for_nothing(query):
    """Punctuation alone is a legal query that matches nothing."""
    assert analyse_query(query, ENGLISH) == []


def test_a_query_has_at_most_64_terms():
    """Long queries are cut, so a search stays bounded."""
    words = " ".join(f"word{chr(97 + i % 26)}{i}" for i in range(400))
    assert 50 < len(analyse_query(words, ENGLISH)) <= MAX_QUERY_TERMS


def test_words_are_stemmed_by_the_language_of_their_passage():
    """A German passage is stemmed as German, and a query without context finds it where German is indexed."""
    numbers, language = analyse("Die Hunde sind mit der Katze und dem Kind in den Gärten", "english")
    assert language == "german"
    assert set(numbers) & wishes("Hund", ("english", "german"))
    assert set(numbers) & wishes("Garten", ("english", "german"))


@given(st.text(max_size=300))
def test_any_text_is_analysed(text):
    """No text is an error, and every term of a document can be asked for."""
    numbers, language = analyse(text, "english")
    assert all(0 <= number < 2**32 for number in numbers)
    assert len(analyse_query(text, ("english", language))) <= MAX_QUERY_TERMS


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=12))
def test_what_was_written_can_be_asked_for(word):
    """A word finds itself."""
    if any(read_tokens(word)):
        assert terms(word) & wishes(word)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-12-01", 739951),
        ("1 December 2026", 739951),
        ("December 1st, 2026", 739951),
        ("2026/12/01", 739951),
        ("1:56 pm on 1 Dec, 2026", 739951),
        ("31 February 2026", None),
        ("2026", None),
        ("v2026.13.40", None),
    ],
)
def test_dates_are_recognised(text, day):
    """Usual spellings of a day give its number; what is no day gives none."""
    assert day_number(text) == day


def test_a_date_gives_its_day_and_its_month():
    """Both the day and the month of a date can be asked for."""
    assert date_terms("on 8 May 2023 and 9 May 2023") == ["2023-05-08", "2023-05", "2023-05-09"]


@pytest.mark.parametrize(
    ("asked", "written"),
    [("see", "seen"), ("buy", "bought"), ("teaching", "taught"), ("child", "children"), ("knife", "knives")],
)
def test_irregular_forms_of_a_word_are_one_term(asked, written):
    """English forms that no ending tells apart meet: a question asks `did she buy`, a note says `bought`."""
    assert set(analyse(asked, "english")[0]) & set(analyse(written, "english")[0])


def test_irregular_forms_are_english_only():
    """A word of another language that looks like such a form stays what it is."""
    assert analyse("mice", "italian")[0] != analyse("mouse", "italian")[0]


def test_threads_do_not_spoil_each_others_stems():
    """A stemmer keeps the word that it works on; threads that stem at the same time get what one alone gets."""
    words = [
        f"{first}{last}" for first in ("nation", "connect", "relat", "gener") for last in ("al", "ions", "ing", "ed")
    ]
    alone = [stem.__wrapped__(word, "english") for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda _: [stem.__wrapped__(word, "english") for word in words], range(200)))
    finally:
        sys.setswitchinterval(interval)
    assert all(each == alone for each in together)
