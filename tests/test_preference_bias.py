"""preference_bias: a user's own raters by hand, and differences at equal overlap, compared with a regression."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from imports import ROOT
from texts import PAIRS

from claimwise import params, stages
from claimwise.analysis.bootstrap import bootstrap_interval
from claimwise.analysis.measures import adjusted_mean, intercepts

CASES = ("model worse", "equal", "model better")


@pytest.mark.parametrize("extra", [0.0, 0.2, -0.1])
def test_what_the_covariate_explains_is_not_left(extra):
    # Half a point a tenth of overlap, and ``extra`` beside it: what is left is ``extra``, whatever the raw mean is.
    case, overlap = np.repeat(CASES, 3), np.tile([0.1, 0.3, 0.5], 3)
    difference = 0.5 * overlap + extra
    assert intercepts(difference, overlap, case) == pytest.approx([extra] * 3)
    assert adjusted_mean(difference, overlap, case) == pytest.approx(extra)
    documents = np.arange(9)
    assert bootstrap_interval(adjusted_mean, difference, overlap, case, groups=documents) == pytest.approx([extra] * 3)


def test_where_the_covariate_does_not_vary_the_mean_stays_as_it_is():
    assert intercepts([0.1, 0.3, 0.6], [0.1, 0.1, 0.2], ["x", "x", "y"]) == pytest.approx([0.2, 0.6])


def test_strata_count_alike_whatever_their_size():
    assert adjusted_mean([0.1] * 9 + [0.5], np.zeros(10), ["x"] * 9 + ["y"]) == pytest.approx(0.3)


def test_a_draw_without_one_of_the_strata_is_a_mean_over_the_others():
    # Half of the draws have the rows of one document only, and so one stratum.
    interval = bootstrap_interval(adjusted_mean, [0.25, 0.25], [0, 0], ["x", "y"], groups=["a", "b"], draws=50)
    assert interval == pytest.approx([0.25] * 3)
    one_missing = intercepts([0.25, 0.5], [0, 0], ["x", "y"], weights=np.array([[2, 0], [1, 1]]))
    assert one_missing == pytest.approx(np.array([[0.25, np.nan], [0.25, 0.5]]), nan_ok=True)


def test_the_interval_is_that_of_a_regression_on_drawn_documents():
    # Strata of equal size: least squares with a dummy a stratum is the same estimator.
    generator = np.random.default_rng(5)
    rows = pd.DataFrame({"case": np.tile(CASES, 20), "overlap": generator.integers(0, 6, 60) / 10})
    rows["difference"] = 0.1 + 0.5 * rows["overlap"] + 0.05 * generator.normal(size=60)

    def by_regression(frame):
        design = np.column_stack([frame["overlap"], pd.get_dummies(frame["case"]).to_numpy(float)])
        return np.linalg.lstsq(design, frame["difference"], rcond=None)[0][1:].mean()

    found = bootstrap_interval(adjusted_mean, rows["difference"], rows["overlap"], rows["case"])
    assert found.value == pytest.approx(by_regression(rows))
    drawn = [by_regression(rows.sample(frac=1, replace=True, random_state=draw)) for draw in range(500)]
    assert [found.low, found.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.01)


PREFERRED = {"ferry": "first", "mill": "first", "storm": "second", "dam": "second"}  # nobody says equal


def test_metrics_are_compared_with_ones_own_raters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("data/own", "notebooks"):
        Path(folder).mkdir(parents=True)
    Path("data/sample").symlink_to(ROOT / "data/sample")  # its worked example
    Path("notebooks/preference_bias.ipynb").write_bytes((ROOT / "notebooks/preference_bias.ipynb").read_bytes())
    PAIRS.to_csv("data/own/mine.csv", index=False)
    judged = [(f"{key}-person", f"{key}-model", answer) for key, answer in PREFERRED.items()]
    columns = ["first_id", "second_id", "preferred"]
    pd.DataFrame(judged, columns=columns).to_csv("data/own/mine.preferences.csv", index=False)
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8")) | {"data": "own", "model": "lexical"}
    Path("params.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")

    settings = params.read("params.yaml")
    stages.prepare_corpora(settings)
    for metric in ("acueval", "holistic", "word-overlap"):
        stages.score(settings, metric)
    stages.notebook(settings, "preference_bias")
    tables = Path("tables/own/lexical/preference_bias")
    cases = pd.read_csv(tables / "scores_by_preference.csv").set_index(["metric", "case"]).loc["word-overlap"]
    assert cases.index.tolist() == ["model worse", "model better"]
    # Words that are the document's: 5/5 against 4/5, 5/5 against 5/5; then 1/4 against 5/5, 2/3 against 3/3.
    assert cases["difference"].tolist() == pytest.approx([-0.1, (3 / 4 + 1 / 3) / 2], abs=1e-4)
    agreement = pd.read_csv(tables / "agreement_with_raters.csv").set_index("metric")
    assert agreement.loc["word-overlap", ["n", "ordered"]].tolist() == [4, 3.5 / 4]  # the mill's two tie
    headline = json.loads(Path("tables/own/lexical/preference_bias.json").read_text())
    ordered = agreement["ordered"].loc[["acueval", "holistic"]].round(6)
    assert [headline[f"ordered as the raters did by {name}, share"] for name in ordered.index] == ordered.tolist()
