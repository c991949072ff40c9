"""Judges of whole summaries."""

import math
from collections import Counter

import pytest
from fakes import FakeModel
from hypothesis import given
from hypothesis import strategies as st

from claimwise import prompts, text
from claimwise.metrics import judge as holistic


def test_word_overlap_clips_repeated_words():
    # the 1 of 2, cat 1 of 1, sat 0: 2 of 4.
    [judgement] = holistic.WordOverlap().judge(["The cat ran."], ["the the cat sat"])
    assert judgement.score == 0.5


WORDS = st.lists(st.sampled_from("the cat sat on a mat 3.5 naïve".split()), min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_word_overlap_is_unigram_precision(document, summary):
    expected = sum(min(count, document.count(word)) for word, count in Counter(summary).items()) / len(summary)
    [judgement] = holistic.WordOverlap().judge([" ".join(document)], [" ".join(summary)])
    assert judgement.score == pytest.approx(expected)
    assert 0 <= judgement.score <= 1


@given(st.text(max_size=40))
def test_a_text_overlaps_with_itself_wholly_or_has_no_words(whole):
    [judgement] = holistic.WordOverlap().judge([whole], [whole])
    assert judgement.score == 1 if text.words(whole) else judgement.reason


@pytest.mark.parametrize(
    "judge", [holistic.judge("word-overlap", None), holistic.judge("belugaeval-judge-consistency", FakeModel())]
)
@pytest.mark.parametrize(
    ("document", "summary", "reason"),
    [("", "It rained.", "empty document"), ("It rained.", " ", "empty summary"), ("", "", "empty document")],
)
def test_a_blank_text_is_nan_with_a_reason(judge, document, summary, reason):
    first, blank, last = judge(["It rained.", document, "a b"], ["It rained.", summary, "a c"])
    assert (first.score, last.score) == (1, 0.5)
    assert math.isnan(blank.score)
    assert blank.reason == reason


def test_a_summary_in_another_script_scores_zero_and_punctuation_has_no_words():
    one, two = holistic.WordOverlap().judge(["It rained."] * 2, ["Шёл дождь.", "…!"])
    assert (one.score, one.reason) == (0, None)
    assert math.isnan(two.score)
    assert two.reason == "the summary has no words"


def test_a_prompted_judge_asks_about_the_pairs_with_text_only():
    model = FakeModel()
    judge = holistic.judge("belugaeval-judge-consistency", model)
    found = judge(["It rained.", "", "It rained."], ["It rained.", "x", "mumble"])
    assert [judgement.reason for judgement in found] == [None, "empty document", "no rating in the reply"]
    assert model.calls["judge"] == 2


def test_an_unknown_judge_lists_the_prompts():
    with pytest.raises(prompts.PromptError, match=r"no prompt named 'wordoverlap'; `claimwise prompts` lists"):
        holistic.judge("wordoverlap", FakeModel())
