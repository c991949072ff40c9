"""refinement: summaries chosen, revised, scored and compared with a model whose rules one can work out."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from fakes import FakeModel

from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.experiments import refinement, refinement_display
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
    # All together first, then each origin's versions one below the other.
    assert table["origin"].tolist() == ["all"] * 3 + ["news"] * 3 + ["talk"] * 3
    assert table["feedback"].tolist() == [ORIGINAL, HOLISTIC, CLAIMS] * 3
    everything = table[table["origin"] == "all"].set_index("feedback")
    assert everything["n"].to_dict() == {ORIGINAL: 4, HOLISTIC: 4, CLAIMS: 4}
    assert everything["acueval"].to_dict() == {ORIGINAL: 0.5, HOLISTIC: 0.5, CLAIMS: 1.0}
    assert everything["changed"].to_dict() == {ORIGINAL: 0, HOLISTIC: 0, CLAIMS: 1}
    expected = scored[scored["feedback"] == CLAIMS]["kept"].mean()
    assert everything.loc[CLAIMS, "kept"] == pytest.approx(expected)
    assert everything.loc[CLAIMS, "kept_low"] <= expected <= everything.loc[CLAIMS, "kept_high"]
    assert refinement.headline(table, ["acueval"])[CLAIMS] == {"acueval": 1.0}
    long = refinement_display.long_form(table, ["acueval", "kept"])
    assert len(long) == 6


SPECS = {"acueval": ACUEVAL, "word-overlap": OVERLAP, "holistic": MetricSpec(**DEFAULT_METRICS["holistic"])}


def versions(*summaries):
    """Scored versions: (origin, summaries before, after the critique and after claims, acueval after the two)."""
    rows = [
        (str(number), origin, str(number), feedback, summary, score, score / 2, 1.0, 3)
        for number, (origin, texts, scores) in enumerate(summaries)
        for feedback, summary, score in zip((ORIGINAL, HOLISTIC, CLAIMS), texts, (0.2, *scores), strict=True)
    ]
    columns = ["id", "origin", "document_id", "feedback", "summary", "acueval", "word-overlap", "kept", "words"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(holistic=frame["acueval"], changed=frame["feedback"] != ORIGINAL)


MEASURES = ["acueval", "holistic", "word-overlap", "kept", "words"]


def told(scored, model):
    rows, gaps = (made(scored, MEASURES, 200, 0) for made in (refinement.table, refinement.difference))
    return refinement_display.findings(rows, gaps, "acueval", SPECS, model)


TWO_ORIGINS = versions(
    ("news", ("One. Two.", "One.", "Two."), (0.3, 0.5)),
    ("news", ("One. Two.", "One.", "One."), (0.4, 0.4)),
    ("tweets", ("One.", "Two.", "Two."), (0.6, 0.6)),
    ("tweets", ("One.", "Three.", "Three."), (0.9, 0.9)),
)


def test_differences_are_by_origin_and_first_over_all():
    gaps = refinement.difference(TWO_ORIGINS, MEASURES, 200, 0)
    assert gaps["origin"].tolist() == ["all"] * 5 + ["news"] * 5 + ["tweets"] * 5
    found = gaps[gaps["measure"] == "acueval"].set_index("origin")
    # Of four summaries one differs, by 0.2; both of news' have two sentences, both tweets one.
    assert found["difference"].tolist() == pytest.approx([0.05, 0.1, 0])
    assert found["same"].tolist() == [0.75, 0.5, 1]
    assert found["one_sentence"].tolist() == [0.5, 0, 1]
    assert found.loc["news", ["low", "high"]].tolist() == pytest.approx([0, 0.2])
    shown = refinement_display.gaps_display(gaps)
    assert shown["origin"].tolist() == ["all", "news", "tweets"]
    assert shown["same"].tolist() == ["75 %", "50 %", "100 %"]
    assert shown["acueval"].tolist()[1:] == ["+0.100 (+0.000 to +0.200)", "+0.000 (+0.000 to +0.000)"]
    assert shown["words"].tolist()[0] == "+0.0 (+0.0 to +0.0)"
    single = refinement.difference(TWO_ORIGINS[TWO_ORIGINS["origin"] == "news"], MEASURES, 50, 0)
    assert single["origin"].unique().tolist() == ["news"]


def test_a_measure_that_an_origin_lacks_has_no_difference_there():
    lacking = TWO_ORIGINS.assign(kept=TWO_ORIGINS["kept"].where(TWO_ORIGINS["origin"] == "news"))
    shown = refinement_display.gaps_display(refinement.difference(lacking, MEASURES, 50, 0))
    assert shown["kept"].tolist() == ["+0.000 (+0.000 to +0.000)"] * 2 + ["–"]


def test_origins_whose_versions_differ_lead_the_findings():
    said = told(TWO_ORIGINS, {"kind": "openai"})
    assert said[0] == (
        "By the metric that gave the feedback (acueval), claim-level minus holistic: on news a difference of +0.100 "
        "(+0.000 to +0.200), not clear of zero, with 50 % of the versions the same."
    )
    assert said[1] == (
        "On tweets both kinds of feedback end in the same words: no comparison, and only zeros for the difference over "
        "all origins."
    )
    assert said[2].startswith(
        "By acueval, over all, revisions score 0.600 after claim-level feedback and 0.550 after a"
    )
    assert "for 75 % of the summaries the two versions are the same" in said[2]
    assert not any("reviser" in sentence for sentence in said)
    # Of one origin the sentence over all says it.
    one = told(TWO_ORIGINS[TWO_ORIGINS["origin"] == "news"], {"kind": "openai"})
    assert one[0].startswith("By acueval, over all, revisions score 0.450")
    alike = told(TWO_ORIGINS[TWO_ORIGINS["origin"] == "tweets"], {"kind": "openai"})
    assert alike[0] == "On tweets both kinds of feedback end in the same words: no comparison."


def test_the_embedded_models_feedback_is_said_to_be_made_of_its_judges():
    said = told(TWO_ORIGINS, {"kind": "embedded"})
    assert "a summary of one sentence (news: 0 %, tweets: 100 %) ends the same" in said[2]
    [judge] = [sentence for sentence in said if sentence.startswith("By `holistic`")]
    assert (
        "the judge behind the holistic critique (independent of the claim-level feedback only): 0.200 before" in judge
    )
    [overlap] = [sentence for sentence in said if sentence.startswith("By `word-overlap`")]
    assert "as the holistic critique does (independent of the claim-level feedback only): 0.100 before" in overlap
    assert said[-1].endswith("So no gain in faithfulness is shown: **a working loop, not evidence**.")
    general = told(TWO_ORIGINS, {"kind": "transformers"})
    assert sum("which gave no feedback: " in sentence for sentence in general) == 2
    assert general[-1].endswith("is the word of metrics alone.")
    assert not any("one sentence" in sentence for sentence in general)
    both = told(TWO_ORIGINS, {"kind": "lexical"})
    assert sum("as the feedback does (not independent of it)" in sentence for sentence in both) == 2


def test_other_claims_of_the_embedded_verifier_are_not_independent_but_an_alignment_is():
    sentences, fenice = (MetricSpec(**DEFAULT_METRICS[name]) for name in ("sentences", "fenice"))
    assert "also accepts or refuses the reviser's edits" in refinement_display._relation(sentences, "embedded")
    assert refinement_display._relation(fenice, "embedded") == "which gave no feedback"


def test_what_people_labelled_comes_first_and_ends_the_findings():
    rows, gaps = (made(TWO_ORIGINS, MEASURES, 200, 0) for made in (refinement.table, refinement.difference))
    labels = pd.DataFrame(
        [("errors_left", -0.2, -0.3, -0.1), ("facts_kept", 0.0, -0.1, 0.1)],
        columns=["measure", "difference", "low", "high"],
    )
    gaps = pd.concat([gaps.iloc[:5], labels.assign(origin="all", same=0.75), gaps.iloc[5:]])
    rows = rows.assign(errors_left=0.5, facts_kept=0.5)
    said = refinement_display.findings(rows, gaps, "acueval", SPECS, {"kind": "embedded"})
    assert "feedback takes more of what is wrong than a holistic critique, and not demonstrably more" in said[0]
    assert said[-1].startswith(
        "By people's labels, which gave no feedback: support for the wrong claims goes from 0.50"
    )
    assert not any("working loop" in sentence for sentence in said)


def test_only_what_was_measured_is_explained():
    without = [
        *refinement_display.legend(MEASURES, "acueval"),
        *refinement_display.caveats({"kind": "embedded"}, MEASURES),
    ]
    assert not any(word in " ".join(without) for word in ("label", "errors left", "facts kept"))
    assert "(`holistic`, `word-overlap`)" in without[0]
    measured = [*MEASURES, "errors_left", "facts_kept"]
    assert "`errors left`" in refinement_display.legend(measured, "acueval")[-1]
    assert refinement_display.caveats({"kind": "embedded"}, measured)[-1].startswith(
        "What was kept and people's labels"
    )
    for kind, words in (("embedded", "only if its own verifier"), ("lexical", "changes nothing")):
        told = {
            k: " ".join(refinement_display.caveats({"kind": k}, MEASURES)) for k in ("embedded", "lexical", "openai")
        }
        assert [k for k, caveats in told.items() if words in caveats] == [kind]


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
    assert refinement_display._difference(gap).endswith(said)
