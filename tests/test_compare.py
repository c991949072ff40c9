"""``claimwise compare``: the numbers are those of the notebooks or worked by hand, and mistakes are messages."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from files import write_jsonl
from imports import ROOT
from scipy import stats
from typer.testing import CliRunner

from claimwise import cli, corpora
from claimwise.analysis.bootstrap import bootstrap_interval, paired_bootstrap
from claimwise.analysis.measures import auc
from claimwise.errors import ClaimwiseError
from claimwise.user_file.compare import compare

pytestmark = pytest.mark.usefixtures("folder")

TEXT = "The council voted to close two schools."
LABELS = [1, 0] * 6
#: All pairs in order; and 30 of the 36 pairs.
GOOD = [0.9, 0.1] * 6
WEAK = [0.9, 0.5] * 5 + [0.4, 0.5]


def examples(name="mine.jsonl", **columns):
    """A file with as many rows as the columns have values, each of its own document."""
    n = len(next(iter(columns.values()), LABELS))
    rows = ({key: values[i] for key, values in columns.items()} for i in range(n))
    return write_jsonl(({"document": f"{TEXT} {i}", "summary": TEXT} | row for i, row in enumerate(rows)), name)


def result(name, scores, ids=None):
    ids = range(1, len(scores) + 1) if ids is None else ids
    pd.DataFrame({"id": ids, "metric": "m", "score": scores}).to_csv(name, index=False)
    return Path(name)


def run(*arguments):
    done = CliRunner().invoke(cli.app, ["compare", *map(str, arguments)])
    assert done.exit_code == 0, done.exception
    return done.stdout


def only(table, measure):
    return table[table["measure"] == measure].reset_index(drop=True)


def test_the_numbers_on_the_sample_are_those_of_the_notebooks():
    found = corpora.load("sample").examples.drop(columns=["corpus", "document_id"])
    found.to_json("mine.jsonl", orient="records", lines=True)
    tables = ROOT / "tables" / "sample" / "embedded"
    scores = pd.read_csv(tables / "by_summary" / "sample.csv").rename(columns={"example_id": "id"})
    files = {name: Path(f"{name}.csv") for name in ("acueval", "holistic")}
    for name, file in files.items():
        scores[["id", name]].rename(columns={name: "score"}).to_csv(file, index=False)
    table = compare(Path("mine.jsonl"), list(files.values()))

    theirs = pd.read_csv(tables / "meta_evaluation" / "balanced_accuracy.csv").set_index("metric").loc[list(files)]
    accuracy = only(table, "balanced_accuracy")
    for ours, column in (("value", "balanced_accuracy"), ("low", "low"), ("high", "high"), ("threshold", "threshold")):
        assert accuracy[ours].tolist() == pytest.approx(theirs[column].tolist(), rel=1e-4)
    assert only(table, "auc")["value"].tolist() == pytest.approx(theirs["auc"].tolist(), rel=1e-4)
    pairs = pd.read_csv(tables / "meta_evaluation" / "pairs.csv").set_index(["metric", "against"]).loc[tuple(files)]
    for measure, prefix in (("auc", "auc_"), ("balanced_accuracy", "")):
        [row] = only(table, f"{measure}_difference").to_dict("records")
        assert (row["result"], row["against"], row["documents"]) == ("acueval.csv", "holistic.csv", 32)
        theirs = [pairs[f"{prefix}{name}"] for name in ("difference", "difference_low", "difference_high", "p")]
        assert [row[name] for name in ("value", "low", "high", "p")] == pytest.approx(theirs, rel=1e-3)
        assert row["p_holm"] == row["p"]  # one pair

    table = compare(Path("mine.jsonl"), [files["acueval"]])
    gaps = only(table, "mean_difference")
    theirs = pd.read_csv(tables / "leaderboard" / "pairs.csv")
    assert gaps[["system", "against", "documents"]].to_numpy().tolist() == (
        theirs[["system", "other", "documents"]].to_numpy().tolist()
    )
    for ours, column in (("value", "difference"), ("p", "p"), ("p_holm", "p_holm")):
        assert gaps[ours].tolist() == pytest.approx(theirs[column].tolist(), rel=1e-3)
    theirs = pd.read_csv(tables / "leaderboard" / "ranking.csv")
    means = only(table, "mean")
    assert means["system"].tolist() == theirs["system"].tolist()
    for ours, column in (("value", "acueval"), ("low", "acueval_low"), ("high", "acueval_high")):
        assert means[ours].tolist() == pytest.approx(theirs[column].tolist(), rel=1e-4)


def test_without_validation_rows_results_are_compared_by_auc():
    file = examples(label=[*LABELS, None, 1])
    scores = result("good.csv", [*GOOD, 0.5, None]), result("weak.csv", [*WEAK, 0.5, 0.5])
    table = compare(file, scores)
    assert set(table["measure"]) == {"auc", "auc_difference"}
    areas = only(table, "auc")
    assert areas["value"].tolist() == pytest.approx([1, 30 / 36])
    assert areas["summaries"].tolist() == [12, 12]  # without the row that one of them did not score
    interval = bootstrap_interval(auc, LABELS, WEAK, groups=range(12))
    assert areas.loc[1, ["low", "high"]].tolist() == [interval.low, interval.high]
    [gap] = only(table, "auc_difference").to_dict("records")
    tested = paired_bootstrap(auc, (LABELS, GOOD), (LABELS, WEAK), range(12))
    assert [gap[name] for name in ("value", "low", "high", "p")] == list(tested)
    printed = run(file, *scores)
    assert "labels: 12 summaries of 12 documents with a label and a score by each result\n" in printed
    assert "no balanced accuracy: a threshold needs labelled rows of both labels with the split 'validation'" in printed
    assert f"good.csv  weak.csv  12         12         0.167 ({tested.low:.3f} to {tested.high:.3f})  " in printed


def test_p_values_are_corrected_for_all_pairs_of_results():
    file = examples(label=LABELS)
    table = compare(file, [result("a.csv", GOOD), result("b.csv", WEAK), result("c.csv", [0.5] * 12)])
    gaps = only(table, "auc_difference")
    assert gaps[["result", "against"]].agg(" ".join, axis=1).tolist() == ["a.csv b.csv", "a.csv c.csv", "b.csv c.csv"]
    p = gaps["p"].to_numpy()
    order = p.argsort()
    by_hand = np.empty(3)
    by_hand[order] = np.minimum(1, np.maximum.accumulate(p[order] * [3, 2, 1]))
    assert gaps["p_holm"].tolist() == pytest.approx(by_hand.tolist())


def test_the_threshold_is_tuned_on_validation_rows_by_any_of_their_names_and_other_rows_are_reported():
    file = examples(
        label=LABELS * 2, split=["dev", "val", "Validation", "valid"] * 3 + ["train"] * 6 + ["test", ""] * 3
    )
    scores = result("good.csv", GOOD * 2), result("weak.csv", WEAK * 2), result("few.csv", [None] * 12 + GOOD)
    table = compare(file, scores)
    accuracy = only(table, "balanced_accuracy")
    assert accuracy["result"].tolist() == ["good.csv", "weak.csv"]
    assert accuracy["value"].tolist() == pytest.approx([100, 100 * (5 / 6 + 1) / 2])
    assert accuracy["summaries"].tolist() == [12, 12]
    printed = run(file, *scores)
    assert "with a label and a score by each result (without the validation rows)" in printed
    assert "few.csv: left out, it scored too few labelled rows" in printed


def test_few_or_equal_labels_are_no_comparison_and_the_order_is_compared():
    file = examples(label=LABELS[:9])
    scores = result("one.csv", [1, 2, 3, 4, 5, 6, 7, 8, 9]), result("two.csv", [2, 1, 3, 4, 5, 6, 7, 8, None])
    table = compare(file, scores)
    [row] = table.to_dict("records")
    assert (row["measure"], row["summaries"]) == ("spearman", 8)
    assert row["value"] == pytest.approx(1 - 6 * 2 / (8 * 63))  # two ranks differ by one
    printed = run(file, *scores)
    assert (
        "labels: 8 summaries of 8 documents with a label and a score by each result: nothing follows from so few"
        in printed
    )
    assert "p is corrected" not in printed
    printed = run(examples(label=[1] * 12), result("a.csv", GOOD), result("b.csv", WEAK))
    assert "all have the label 1, and a comparison needs both" in printed


def test_without_labels_and_systems_the_order_is_compared_and_what_is_missing_is_said():
    printed = run(examples(), result("a.csv", GOOD), result("b.csv", [1 - score for score in GOOD]))
    assert "a.csv   b.csv    12         12         -1.000\n" in printed
    assert "for more: a column 'label' shows which result is better, and a column 'system' which system" in printed
    assert "labels:" not in printed


def write_systems(rows):
    """Rows of document, system and score: the examples, and a result of them."""
    lines = ({"document": f"{TEXT} {d}", "summary": TEXT, "system": system} for d, system, _ in rows)
    return write_jsonl(lines), result("mine.m.csv", [score for *_, score in rows])


def test_systems_are_compared_on_the_documents_that_both_summarised():
    better, worse = [0.9, 0.8, 0.7, 0.9] * 3, [0.5, 0.6, 0.6, 0.2, *[0.8] * 8]
    rows = [(d, "one", score) for d, score in enumerate(better)] + [(d, "two", score) for d, score in enumerate(worse)]
    file, scores = write_systems([*rows, (12, "one", 0.1), (0, "three", 0.4), (1, "three", 0.3), (2, "three", None)])
    table = compare(file, [scores])
    means = only(table, "mean")
    assert means["system"].tolist() == ["one", "two", "three"]
    assert means["value"].tolist() == pytest.approx([0.8, 1.7 / 3, 0.35])  # of the documents 0 to 2
    gaps = only(table, "mean_difference").set_index(["system", "against"])
    gap = np.subtract(better, worse)
    row = gaps.loc[("one", "two")]
    half = stats.t.ppf(0.975, 11) * gap.std(ddof=1) / 12**0.5
    assert row[["documents", "value", "low", "high", "p"]].tolist() == pytest.approx(
        [12, gap.mean(), gap.mean() - half, gap.mean() + half, stats.ttest_rel(better, worse).pvalue]
    )
    few = gaps.loc[("one", "three")]  # two documents: a difference, and nothing that it shows
    assert few[["documents", "value"]].tolist() == pytest.approx([2, 0.5])
    assert few[["low", "high", "p", "p_holm"]].isna().all()
    printed = run(file, scores)
    assert "systems: 3; the means are over the 3 documents of all systems\n" in printed
    assert "Mean score of each system\n" in printed


def test_systems_without_a_document_of_all_have_means_of_their_own_and_no_answers_are_left_out():
    file, scores = write_systems(
        [(0, "one", 0.9), (1, "one", 0.7), (1, "two", 0.4), (2, "two", 0.2), (2, "three", 0.6)]
    )
    printed = run(file, scores)
    assert (
        "systems: 3; no document was summarised by all: each mean is over other documents, so read the differences"
        in printed
    )
    assert "  mine.m.csv  one     three    0          -\n" in printed
    table = compare(file, [scores])
    assert only(table, "mean")["value"].tolist() == pytest.approx([0.8, 0.6, 0.3])
    assert only(table, "mean_difference")["documents"].tolist() == [0, 1, 1]
    assert table["p"].isna().all()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    write_jsonl([lines[0] | {"summary": "I am unable to summarize this text."}, *lines[1:]])
    assert "left out as no answer (a refusal, or fewer than five words): 1 summary\n" in run(file, scores)


def test_the_table_is_written_and_written_again_but_not_over_other_files():
    file, one, two = examples(label=LABELS), result("a.csv", GOOD), result("b.csv", WEAK)
    for _ in range(2):
        run(file, one, two, "--out", "compared.csv")
    table = pd.read_csv("compared.csv")
    assert list(table) == "measure result system against summaries documents threshold value low high p p_holm".split()
    assert table["measure"].tolist() == ["auc", "auc", "auc_difference"]
    assert set(json.loads(Path("compared.csv.run.json").read_text())["files"]) == {"mine.jsonl", "a.csv", "b.csv"}
    assert run(file, one, two, "--out", "-").startswith("measure,result,")
    for place, what in ((file, "the examples"), (one, "a result")):
        with pytest.raises(ClaimwiseError, match=f"the comparison would be written over {what}"):
            compare(file, [one, two], out=place)
    Path("notes.csv").write_text("mine")
    with pytest.raises(ClaimwiseError, match="exists and is no result of claimwise"):
        compare(file, [one, two], out=Path("notes.csv"))


def test_results_of_score_in_any_form_and_columns_of_other_names(capsys):
    file = write_jsonl({"text": f"{TEXT} {i}", "summary": TEXT, "ok": i % 2} for i in range(12))
    named = ["--column", "document=text"]
    for metric, out in (("word-overlap", "a.jsonl"), ("sentences", "b.parquet"), ("sentences", "sub/b.parquet")):
        arguments = ["score", str(file), "--metric", metric, "--model", "lexical", "--out", out, *named]
        assert CliRunner().invoke(cli.app, arguments).exit_code == 0
    columns = {"document": "text", "label": "ok"}
    table = compare(file, [Path("a.jsonl"), Path("b.parquet"), Path("sub/b.parquet")], columns=columns)
    assert only(table, "auc")["result"].tolist() == ["a.jsonl", "b.parquet", "sub/b.parquet"]
    assert capsys.readouterr().err == ""
    file.write_text(file.read_text().replace('"ok": 1', '"ok": 0', 1))
    compare(file, [Path("a.jsonl"), Path("b.parquet")], columns=columns)
    assert (
        "warning: a.jsonl: mine.jsonl has changed since; if its texts have, score it again" in capsys.readouterr().err
    )
    other = Path("other.jsonl")
    other.write_text(file.read_text())
    file.write_text(file.read_text().replace("council", "mayor"))
    with pytest.raises(ClaimwiseError, match=r"^a\.jsonl: a result of mine\.jsonl, expected one of other\.jsonl"):
        compare(other, [Path("a.jsonl"), Path("b.parquet")], columns=columns)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (["a.csv"], "nothing to compare: one result, and mine.jsonl has one system; name a second result"),
        (["a.csv", "./a.csv"], "the result is named twice"),
        (["a.csv", "absent.csv"], "absent.csv: no such file"),
        (["a.csv", "folder"], "folder is a folder, expected a file of scores; `claimwise merge` makes one"),
        (
            ["a.csv", "mine.jsonl"],
            "mine.jsonl, line 1: column 'id' is missing, got document, summary, label; expected a",
        ),
        (
            ["a.csv", "unscored.csv"],
            "unscored.csv, line 2: column 'score' is missing, got id, scores; did you mean 'scores'?",
        ),
        (
            ["a.csv", "other.csv"],
            "other.csv, line 3, column 'id': 'x' is not in mine.jsonl; name the examples that were",
        ),
        (["a.csv", "twice.csv"], "twice.csv, line 3, column 'id': '1' occurs twice; keep one of the rows"),
        (
            ["a.csv", "word.csv"],
            "word.csv, line 2, column 'score': expected a number or nothing, got 'high'; correct it",
        ),
        (["a.csv", "empty.csv"], "empty.csv: none of 2 rows has a score; score mine.jsonl again, or leave it out"),
    ],
)
def test_a_wrong_result_is_a_message(results, message):
    examples(label=LABELS)
    Path("folder").mkdir()
    result("a.csv", GOOD)
    result("other.csv", [1, 1], ids=["1", "x"])
    result("twice.csv", [1, 1], ids=["1", "1"])
    result("word.csv", ["high", 1])
    result("empty.csv", [None, None])
    Path("unscored.csv").write_text("id,scores\n1,1\n")
    done = CliRunner().invoke(cli.app, ["compare", "mine.jsonl", *results])
    assert isinstance(done.exception, ClaimwiseError | OSError), done.output
    assert message in str(done.exception)
    assert "AUC" not in done.output


def test_results_of_another_file_or_of_other_columns_are_refused():
    for name in ("mine.jsonl", "other.jsonl"):
        labels = ({"human": n % 2, "second": n % 2} for n in range(12))
        rows = ({"document": f"{TEXT} {n}", "short": TEXT, "long": TEXT} | label for n, label in enumerate(labels))
        write_jsonl(rows, name)
    for column in ("short", "long"):
        arguments = ["mine.jsonl", "--metric=word-overlap", f"--column=summary={column}", f"--out={column}.csv"]
        assert CliRunner().invoke(cli.app, ["score", *arguments]).exit_code == 0
    message = "results of different columns cannot be compared: summary is 'short' in short.csv and 'long' in long.csv"
    with pytest.raises(ClaimwiseError, match=message):
        compare(Path("mine.jsonl"), [Path("short.csv"), Path("long.csv")])
    for label in ("human", "second"):  # labels change no score
        arguments = ["mine.jsonl", "--metric=word-overlap", "--column=summary=short", f"--column=label={label}"]
        assert CliRunner().invoke(cli.app, ["score", *arguments, f"--out={label}.csv"]).exit_code == 0
    assert len(compare(Path("mine.jsonl"), [Path("human.csv"), Path("second.csv")]))
    folder = ["other.jsonl", "--metric=word-overlap", "--column=summary=short", "--out=scores/"]
    assert CliRunner().invoke(cli.app, ["score", *folder]).exit_code == 0
    assert CliRunner().invoke(cli.app, ["merge", "scores/", "merged.csv"]).exit_code == 0
    with pytest.raises(ClaimwiseError, match=r"merged.csv: a result of .*other.jsonl, expected one of mine.jsonl"):
        compare(Path("mine.jsonl"), [Path("short.csv"), Path("merged.csv")])


def test_columns_are_those_of_all_results_and_those_given():
    summaries = ["Dogs barked.", TEXT] * 6
    rows = [{"article": f"{TEXT} {n}", "short": summary, "human": n % 2} for n, summary in enumerate(summaries)]
    write_jsonl(rows, "named.jsonl")
    texts, label = ["--column=document=article", "--column=summary=short"], "--column=label=human"
    for model, named in (("lexical", texts), ("embedded", [*texts, label])):
        CliRunner().invoke(cli.app, ["score", "named.jsonl", "--metric=sentences", f"--model={model}", *named])
    without, with_label = Path("named.sentences.lexical.csv"), Path("named.sentences.csv")
    for results in ([without, with_label], [with_label, without]):
        assert compare(Path("named.jsonl"), results).query("measure == 'auc'")["value"].tolist() == [1, 1]
    with_label.unlink()
    write_jsonl(({**row, "system": "ab"[n % 2]} for n, row in enumerate(rows)), "named.jsonl")
    assert (
        compare(Path("named.jsonl"), [without], columns={"label": "human"}).query("measure == 'auc'")["value"].item()
        == 1
    )
