"""Prevalence, precision, revisions and the cube of models, worked by hand on models whose replies are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel

from claimwise import corpora
from claimwise.analysis import published
from claimwise.analysis.statistics import Interval
from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.experiments import academic_display as display
from claimwise.experiments import academic_summaries as summaries
from claimwise.experiments import hallucinations, interactions
from claimwise.models.base import Critique, Text, Verdict
from claimwise.models.lexical import LexicalModel
from claimwise.prompts.sources import Source, joined

VERIFY = "factored-verify-fewshot"
PROMPTS = {"critique": "factored-critique-claim", "revise": "factored-revise-critiques"}
PAPERS = joined([Source("Ling (2009)", "Rain", "It rained."), Source("Roy (2011)", "Snow", "It snowed.")])


class Scripted(FakeModel):
    """Takes a statement for supported unless it has the word "not"; revises by dropping that word, twice at most."""

    def __init__(self, strict: bool = False):
        super().__init__()
        self.strict = strict

    def verify(self, documents, claims, prompt, extras=None):
        self._count("verify", [claim for group in claims for claim in group])
        return [[Verdict(0.1 if self._wrong(claim) else 0.9) for claim in group] for group in claims]

    def critique(self, documents, statements, prompt):
        return [Critique("No.", 0.0 if self._wrong(s) else 1.0) for s in statements]

    def _wrong(self, claim: str) -> bool:
        return " not " in claim or (self.strict and "may" in claim)

    def revise(self, documents, summaries, feedback, prompt):
        return [Text(summary.replace(" not ", " ", 1)) for summary in summaries]


class Mute(Scripted):
    """Gives no verdict at all."""

    def verify(self, documents, claims, prompt, extras=None):
        return [[Verdict(np.nan, "no reply") for _ in group] for group in claims]


@pytest.fixture
def corpus():
    rows = Rows("toy")
    for n in range(4):
        document = PAPERS.replace("rained", f"rained {n} times")
        for system, summary in (
            ("good", "Weather varies. It rained (Ling, 2009). It snowed (Roy, 2011)."),
            ("bad", "It did not rain (Ling, 2009). It hailed (Ek, 1999). It did not snow (Roy, 2011)."),
        ):
            rows.example(n, system, document=document, summary=summary, split="test" if n < 3 else "validation")
    return rows.corpus()


@pytest.fixture
def examples(corpus):
    return summaries.summaries(corpus, {}, "factored-summarise", [], None)


def test_only_test_summaries_of_the_documents_that_all_systems_have(corpus, examples):
    assert examples.groupby("system").size().to_dict() == {"bad": 3, "good": 3}
    lacking = corpus.examples.drop(corpus.examples.index[0])
    chosen = summaries.summaries(
        corpora.Corpus(
            lacking, *(getattr(corpus, n) for n in ("gold_claims", "preferences", "recorded_claims", "scores"))
        ),
        {},
        "factored-summarise",
        [],
        None,
    )
    assert chosen.groupby("system").size().to_dict() == {"bad": 2, "good": 2}
    assert summaries.summaries(corpus, {}, "factored-summarise", ["good"], 2)["system"].tolist() == ["good", "good"]


def test_a_system_that_the_corpus_does_not_have_is_an_error(corpus):
    with pytest.raises(ValueError, match="no test summaries by gold; there are some by: bad, good"):
        summaries.summaries(corpus, {}, "factored-summarise", ["good", "gold"], None)


def test_a_refusal_is_no_answer():
    rows = Rows("toy")
    for key, summary in (("one", "It rained a lot in May."), ("two", "I am unable to summarise this passage.")):
        rows.example(key, "chatty", document=f"It rained in {key}.", summary=summary)
    made = summaries.summaries(rows.corpus(), {}, "factored-summarise", [], None).set_index("id")
    assert made["answered"].to_dict() == {"toy:one:chatty": True, "toy:two:chatty": False}


def test_models_write_the_summaries_where_a_corpus_has_none():
    rows = Rows("toy")
    key = rows.example("q", "none", document=PAPERS, summary="")
    rows.questions[key] = "Did it rain?"
    made = summaries.summaries(
        rows.corpus(), {"one": LexicalModel(), "two": FakeModel()}, "factored-summarise", [], None
    )
    assert made["system"].tolist() == ["one", "two"]
    assert made["summary"].tolist() == [
        "Ling (2009) reports: It rained. Roy (2011) reports: It snowed.",
        "Ling (2009): It rained. Roy (2011): It snowed.",
    ]


def test_hallucinations_per_summary_with_missing_papers_as_findings_of_their_own(examples):
    table = summaries.originals(examples)
    model = Scripted()
    sentences = hallucinations.judge(table, model, VERIFY)
    assert model.calls["verify"] == 8  # once per abstract and sentence; not what cites a missing paper
    counted = (
        hallucinations.per_summary(table, sentences).groupby("system")[["checked", "hallucinations", "missing"]].mean()
    )
    assert counted.loc["good"].tolist() == [2, 0, 0]
    assert counted.loc["bad"].tolist() == [3, 3, 1]
    result = hallucinations.prevalence(
        hallucinations.per_summary(table, sentences), Interval(0.5, 0.25, 0.75), 200, 0
    ).set_index("system")
    bad = result.loc["bad"]
    assert (bad["reported"], bad["with_any"], bad["missing"]) == (3, 100, 1)
    assert (bad["per_sentence"], result.loc["good", "per_sentence"]) == (1, 0)  # three of three sentences, none of two
    # Two of the three are the verifier's: one missing paper is certain, half of the two others are true.
    assert (bad["adjusted"], bad["adjusted_low"], bad["adjusted_high"]) == (2, 1.5, 2.5)
    assert result.loc["good", "adjusted"] == 0


def test_what_is_no_summary_is_left_out_and_counted(examples):
    examples = examples.assign(answered=examples["system"] == "good")
    table = summaries.originals(examples)
    counted = hallucinations.per_summary(table, hallucinations.judge(table, Scripted(), VERIFY))
    result = hallucinations.prevalence(counted, hallucinations.PAPER_PRECISION, 100, 0).set_index("system")
    assert result.loc["good", ["n", "unanswered"]].tolist() == [3, 0]
    assert result.loc["bad", ["n", "unanswered"]].tolist() == [0, 3]


def test_a_verdict_that_could_not_be_read_is_neither_right_nor_wrong(examples):
    table = summaries.originals(examples)
    counted = hallucinations.per_summary(table, hallucinations.judge(table, Mute(), VERIFY))
    assert counted.groupby("system")["unread"].mean().to_dict() == {"bad": 2, "good": 2}
    assert counted["hallucinations"].isna().all()  # no judge looks perfect because it says nothing
    result = hallucinations.prevalence(counted, hallucinations.PAPER_PRECISION, 100, 0).set_index("system")
    assert result[["n", "unread"]].to_numpy().tolist() == [[0, 6], [0, 6]]
    assert result[["reported", "per_sentence", "with_any"]].isna().all(axis=None)


def test_a_percentage_is_of_the_summaries_that_were_read():
    found = hallucinations.with_any(pd.Series([1, 2, 0, np.nan]))
    assert found.tolist() == pytest.approx([100, 100, 0, np.nan], nan_ok=True)


@pytest.mark.parametrize(("support", "hallucinated"), [(0.5, 0), (0.49, 1)])
def test_a_sentence_of_which_support_is_one_half_is_no_hallucination(examples, support, hallucinated):
    class Certain(Scripted):
        def verify(self, documents, claims, prompt, extras=None):
            return [[Verdict(support) for _ in group] for group in claims]

    judged = hallucinations.judge(summaries.originals(examples), Certain(), VERIFY)
    assert judged.loc[judged["missing"] == 0, "hallucinated"].unique().tolist() == [hallucinated]


def test_the_cube_counts_only_what_every_sentence_of_was_read():
    rows = pd.DataFrame(
        {
            "judge": "j",
            "summary": "s",
            "critique": ["none", "j", "k"] * 2,
            "id": ["a"] * 3 + ["b"] * 3,
            "document_id": ["a"] * 3 + ["b"] * 3,
            "hallucinations": [2, 0, 1, 4, np.nan, np.nan],
            "rouge_l": 1.0,
        }
    )
    cells = interactions.cells(rows, 20, 0).set_index("critique")
    assert cells["n"].to_dict() == {"none": 2, "j": 1, "k": 1}
    assert cells.loc["j", ["found", "reported", "with_any"]].tolist() == [0, 0, 0]
    [gain] = interactions.self_preference(rows, 20, 0).to_dict("records")
    assert (gain["before"], gain["own_critique"], gain["other_critiques"]) == (2, 1, 0.5)  # of summary a alone


def test_precision_and_recall_are_measured_on_labelled_validation_sentences():
    rows = Rows("toy")
    for split, n in (("validation", 0), ("validation", 1), ("test", 2)):
        key = rows.example(n, "s", document=f"doc {n}", summary="S.", split=split)
        claims = [("It did not rain.", 0), ("It may not be.", 1), ("It may.", 0), ("It is.", 1)]
        rows.gold(key, [{"claim": c, "label": label, "passage": f"doc {n}"} for c, label in claims])
        rows.gold(
            rows.example(n, "m", document=f"doc {n}", summary="S.", split=split),
            [{"claim": "x", "label": 0, "passage": ""}],
        )
    found = hallucinations.reliability(rows.corpus(), Scripted(), VERIFY, 200, 0)
    assert (found.precision.value, found.recall.value) == (0.5, 0.5)
    assert found.gain.value == 0  # as many of its findings are right as of all sentences are unsupported
    assert "not told apart from chance" in hallucinations.findings({"scripted": found})[0]
    # What cites only papers that are not there has no passage: it is not even counted as unread.
    assert (found.n, found.flagged, found.wrong, found.unread) == (8, 4, 4, 0)
    table = hallucinations.reliabilities({"scripted": found})
    assert table["precision"].tolist() == [0.5, 2 / 3]


def test_an_unread_verdict_lowers_neither_precision_nor_recall():
    class Halting(Scripted):
        def verify(self, documents, claims, prompt, extras=None):
            read = super().verify(documents, claims, prompt, extras)
            lost = Verdict(np.nan, "no reply")
            return [
                [lost if "unread" in claim else verdict for claim, verdict in zip(group, verdicts, strict=True)]
                for group, verdicts in zip(claims, read, strict=True)
            ]

    rows = Rows("toy")
    for n in range(2):
        key = rows.example(n, "s", document=f"doc {n}", summary="S.", split="validation")
        claims = [
            ("It did not rain.", 0),
            ("It is.", 1),
            ("It was.", 1),
            ("An unread error.", 0),
            ("An unread fact.", 1),
        ]
        rows.gold(key, [{"claim": c, "label": label, "passage": f"doc {n}"} for c, label in claims])
    found = hallucinations.reliability(rows.corpus(), Halting(), VERIFY, 200, 0)
    assert (found.n, found.flagged, found.wrong, found.unread) == (6, 2, 2, 4)
    assert (found.precision.value, found.recall.value) == (1, 1)
    assert found.gain.value == pytest.approx(1 - 2 / 6)
    assert "flagging at random has 33 %" in hallucinations.findings({"j": found})[0]
    [row, _] = hallucinations.reliabilities({"j": found}).to_dict("records")
    assert (row["sentences"], row["unread"], row["unsupported"]) == (6, 4, 2)


def test_a_judge_that_was_never_read_has_no_precision():
    rows = Rows("toy")
    key = rows.example(0, "s", document="doc", summary="S.", split="validation")
    rows.gold(key, [{"claim": "It may.", "label": 0, "passage": "doc"}])
    found = hallucinations.reliability(rows.corpus(), Mute(), VERIFY, 50, 0)
    assert (found.n, found.unread) == (0, 1)
    assert np.isnan([found.precision.value, found.recall.value, found.gain.value]).all()
    assert hallucinations.findings({"mute": found}) == []


def test_reported_hallucinations_are_adjusted_by_the_precision_that_params_names():
    half = Interval(0.5, 0.2, 0.8)
    one = hallucinations.Reliability(half, half, half, n=40, flagged=10, wrong=12, unread=0)
    assert hallucinations.scale("measured", one) == half
    assert hallucinations.scale("paper", one).value == 2 / 3
    with pytest.raises(ClaimwiseError, match="expected measured or paper, got 'mesured'; did you mean 'measured'"):
        hallucinations.scale("mesured", one)
    assert hallucinations.caveat("measured", one, "qags").startswith(
        "The precision is that on the labelled validation sentences of `qags`, 12 of 40 of which are unsupported."
    )
    assert hallucinations.caveat("paper", one, "qags").startswith(
        "The numbers are adjusted by two thirds, what the paper's authors found of GPT-4's verdicts"
    )


def test_versions_follow_the_rounds_and_the_self_critique(examples):
    versions, reasons = summaries.revisions(
        examples,
        Scripted(),
        **PROMPTS,
        rounds=3,
        self_critique="factored-critique-self",
        revise_self="factored-revise-self",
    )
    bad = versions[versions["id"] == "toy:0:bad"].set_index("version")["summary"]
    assert list(bad.index) == ["original", "round 1", "round 2", "round 3", "self-critique"]
    assert bad.map(lambda text: text.count(" not ")).tolist() == [2, 1, 0, 0, 1]
    assert reasons.to_dict() == {"nothing unsupported": 3, "unchanged": 3}


def test_what_a_revision_kept(corpus, examples):
    versions, _ = summaries.revisions(examples, Scripted(), **PROMPTS, rounds=2)
    judged = hallucinations.judge(versions, Scripted(), VERIFY)
    right, wrong = summaries.standing(corpus, judged[judged["version"] == "original"])
    assert right["id"].str.endswith("good").all()
    kept = summaries.kept(versions, right, wrong).set_index(["id", "version"])
    assert kept.loc[("toy:0:good", "round 2"), ["rouge_l", "supported_kept", "changed"]].tolist() == [1, 1, 0]
    bad = kept.loc["toy:0:bad"]
    assert bad["wrong_left"].round(3).tolist() == [1, 0.667, 0.333]
    assert bad["rouge_l"].is_monotonic_decreasing
    assert np.isnan(bad.loc["original", "supported_kept"])
    counted = hallucinations.per_summary(versions, judged)
    by_version = summaries.by_version({"j": counted}, kept.reset_index(), 100, 0).set_index("version")
    assert by_version["j"].tolist() == [1.5, 1.0, 0.5]
    change = summaries.change(counted, "round 2", 100, 0)
    assert change.value == -1.0
    prevalence = hallucinations.prevalence(counted, hallucinations.PAPER_PRECISION, 100, 0)
    both = display.before_and_after(prevalence, "round 2").set_index("system")
    assert both.loc["bad", ["reported before", "reported after"]].tolist() == [3, 1]


def test_labels_decide_what_ought_to_stay_where_there_are_any():
    corpus = corpora.load("sample_papers")
    examples = summaries.summaries(corpus, {}, "factored-summarise", [], None)
    judged = hallucinations.judge(summaries.originals(examples), LexicalModel(), VERIFY)
    right, wrong = summaries.standing(corpus, judged)
    labels = corpus.gold_claims[corpus.gold_claims["example_id"].isin(examples["id"])]["label"]
    assert (len(right), len(wrong)) == ((labels == 1).sum(), (labels == 0).sum())
    assert summaries.standing_judge(corpus, judged, "lexical") == "people's labels"
    # The sentences that are checked are those that the corpus's author labelled.
    assert len(judged) == len(labels)
    missing = judged[judged["missing"] > 0]["sentence"]
    assert len(missing) == 1
    assert "Haraldsen et al., 2010" in missing.iloc[0]


@pytest.fixture
def rows(examples):
    engines = {"lenient": Scripted(), "strict": Scripted(strict=True)}
    return interactions.cube(examples, engines, **PROMPTS, verify=VERIFY)


def test_the_cube_has_every_cell_with_counts_and_intervals(rows):
    cells = interactions.cells(rows, 200, 0)
    assert len(cells) == 2 * 3 * 2
    assert not cells.duplicated(["summary", "critique", "judge"]).any()
    found = cells.set_index(["summary", "critique", "judge"])
    assert found.loc[("bad", "none", "lenient"), ["n", "found", "reported"]].tolist() == [3, 9, 3]
    assert found.loc[("bad", "strict", "lenient"), ["n", "found", "reported"]].tolist() == [3, 6, 2]
    assert found.loc[("good", "none", "strict"), ["found", "with_any", "rouge_l"]].tolist() == [0, 0, 1]
    assert cells["reported"].between(cells["reported_low"], cells["reported_high"]).all()
    across = interactions.across(cells).set_index(["summary", "critique"])
    assert across.columns.tolist() == ["n", "judge: lenient", "judge: strict"]
    # Every document's summary has three: no draw differs, and all have one.
    assert across.loc[("bad", "none"), "judge: lenient"] == "3.00 (3.00 to 3.00), 100 %"


def test_a_reply_that_is_no_summary_is_in_no_cell(examples):
    examples = examples.assign(answered=examples["system"] == "good")
    rows = interactions.cube(examples, {"lenient": Scripted()}, **PROMPTS, verify=VERIFY)
    assert set(rows["summary"]) == {"good"}


def made(found: dict[tuple[str, str], list[int]]) -> pd.DataFrame:
    """Rows of a cube: by judge and critique, the hallucinations of the summaries of systems a and b of each document."""
    return pd.DataFrame(
        [
            (judge, system, critique, f"{n // 2}:{system}", str(n // 2), wrong, 1.0)
            for (judge, critique), counts in found.items()
            for n, wrong in enumerate(counts)
            for system in ["ab"[n % 2]]
        ],
        columns=["judge", "summary", "critique", "id", "document_id", "hallucinations", "rouge_l"],
    )


def test_self_preference_is_what_a_judge_sees_gained_by_its_own_critiques():
    rows = made(
        {
            ("a", "none"): [2, 3, 0, 5],
            ("a", "a"): [1, 2, 0, 3],
            ("a", "b"): [2, 2, 0, 4],
            ("b", "none"): [0, 0, 0, 0],
            ("b", "a"): [0, 0, 0, 0],
            ("b", "b"): [0, 0, 0, 0],
        }
    )
    found = interactions.self_preference(rows, 500, 0).set_index("judge")
    # Judge a finds 10 before, 6 after its own critiques, 8 after b's.
    assert found.loc["a", ["before", "own_critique", "other_critiques", "difference"]].tolist() == [10, 0.4, 0.2, 0.2]
    # Each of the two documents has the same share: no draw differs.
    assert found.loc["a", ["low", "high"]].tolist() == pytest.approx([0.2, 0.2])
    assert found.loc["a", ["own_summaries", "other_summaries"]].tolist() == [1, 4]
    # Nothing to remove is no preference.
    assert found.loc["b", "before"] == 0
    assert found.loc["b", ["own_critique", "difference", "low"]].isna().all()
    text = interactions.findings(interactions.cells(rows, 100, 0), found.reset_index())
    assert text[0].startswith("12 of 12 cells are complete: 2 summarisers, 2 critics and none, 2 judges.")
    assert text[0].endswith("A cell rests on 2 summaries and 0 to 8 hallucinations.")
    assert text[1].endswith(
        "finds 10 hallucinations in the originals, its own critiques remove 40 %, the others' remove 20 %: 20 points more "
        "(+20 to +20: beyond chance)."
    )
    assert len(text) == 2


def test_the_note_on_the_cube_says_what_each_judge_finds_after_whose_critiques():
    rows = {
        ("a", "none"): [2, 3, 0, 5],
        ("a", "a"): [0, 0, 0, 1],
        ("a", "b"): [2, 2, 0, 4],
        ("b", "none"): [2, 2, 2, 2],
        ("b", "a"): [2, 2, 2, 2],
        ("b", "b"): [1, 1, 1, 1],
    }

    def note(rows):
        frame = made(rows)
        return interactions.note(interactions.cells(frame, 100, 0), interactions.self_preference(frame, 500, 0))

    # Judge a: 10 in four originals, 1 after its own critiques, 8 after b's.
    numbers, conclusion = note(rows)
    assert (
        "`a` finds 2.50 per summary in the originals, 0.25 after its own critiques, 2.00 after the others';" in numbers
    )
    assert conclusion.startswith("Each judge finds more gone after its own critiques than after the others'")
    assert note(rows | {("b", "a"): [1, 1, 1, 1]})[1] == "Beyond chance more is gone after its own critiques for `a`."
    fair = rows | {("b", "a"): [1, 1, 1, 1], ("a", "b"): [0, 0, 0, 1]}
    assert note(fair)[1].startswith("No judge finds more gone after its own critiques")
    numbers, conclusion = note({key: value for key, value in rows.items() if key in (("a", "none"), ("a", "a"))})
    assert numbers.endswith("`a` finds 2.50 per summary in the originals, 0.25 after its own critiques.")
    assert conclusion == "Whether a judge favours its own critiques cannot be told here."


def test_a_cube_of_one_model_has_nobody_to_prefer_itself_to():
    found = interactions.self_preference(made({("a", "none"): [1, 2], ("a", "a"): [0, 1]}), 100, 0)
    assert found["difference"].isna().all()
    assert found["own_critique"].tolist() == [pytest.approx(2 / 3)]


def test_the_published_cube_lacks_one_cell():
    cells = interactions.published_cells(published.table("factored_verification", "3"))
    assert len(cells) == 11
    assert cells.columns.tolist() == ["summary", "critique", "judge", "reported", "with_any"]
    across = interactions.across(cells).set_index(["summary", "critique"])
    assert across.columns.tolist() == ["judge: GPT-4", "judge: ChatGPT"]
    assert across.loc[("GPT-4", "none")].tolist() == ["1.55, 69.5 %", "0.84, 48 %"]
    assert across.loc[("GPT-4", "GPT-4"), "judge: GPT-4"] == "0.51, 29.5 %"
    assert pd.isna(across.loc[("GPT-4", "GPT-4"), "judge: ChatGPT"])
    every = {
        (s, c, j) for s in ("GPT-4", "ChatGPT") for c in ("none", "GPT-4", "ChatGPT") for j in ("GPT-4", "ChatGPT")
    }
    assert every - set(zip(cells["summary"], cells["critique"], cells["judge"], strict=True)) == {
        ("GPT-4", "GPT-4", "ChatGPT")
    }


def test_findings_say_which_way_it_came_out(corpus, examples):
    versions, _ = summaries.revisions(examples, Scripted(), **PROMPTS, rounds=2)
    engines = {"critic": Scripted(), "other": Scripted(strict=True)}
    counted = {
        n: hallucinations.per_summary(versions, hallucinations.judge(versions, e, VERIFY)) for n, e in engines.items()
    }
    judged = hallucinations.judge(summaries.originals(examples), Scripted(), VERIFY)
    right, wrong = summaries.standing(corpus, judged)
    rounds = summaries.by_version(counted, summaries.kept(versions, right, wrong), 100, 0)
    prevalence = hallucinations.prevalence(counted["critic"], hallucinations.PAPER_PRECISION, 100, 0)
    changes = {"round 2": {n: summaries.change(rows, "round 2", 100, 0) for n, rows in counted.items()}}
    by = summaries.standing_judge(corpus, judged, "critic")
    kinds = {"critic": {"kind": "openai"}, "other": {"kind": "openai"}}
    originals = prevalence[prevalence["version"] == "original"]
    text = display.findings(originals, rounds, changes, "critic", by, kinds)
    # Three of bad's three sentences are wrong in each summary, none of good's two.
    assert text[0].startswith(
        "Judged by `critic`, `good` has the fewest reported hallucinations per summary, 0.00 (0.00 to 0.00) in 2.0 checked "
        "sentences, `bad` the most, 3.00 (3.00 to 3.00) in 3.0 checked sentences: their intervals do not overlap. Per "
        "checked sentence `good` has the fewest, 0.00 (0.00 to 0.00), `bad` the most, 1.00 (1.00 to 1.00): their intervals "
        "do not overlap. Adjusted"
    )
    assert text[0].endswith("not among the sources: 3.")
    assert "judged by `other`, hallucinations per summary go from 1.50 to 0.50" in text[1]
    # Which sentences were supported is the critic's word, not that of the judge before.
    assert text[2] == (
        "**round 2**: by the critic's own verdicts (`critic`), 100 % of the supported sentences still stand (it chose "
        "what was criticised) and 33 % of the unsupported ones are left as they were."
    )
    assert len(text) == 3
    # Of the embedded reviser, which edits nothing else, it is by construction; people's labels need no such word.
    kinds |= {"critic": {"kind": "embedded"}}
    [*_, stands] = display.findings(originals, rounds, changes, "critic", by, kinds)
    assert "still stand (by construction: only what it rejects is edited) and 33 %" in stands
    [*_, stands] = display.findings(originals, rounds, changes, "critic", summaries.PEOPLE, kinds)
    assert "by people's labels, 100 % of the supported sentences still stand and 33 %" in stands


def systems(**columns):
    """``prevalence`` of systems with these (value, low, high) of reported and per_sentence."""
    rows = []
    for name, (checked, *intervals) in columns.items():
        row = {"system": name, "n": 4, "checked": checked, "missing": 0.0, "adjusted": 0.0}
        for column, (value, low, high) in zip(("reported", "per_sentence"), intervals, strict=True):
            row |= {column: value, f"{column}_low": low, f"{column}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


def first_finding(prevalence):
    return display.findings(prevalence, pd.DataFrame({"version": []}), {}, "j", summaries.PEOPLE, {"j": {}})[0]


def test_what_length_makes_of_the_order_is_said():
    # The terse one has fewer a summary and more a sentence.
    terse = (2.0, (0.6, 0.5, 0.7), (0.3, 0.2, 0.4))
    long = (5.0, (1.2, 1.0, 1.4), (0.24, 0.15, 0.3))
    said = first_finding(systems(terse=terse, long=long))
    assert "`terse` has the fewest reported hallucinations per summary, 0.60 (0.50 to 0.70) in 2.0 checked" in said
    assert "Per checked sentence `long` has the fewest, 0.24 (0.15 to 0.30), `terse` the most, 0.30" in said
    assert "their intervals overlap; what is told apart per summary may be length alone. Adjusted" in said
    apart = first_finding(systems(terse=terse, long=(5.0, (3.0, 2.0, 4.0), (0.6, 0.5, 0.7))))
    assert "length alone" not in apart
    alone = first_finding(systems(terse=terse))
    assert "Judged by `j`, `terse` has 0.60 (0.50 to 0.70) in 2.0 checked sentences reported hallucinations" in alone
    nothing = first_finding(systems(mute=(0.0, (0.0, 0.0, 0.0), (np.nan, np.nan, np.nan))))
    assert "Per checked sentence nothing was checked." in nothing


def test_the_self_critique_is_not_judged_independently_by_what_it_is_made_of():
    rounds = pd.DataFrame({"version": ["original", "self-critique"], "e": [1.0, 0.5], "w": [1.0, 0.4]})
    rounds = rounds.assign(supported_kept=1.0, wrong_left=0.5)
    changes = {"self-critique": {name: Interval(-0.5, -0.6, -0.4) for name in ("e", "w")}}
    entries = {"e": {"kind": "embedded"}, "w": {"kind": "lexical"}}
    told = {}
    for kind in ("embedded", "openai"):
        entries["e"] = {"kind": kind}
        said = display.findings(systems(s=(1.0, (1, 1, 1), (1, 1, 1))), rounds, changes, "e", "the critic", entries)
        told[kind] = said[1]
        assert "still stand and" in said[2]  # a critique of the whole edits what it likes: nothing by construction
    assert (
        "judged by `w`, which compares words as this critique does, hallucinations per summary go" in told["embedded"]
    )
    assert "judged by `w`, hallucinations per summary go from 1.00 to 0.40" in told["openai"]


def test_the_note_on_the_versions_says_whose_panel_is_evidence():
    rounds = pd.DataFrame({"version": ["original", "round 2"], "a": [2.0, 1.0], "b": [1.0, 0.2], "c": [0.0, 0.1]})
    own, others = display.versions_note(rounds, "round 2", "a", ["a", "b", "c"])
    assert own.startswith("`a` is the critic, and its own panel no evidence")
    assert "From the original to round 2 it goes from 2.00 to 1.00 (50 % fewer)" in own
    assert others == "By the judges that gave no critique: `b` 1.00 to 0.20 (80 % fewer), `c` 0.00 to 0.10."
    more = pd.DataFrame({"version": ["original", "round 2"], "a": [2.0, 1.0], "b": [1.0, 1.5]})
    assert display.versions_note(more, "round 2", "a", ["a", "b"])[1].endswith(
        "`b` 1.00 to 1.50 (50 % more). The critic itself sees the largest part gone."
    )
    [alone] = display.versions_note(rounds, "round 2", "a", ["a"])
    assert alone.endswith("No other model judges here.")


def test_caveats_are_those_of_the_models_that_judged():
    entries = {
        "e": {"kind": "embedded"},
        "z": {"kind": "embedded", "weights": "zero-shot"},
        "w": {"kind": "lexical"},
        "o": {"kind": "openai"},
    }
    every = display.caveats(entries, ["e", "z", "w"], "e")
    assert [sentence.split(" ")[0] for sentence in every] == ["`e`", "`z`", "`w`", "The"]
    assert "Of the self-critique it is not independent" in every[2]
    of_openai = display.caveats(entries, ["o", "w", "e"], "o")
    assert len(of_openai) == 2
    assert of_openai[1] == "`w` compares words: a weak judge, which rewards copying."
    assert display.caveats(entries, ["o"], "o")[0].endswith("No other model judges here, so that is no evidence.")


def test_versions_of_which_the_same_is_said_share_a_sentence(corpus, examples):
    versions, _ = summaries.revisions(examples, Scripted(), **PROMPTS, rounds=3)
    counted = hallucinations.per_summary(versions, hallucinations.judge(versions, Scripted(), VERIFY))
    right, wrong = summaries.standing(corpus, hallucinations.judge(summaries.originals(examples), Scripted(), VERIFY))
    rounds = summaries.by_version({"j": counted}, summaries.kept(versions, right, wrong), 100, 0)
    prevalence = hallucinations.prevalence(counted, hallucinations.PAPER_PRECISION, 100, 0)
    # Round 3 leaves what round 2 left; its numbers differ by a rounding error only.
    change = summaries.change(counted, "round 2", 100, 0)
    changes = {
        "round 1": {"j": summaries.change(counted, "round 1", 100, 0)},
        "round 2": {"j": change},
        "round 3": {"j": change._replace(low=change.low + 1e-9)},
    }
    originals = prevalence[prevalence["version"] == "original"]
    text = display.findings(originals, rounds, changes, "j", summaries.PEOPLE, {"j": {"kind": "openai"}})
    assert [sentence.split(": ")[0] for sentence in text[1:]] == ["**round 1**"] * 2 + ["**round 2 and round 3**"] * 2
    assert text[3].startswith("**round 2 and round 3**: judged by `j`, hallucinations per summary go from 1.50 to 0.50")
