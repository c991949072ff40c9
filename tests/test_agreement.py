"""Correlations with people's ratings, compared with values worked by hand and with scipy's."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from claimwise.analysis import agreement


def test_kendall_system_by_hand():
    # Means a 1.5, b 3, c 2 against 1, 3, 4: pairs ab and ac agree, bc does not: (2 - 1) / 3.
    scores, human, systems = [1, 2, 3, 3, 2, 2], [1, 1, 2, 4, 4, 4], list("aabbcc")
    assert agreement.kendall_system(scores, human, systems) == pytest.approx(1 / 3)


def test_kendall_summary_by_hand():
    scores = [1, 2, 3, 1, 2, 3, 5, 5, 5, 9]
    human = [1, 2, 3, 1, 3, 2, 1, 2, 3, 9]
    documents = [*"aaabbbccc", "d"]
    # a: 1; b: (2 - 1) / 3; c has constant scores and d one summary: left out.
    assert agreement.kendall_summary(scores, human, documents) == (pytest.approx((1 + 1 / 3) / 2), 2)


def test_kendall_summary_without_any_order_is_nan():
    for scores, documents in (([1, 1], ["a", "a"]), ([1, 2], ["a", "b"])):
        tau, counted = agreement.kendall_summary(scores, [1, 2], documents)
        assert math.isnan(tau)
        assert counted == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=20))
def test_kendall_of_one_summary_a_system_is_tau_b(rows):
    scores, human = map(list, zip(*rows, strict=True))
    expected = stats.kendalltau(scores, human).statistic
    assert agreement.kendall_system(scores, human, range(len(rows))) == pytest.approx(expected, nan_ok=True)


def test_spearman_is_that_of_scipy():
    values = np.random.default_rng(1).integers(0, 6, (30, 3)).astype(float)  # ties, too
    expected = [stats.spearmanr(values[:, column], values[:, -1]).statistic for column in (0, 1)]
    assert agreement.spearman(values).tolist() == pytest.approx(expected)


def test_spearman_draws_whole_documents():
    # Two summaries a document, one order within each: whichever documents are drawn, the metric has the order of people.
    frame = pd.DataFrame({"metric": [1, 2, 3, 4], "human": [1, 2, 3, 4]}, index=list("aabb"))
    assert agreement.spearman_draws(frame, 20, seed=0) == pytest.approx(np.ones((20, 1)))
