"""preference_bias: the bias where a drawn set of documents lacks one of the raters' cases."""

import pandas as pd
import pytest

from claimwise.experiments import preference_bias


def test_a_draw_without_one_of_the_cases_is_a_mean_over_the_others():
    rows = pd.DataFrame({"document_id": ["a", "b"], "case": ["model worse", "model better"]})
    rows = rows.assign(metric="m", judgment=[0, 1], difference=0.25, overlap=0.0)
    # Half of the draws have the judgments of one document only, and so one case.
    [row] = preference_bias.agreement(rows, draws=50, seed=0).to_dict("records")
    names = ("bias", "bias_at_equal_overlap", "bias_at_equal_overlap_low", "bias_at_equal_overlap_high")
    assert [row[name] for name in names] == pytest.approx([0.25] * 4)
