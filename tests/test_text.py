"""Sentences and words with their positions."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pysbd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise import text

PIECES = st.sampled_from(
    [
        "Dr. Ames won. ",
        "It rained ",
        'She said: "No." ',
        "3.5 p.m. ",
        "\n",
        "\n\n- item ",
        "«Да».",
        "雨。",
        "\t",
        "...",
        "U.S. ",
        "1.4 M☉. ",
        "In B♭, ☝ 5 ",
        "\x1f1. ",
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=80))


@given(TEXTS)
def test_a_span_is_its_place_in_the_text(whole):
    spans = text.sentences(whole)
    assert all(whole[span.start : span.end] == span.text == span.text.strip() != "" for span in spans)
    assert all(one.end <= two.start for one, two in pairwise(spans))


@given(TEXTS)
def test_no_word_is_lost_between_sentences(whole):
    kept = "".join("".join(span.text for span in text.sentences(whole)).split())
    assert kept == "".join(whole.split())


def test_threads_read_at_once_what_each_reads_alone():
    texts = [f"Dr. No. {n} met {n} spies in Rome. It rained. He left at {n % 12} p.m. on foot." for n in range(400)]
    alone = list(map(text.sentences, texts))
    text._sentences.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(text.sentences, texts)) == alone


def test_no_character_of_a_text_is_taken_for_a_mark_of_pysbd():
    rules = Path(pysbd.__file__).parent.rglob("*.py")
    marks = sorted({char for rule in rules for char in rule.read_text(encoding="utf-8") if not char.isascii()})
    assert {"☉", "♭", "∯"} < set(marks)
    for mark in marks:
        first, second = f"The star has 1.4 M{mark} and is cold", f"It has B{mark} in it."
        spans = text.sentences(f"{first}. {second}")
        assert " ".join(span.text for span in spans) == f"{first}. {second}"


@pytest.mark.parametrize("whole", ["word " * 9_000, "x" * 45_000, " " * 21_000 + "word\t" * 9_000])
def test_a_sentence_without_end_is_cut_between_words(whole):
    spans = text.sentences(whole)
    assert len(spans) > 2
    assert max(len(span.text) for span in spans) <= 20_000
    assert "".join(whole.split()) == "".join("".join(span.text.split()) for span in spans)
    assert all(span.text.split()[-1] == whole.split()[-1] for span in spans if "x" not in span.text)


@given(TEXTS)
def test_a_sentence_never_crosses_a_line(whole):
    assert not any("\n" in span.text or "\r" in span.text for span in text.sentences(whole))


def test_abbreviations_numbers_and_quotes_do_not_end_sentences():
    whole = 'Mr. Lee paid $3.50 to Acme Inc. in Jan. 2019. "Why?" asked Ms. Ito.\r\nNobody knew'
    assert [span.text for span in text.sentences(whole)] == [
        "Mr. Lee paid $3.50 to Acme Inc. in Jan. 2019.",
        '"Why?" asked Ms. Ito.',
        "Nobody knew",
    ]


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        ("", []),
        ("Don't STOP", ["don't", "stop"]),
        ("co-op at 10:30, 1,200.5!", ["co-op", "at", "10:30", "1,200.5"]),
        ("Ça va, Müller?", ["ça", "va", "müller"]),
        ("Дождь шёл", ["дождь", "шёл"]),
    ],
)
def test_words(whole, expected):
    assert text.words(whole) == expected
    assert text.word_count(whole) == len(expected)


SENTENCES = [
    "Dr. Ames won 3.5 points.",
    "It rained on Mr. Lee!",
    "Did Acme Inc. pay $4.20?",
    "Nobody knew why that was so.",
]


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12), st.integers(1, 200))
def test_a_long_line_is_split_as_a_short_one(parts, window):
    whole = " ".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_WINDOW", window + len(max(SENTENCES, key=len)))
        text._sentences.cache_clear()
        found = [span.text for span in text.sentences(whole)]
    text._sentences.cache_clear()
    assert found == parts


def test_a_very_long_line_and_a_sentence_longer_than_the_window():
    whole = "Mr. Lee paid $3.50 again. " * 1_000 + "on " * 5_000 + "and on. It rained."
    found = [span.text for span in text.sentences(whole)]
    assert len(found) == 1_002
    assert set(found[:1_000]) == {"Mr. Lee paid $3.50 again."}
    assert found[-1] == "It rained."


@pytest.mark.parametrize(
    "item", ["a) b) c) d) ", "1. a 2. b ", "Dr. ", "U.S. ", "[a. ", "i. ii. iii. iv. ", "a) It b) We ", "!a ", "a! "]
)
def test_a_line_of_list_marks_and_abbreviations_alone_is_read_in_seconds(item):
    """pysbd compares each of them with all others: 5,000 characters took 1 to 80 seconds, ten times as many a minute."""
    whole = item * (50_000 // len(item)) + "and it rained. We left."
    start = time.process_time()
    found = text.sentences(whole)
    assert time.process_time() - start < 1
    assert found[-1].text == "We left."
    assert "".join("".join(span.text.split()) for span in found) == "".join(whole.split())


def test_initials_abbreviations_and_decimals_among_words_are_not_taken_for_such_a_line():
    parts = ["J. R. R. Lee and A. B. Ames paid $3.50 to Dr. Bo."] * 30
    assert [span.text for span in text.sentences(" ".join(parts))] == parts
