"""leaderboard: what systems are compared on, and what is certain of their differences."""

import pandas as pd
import pytest

from claimwise.corpora.base import Rows
from claimwise.experiments import leaderboard


def test_only_documents_that_every_system_summarised_are_compared():
    rows = Rows("made")
    keys = [
        rows.example(day, system, document=f"It rained on day {day} in Rome.", summary=f"It rained on day {day} there.")
        for day, system in (("1", "one"), ("1", "other"), ("2", "one"))
    ]
    scores = {"m": pd.DataFrame({"example_id": keys, "score": [1.0, 0.5, 0.0], "reason": None})}
    assert leaderboard.summaries(rows.corpus(), scores)["id"].tolist() == keys[:2]
    table = leaderboard.table(rows.corpus(), scores, draws=20, seed=0).set_index("system")
    assert table["n"].to_dict() == {"one": 1, "other": 1}
    assert table["m"].to_dict() == {"one": 1, "other": 0.5}


@pytest.mark.parametrize(("other", "p"), [([0.5, 0.25], 0), ([0.75, 0.5], 1)])
def test_a_gap_that_is_the_same_on_every_document_is_certain(other, p):
    frame = pd.DataFrame({"document_id": [*"xyxy"], "system": [*"aabb"], "answered": True, "m": [0.75, 0.5, *other]})
    assert leaderboard.pairs(frame, "m")["p"].tolist() == [p]
