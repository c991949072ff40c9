"""refinement: summaries chosen, revised, scored and compared with a model whose rules one can work out."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from fakes import FakeModel

from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.experiments import refinement
from claimwise.experiments.refinement import CLAIMS, HOLISTIC, ORIGINAL
from claimwise.metrics import DEFAULT_METRICS, MetricSpec, evaluate

ACUEVAL = MetricSpec(**DEFAULT_METRICS["acueval"])
OVERLAP = MetricSpec(**DEFAULT_METRICS["word-overlap"])
PROMPTS = {
    "revise_claims": "acueval-revise-claims",
    "critique": "geval-critique-comment",
    "revise_comment": "geval-revise-comment",
}

DOCUMENT = "The cat sat on the mat. It rained."


@pytest.fixture(scope="module")
def corpus():
    rows = Rows("made")
    for number in range(6):
        summaries = {
            "good": "The cat sat.",
            "bad": f"The cat sat. Dogs barked {'very ' * number}loudly.",
            "lost": "mumble",
        }
        for system, summary in summaries.items():
            example = rows.example(
                str(number),
                system,
                document=f"{DOCUMENT} Number {number}.",
                summary=summary,
                split="validation" if number == 0 else "test",
                origin="news" if number % 2 else "talk",
            )
            if system == "bad":
                rows.gold(example, [{"claim": "Dogs barked.", "label": 0}, {"claim": "The cat sat.", "label": 1}])
    return rows.corpus()


@pytest.fixture(scope="module")
def evaluation(corpus):
    return evaluate("acueval", ACUEVAL, FakeModel(), corpus.examples, progress=False)


@pytest.fixture(scope="module")
def chosen(corpus, evaluation):
    return refinement.choose(corpus.examples, evaluation, per_origin=2, seed=0)


@pytest.fixture(scope="module")
def revised(chosen, evaluation):
    return refinement.revise(chosen, evaluation, FakeModel(), **PROMPTS)


def test_only_test_summaries_with_an_unsupported_claim_are_chosen(corpus, evaluation, chosen):
    assert set(chosen["system"]) == {"bad"}
    assert set(chosen["split"]) == {"test"}
    assert chosen["origin"].value_counts().to_dict() == {"news": 2, "talk": 2}
    assert refinement.choose(corpus.examples, evaluation, 2, 0).equals(chosen)
    everything = refinement.choose(corpus.examples, evaluation, 99, 0)
    assert everything["id"].tolist() == [f"made:{number}:bad" for number in range(1, 6)]


def by_feedback(revised, column):
    """One column a kind of feedback, one row an example."""
    return pd.DataFrame({name: part.set_index("id")[column] for name, part in revised.groupby("feedback")})


def test_without_an_unsupported_claim_there_is_nothing_to_refine(corpus, evaluation):
    silent = replace(evaluation, verdicts=evaluation.verdicts.iloc[:0])
    with pytest.raises(ClaimwiseError, match="no test summary has an unsupported claim, of 0 claims"):
        refinement.choose(corpus.examples, silent, 5, seed=0)


def test_three_versions_of_each_and_only_the_feedback_differs(chosen, revised):
    assert revised["feedback"].value_counts().to_dict() == {ORIGINAL: 4, HOLISTIC: 4, CLAIMS: 4}
    versions = by_feedback(revised, "summary")
    originals = chosen.set_index("id")["summary"].loc[versions.index]
    assert versions[ORIGINAL].tolist() == originals.tolist()
    assert versions[CLAIMS].tolist() == ["The cat sat."] * 4  # the fake drops what it is told is unsupported
    assert versions[HOLISTIC].tolist() == originals.tolist()  # and heeds no comment
    comments = by_feedback(revised, "comment")
    assert all(comment.startswith("- Dogs barked") for comment in comments[CLAIMS])
    assert all(comment.startswith("Not in the document: dogs barked") for comment in comments[HOLISTIC])


def test_a_lost_reply_leaves_the_original_with_the_reason(chosen, evaluation):
    class Silent(FakeModel):
        def revise(self, documents, summaries, feedback, prompt):
            return super().revise(documents, ["mumble"] * len(summaries), feedback, prompt)

    found = refinement.revise(chosen, evaluation, Silent(), **PROMPTS)
    after = found[found["feedback"] != ORIGINAL]
    assert set(after["reason"]) == {"empty reply"}
    assert after["summary"].tolist() == chosen["summary"].tolist() * 2


def test_scores_and_what_was_kept(chosen, revised):
    scored = refinement.score(revised, chosen, {"acueval": ACUEVAL, "word-overlap": OVERLAP}, FakeModel())
    assert scored["id"].tolist() == revised["id"].tolist()
    before, after = (scored[scored["feedback"] == name] for name in (ORIGINAL, CLAIMS))
    assert before["acueval"].tolist() == [0.5] * 4
    assert after["acueval"].tolist() == after["word-overlap"].tolist() == [1.0] * 4
    assert before["kept"].tolist() == [1.0] * 4
    # 3 of the original's 6 or more words are left, in order: F1 = 2 * 3 / (3 + n).
    assert after["kept"].tolist() == pytest.approx([6 / (3 + n) for n in before["words"]])
    assert after["words"].tolist() == [3] * 4
    assert before["changed"].tolist() == [False] * 4
    assert after["changed"].tolist() == [True] * 4


def test_what_a_version_still_states(corpus, chosen, revised):
    scored = refinement.with_stated(
        refinement.score(revised, chosen, {"acueval": ACUEVAL}, FakeModel()),
        corpus.gold_claims,
        FakeModel(),
        "acueval-verify-zeroshot",
    )
    before, after = (scored[scored["feedback"] == name] for name in (ORIGINAL, CLAIMS))
    assert before["errors_left"].tolist() == [1.0] * 4
    assert after["errors_left"].tolist() == [0.0] * 4
    assert before["facts_kept"].tolist() == after["facts_kept"].tolist() == [1.0] * 4
    assert refinement.measures(scored, {"acueval": ACUEVAL}) == [
        "acueval",
        "kept",
        "words",
        "errors_left",
        "facts_kept",
    ]


def test_without_labelled_claims_nothing_is_said_of_them(corpus, chosen, revised):
    scored = refinement.score(revised, chosen, {"acueval": ACUEVAL}, FakeModel())
    none = corpus.gold_claims.assign(label=math.nan)
    assert refinement.with_stated(scored, none, FakeModel(), "acueval-verify-zeroshot") is scored
    assert refinement.measures(scored, {"acueval": ACUEVAL}) == ["acueval", "kept", "words"]


def test_the_table_has_every_origin_and_all_together(chosen, revised):
    scored = refinement.score(revised, chosen, {"acueval": ACUEVAL}, FakeModel())
    table = refinement.table(scored, ["acueval", "kept"], draws=100, seed=0)
    assert set(table["origin"]) == {"news", "talk", "all"}
    everything = table[table["origin"] == "all"].set_index("feedback")
    assert everything["n"].to_dict() == {ORIGINAL: 4, HOLISTIC: 4, CLAIMS: 4}
    assert everything["acueval"].to_dict() == {ORIGINAL: 0.5, HOLISTIC: 0.5, CLAIMS: 1.0}
    assert everything["changed"].to_dict() == {ORIGINAL: 0, HOLISTIC: 0, CLAIMS: 1}
    expected = scored[scored["feedback"] == CLAIMS]["kept"].mean()
    assert everything.loc[CLAIMS, "kept"] == pytest.approx(expected)
    assert everything.loc[CLAIMS, "kept_low"] <= expected <= everything.loc[CLAIMS, "kept_high"]
    assert refinement.headline(table, ["acueval"])[CLAIMS] == {"acueval": 1.0}
    long = refinement.long_form(table, ["acueval", "kept"])
    assert len(long) == 6
    gaps = refinement.difference(scored, ["acueval", "kept"], draws=200, seed=0)
    wide = scored.pivot_table(index="id", columns="feedback", values="acueval")
    expected = (wide[CLAIMS] - wide[HOLISTIC]).mean()
    assert gaps.set_index("measure").loc["acueval", "difference"] == pytest.approx(expected)
    assert f"a difference of {expected:+.3f}" in refinement.findings(table, gaps, "acueval")[0]
    # Where all origins' versions have the same means, that is said of each; where people labelled claims, that comes first.
    level = table.assign(acueval=0.5, kept=1.0, errors_left=0.5, facts_kept=0.5)
    labelled = pd.DataFrame(
        [("errors_left", -0.2, -0.3, -0.1), ("facts_kept", 0.0, -0.1, 0.1)],
        columns=["measure", "difference", "low", "high"],
    )
    told = refinement.findings(level, pd.concat([gaps, labelled]), "acueval")
    assert "feedback takes more of what is wrong than a holistic critique, and not demonstrably more" in told[0]
    alike = {sentence.split(" both")[0] for sentence in told if "makes no difference" in sentence}
    assert alike == {"On news", "On talk"}
    # What gave no feedback has a sentence of its own; what was kept is in the first one.
    renamed = {"acueval": "other", "acueval_low": "other_low", "acueval_high": "other_high"}
    both = table.join(table[list(renamed)].rename(columns=renamed))
    more = pd.concat([gaps, gaps[:1].assign(measure="other")])
    assert refinement.findings(both, more, "acueval")[1:] == [
        "By `other`, which gave no feedback: 0.500 before, 1.000 after claim-level feedback, 0.500 after a holistic "
        f"critique: a difference of {expected:+.3f} ({gaps.loc[0, 'low']:+.3f} to {gaps.loc[0, 'high']:+.3f}), clear of zero."
    ]


def test_one_origin_is_not_reported_twice(chosen, revised):
    scored = refinement.score(revised, chosen, {"acueval": ACUEVAL}, FakeModel()).assign(origin="news")
    table = refinement.table(scored, ["acueval"], draws=50, seed=0)
    assert set(table["origin"]) == {"news"}
    assert refinement.headline(table, ["acueval"])[ORIGINAL] == {"acueval": 0.5}


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((-0.0123, 0.0049), "(-0.012 to +0.005), not clear of zero"),
        ((0.00026, 0.017), "(+0.0003 to +0.0170), clear of zero"),
        ((-0.017, -0.00002), "(-0.01700 to -0.00002), clear of zero"),
        ((-0.00041, 0.0), "(-0.0004 to +0.0000), not clear of zero"),
        ((-0.02, -0.0), "(-0.020 to +0.000), not clear of zero"),
        ((1e-17, 0.02), "(+0.000 to +0.020), not clear of zero"),
    ],
)
def test_no_end_of_an_interval_is_printed_as_zero_but_zero(ends, said):
    gap = pd.Series({"difference": sum(ends) / 2, "low": ends[0], "high": ends[1]})
    assert refinement._difference(gap).endswith(said)
