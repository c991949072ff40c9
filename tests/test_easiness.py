"""Easiness, compared with rouge-score, with a literal reading of FENICE's equations, and on ROSE."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from claimwise.analysis.easiness import easiness, rouge1_f1, rouge_l_f1, state_similarity
from claimwise_embedded.encoder import shared_encoder, word_encoder
from claimwise_embedded.evidence import word_spans

ROUGE = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
WORDS = st.lists(st.sampled_from("run running runs cats cat the of 3.5 U.S. naïve 東京 -".split()), max_size=8).map(
    " ".join
)
TEXT = st.one_of(WORDS, st.text(max_size=40))
CLAIMS = st.lists(WORDS.filter(str.strip), min_size=1, max_size=5)


@given(TEXT, TEXT)
def test_rouge1_equals_rouge_score(first, second):
    assert rouge1_f1(first, second) == pytest.approx(ROUGE.score(first, second)["rouge1"].fmeasure, abs=1e-12)
    assert rouge1_f1(first, second) == rouge1_f1(second, first)


@given(TEXT, TEXT)
def test_rouge_l_equals_rouge_score(first, second):
    assert rouge_l_f1(first, second) == ROUGE.score(first, second)["rougeL"].fmeasure


def test_rouge1_by_hand():
    # Stemmed: the cat sat | the cat sit down: 2 common words, 3 + 4 words.
    assert rouge1_f1("The cats sat.", "the cat sits down") == pytest.approx(4 / 7)
    # A word counts as often as both have it.
    assert rouge1_f1("no no no", "no") == pytest.approx(2 / 4)
    assert rouge1_f1("", "") == rouge1_f1("...", "word") == 0


def test_rouge_l_sees_the_order_and_rouge_1_does_not():
    assert rouge1_f1("b a", "a b") == 1
    assert rouge_l_f1("b a", "a b") == 0.5


def test_easiness_by_hand():
    # Best matches: "a b" 1, "c d e" 2*2/(3+2)=.8, "x" 0 -> P .6; gold "a b" 1, "c d" .8 -> R .9.
    precision, recall, f1 = easiness(["a b", "c d e", "x"], ["a b", "c d"])
    assert (precision, recall) == pytest.approx((0.6, 0.9))
    assert f1 == pytest.approx(2 * 0.6 * 0.9 / 1.5)


@given(CLAIMS, CLAIMS)
def test_easiness_is_fenices_equations_9_and_10(generated, gold):
    precision = 0.0
    for claim in generated:
        precision += max(ROUGE.score(reference, claim)["rouge1"].fmeasure for reference in gold) / len(generated)
    recall = 0.0
    for reference in gold:
        recall += max(ROUGE.score(reference, claim)["rouge1"].fmeasure for claim in generated) / len(gold)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert easiness(generated, gold) == pytest.approx((precision, recall, f1))


#: States by the word, of unit length.
VECTORS = {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0.6, 0.8, 0)}


def test_matched_states_by_hand():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return [np.array([VECTORS[word] for word in text.strip(".").split()]).reshape(-1, 3) for text in texts]

    similarity = state_similarity(["a b", "c", "a b", "..."], encode)
    assert asked == ["a b", "c", "..."]
    # c is .6 to a and .8 to b: P = (.6 + .8) / 2, R = .8.
    assert similarity("a b", "c") == pytest.approx(2 * 0.7 * 0.8 / 1.5) == similarity("c", "a b")
    assert similarity("a b", "a b") == pytest.approx(1)
    assert similarity("a b", "...") == 0
    assert easiness(["a b"], ["c", "a b"], similarity)[:2] == pytest.approx((1, (similarity("c", "a b") + 1) / 2))


def test_matched_states_of_the_encoder_see_meaning_where_words_differ():
    texts = ["The boss left.", "The manager departed.", "Rain fell in Peru."]
    similarity = state_similarity(texts, word_encoder())
    assert similarity(texts[0], texts[1]) > similarity(texts[0], texts[2])
    assert rouge1_f1(texts[0], texts[1]) == pytest.approx(1 / 3)


def test_states_do_not_depend_on_what_the_process_has_encoded_before():
    # In half precision they do depend on the texts of their batch, which the shared encoder's memory changes.
    texts = ["A man bought a car.", "Someone purchased an old vehicle on the last day of May.", "It rained."]
    shared_encoder().encode(texts[:1], [word_spans(texts[0])])
    first, second = (state_similarity(texts, word_encoder()) for _ in range(2))
    assert first(texts[0], texts[1]) == second(texts[0], texts[1])


@given(CLAIMS, CLAIMS)
def test_swapping_the_sides_swaps_precision_and_recall(generated, gold):
    precision, recall, f1 = easiness(generated, gold)
    assert easiness(gold, generated) == pytest.approx((recall, precision, f1))
    assert 0 <= min(precision, recall) <= f1 + 1e-12
    assert f1 <= max(precision, recall) + 1e-12 <= 1 + 1e-9


@given(CLAIMS, st.randoms())
def test_repeating_and_reordering_perfect_claims_changes_nothing(gold, random):
    gold = [claim for claim in gold if rouge1_f1(claim, claim)] or ["cat"]
    again = gold * 2
    random.shuffle(again)
    assert easiness(again, gold) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize(("generated", "gold"), [([], ["a"]), (["a"], []), ([], [])])
def test_no_claims_are_nan_and_not_zero(generated, gold):
    assert all(math.isnan(value) for value in easiness(generated, gold))


@pytest.mark.parametrize(
    ("origin", "decomposer", "expected"),
    [
        ("cnndm", "fenice-t5", (77.7, 64.3, 70.2)),
        ("cnndm", "gpt-3.5-turbo", (78.5, 67.3, 72.3)),
        ("xsum", "fenice-t5", (78.1, 66.1, 71.3)),
        ("xsum", "gpt-3.5-turbo", (75.9, 71.4, 73.3)),
        ("samsum", "fenice-t5", (85.6, 79.4, 82.3)),
        ("samsum", "gpt-3.5-turbo", (85.9, 83.2, 84.3)),
    ],
)
def test_rose_from_the_public_claims(published_corpus, origin, decomposer, expected):
    rose = published_corpus("rose")
    test = rose.examples[(rose.examples["origin"] == origin) & (rose.examples["split"] == "test")]
    recorded = rose.recorded_claims[rose.recorded_claims["decomposer"] == decomposer]
    made, gold = (
        table[table["example_id"].isin(test["id"])].groupby("example_id")["claim"].agg(list)
        for table in (recorded, rose.gold_claims)
    )
    rows = [easiness(made[key], gold[key]) for key in test["id"]]
    assert 100 * np.mean(rows, axis=0) == pytest.approx(expected, abs=0.1)
