"""Answers with little of a model's probability: from where on they are marked."""

import pytest
from test_language import ZERO, model

from claimwise.models.replies import Reply


@pytest.mark.parametrize(("yes", "no", "reason"), [(0.06, 0.03, "improbable"), (0.08, 0.03, None)])
def test_answers_with_less_than_a_tenth_of_the_probability_are_marked(yes, no, reason):
    [[verdict]] = model(lambda prompt: Reply(probabilities=(yes, no))).verify(["D."], [["C."]], ZERO)
    assert verdict.support == pytest.approx(yes / (yes + no))
    assert verdict.reason == reason
