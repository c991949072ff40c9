"""A user's own file: where results may be written, which columns are carried along, labels of some rows only."""

import csv
import errno
import gzip
import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from fakes import FakeModel
from files import write_jsonl as write
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from claimwise import metrics, models, paths
from claimwise.analysis.measures import auc, tuned_threshold
from claimwise.corpora.user_rows import read_rows
from claimwise.errors import ClaimwiseError
from claimwise.metrics import Evaluation
from claimwise.metrics.evaluate import claim_table, verdict_table
from claimwise.metrics.fenice.alignment import AlignedVerdict
from claimwise.models.base import Claim, Decomposition, Verdict
from claimwise.prompts import PromptError, load
from claimwise.scale.run import score_folder
from claimwise.schema import TableError
from claimwise.user_file import decisions, output
from claimwise.user_file import score as user_file

pytestmark = pytest.mark.usefixtures("folder")

ROWS = [
    {"id": "a", "document": "The cat sat on the mat.", "summary": "The cat sat.", "label": 1},
    {"id": "b", "document": "The cat sat on the mat.", "summary": "The dog ran off.", "label": 0},
    {"id": "c", "document": "It rained in Rome.", "summary": "It rained hard.", "label": 0},
    {"id": "d", "document": "It rained.", "summary": "", "label": 1},
]


COLUMNS = "id metric scorer score min_support n_claims n_unsupported n_unparsed reason".split()

#: Word overlap gives (from a to h) 1, 3/4, 2/4, 1/4 and the same again.
SPLIT = [
    {"id": key, "document": f"one two three four {key}", "summary": summary, "label": label, "split": split}
    for key, summary, label, split in [
        ("a", "one two three four", 1, "validation"),
        ("b", "one two three nine", 1, "dev"),
        ("c", "one two eight nine", 0, "val"),
        ("d", "one seven eight nine", 0, "valid"),
        ("e", "one two three four", 1, "test"),
        ("f", "one two three nine", 0, "test"),
        ("g", "one two eight nine", 0, ""),
        ("h", "one seven eight nine", 1, "other"),
        ("i", "one two three four", None, "test"),
        ("j", "", None, "test"),
    ]
]


def score(*files, metric="word-overlap", model=None, out=None, claims=None, page=None, **options):
    files = [Path(file) for file in files or ["mine.jsonl"]]
    return user_file.score(files, metric, model, out, claims, page, Path("params.yaml"), **options)


def test_claims_of_the_users_own_are_not_written_over_by_the_report_on_them():
    Path("own.claims.csv").write_text("document,claims\nIt rained.,It rained.\n", encoding="utf-8")
    with pytest.raises(ClaimwiseError, match=r"own\.claims\.csv: the claims would be written over the examples"):
        score("own.claims.csv", metric="acueval", model="lexical", out=Path("own.csv"))
    assert Path("own.claims.csv").read_text(encoding="utf-8").startswith("document,claims\n")


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"out": "mine.jsonl"}, "mine.jsonl: the scores would be written over the examples"),
        ({"out": "../{here}/mine.jsonl"}, "the scores would be written over the examples"),
        ({"claims": "mine.jsonl"}, "the claims would be written over the examples"),
        ({"out": "x.csv", "claims": "x.csv"}, "x.csv: the claims would be written over the scores; name another file"),
        ({"out": "x.csv", "page": "./x.csv"}, "the page would be written over the scores"),
        ({"claims": "x.csv", "page": "x.csv"}, "the page would be written over the claims"),
        ({"page": "mine.word-overlap.csv"}, "the page would be written over the scores"),
        ({"out": "params.yaml"}, "params.yaml: the scores would be written over the settings"),
        ({"out": "calls"}, "calls: the scores would be written over the finished calls"),
    ],
)
def test_nothing_is_written_over_the_examples_the_settings_or_another_result(folder, names, message, dry_run):
    write(ROWS)
    Path("params.yaml").write_text("cache: calls\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ClaimwiseError, match=message):
        score(**{key: Path(name.format(here=folder.name)) for key, name in names.items()}, dry_run=dry_run)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("kind", "name"), [("out", "o.csv"), ("claims", "claims.csv"), ("page", "p.html")])
def test_a_file_that_is_no_result_is_not_written_over_and_a_result_is(kind, name):
    write(ROWS)
    place = Path("deep") / name
    place.parent.mkdir()
    place.write_text("mine")
    with pytest.raises(
        ClaimwiseError, match=f"{name} exists and is no result of claimwise: delete it or name another"
    ) as told:
        score(**{kind: place})
    assert ("claims of your own are a column: --column claims=COLUMN" in str(told.value)) == (kind == "claims")
    assert place.read_text() == "mine"
    place.write_text("")  # as mktemp makes it
    for metric in ("word-overlap", "sentences"):
        score(**{kind: place}, metric=metric, model="lexical")
    if kind != "out":
        score()  # the record of the same scores, written again, still knows it
        score(**{kind: place})
    place.unlink()
    for _ in range(2):  # without scores in a file the record stands beside what is one
        score(**{"out": output.STDOUT, kind: place})
    assert Path(f"{place}.run.json").is_file()


def test_the_result_stands_beside_a_gzipped_file():
    pd.DataFrame(ROWS).to_csv("mine.csv.gz", index=False)
    score("mine.csv.gz")
    assert pd.read_csv("mine.word-overlap.csv")["id"].tolist() == ["a", "b", "c", "d"]


def test_files_of_one_name_have_results_of_their_own():
    pd.DataFrame(ROWS).to_csv("mine.csv", index=False)
    pd.DataFrame(ROWS[:2]).to_csv("mine.tsv", index=False, sep="\t")
    score("mine.csv")
    score("mine.tsv")
    assert len(pd.read_csv("mine.csv.word-overlap.csv")) == 4
    assert len(pd.read_csv("mine.tsv.word-overlap.csv")) == 2
    assert json.loads(Path("mine.tsv.word-overlap.csv.run.json").read_text())["files"].keys() == {"mine.tsv"}


def test_a_file_and_a_folder_or_several_files_of_its_name_have_results_of_their_own():
    for name in ("mine", "scores"):
        pd.DataFrame(ROWS).to_csv(f"{name}.csv", index=False)
        score(f"{name}.csv")
    Path("mine").mkdir()
    pd.DataFrame(ROWS[:2]).to_csv("mine/part.csv", index=False)
    score("mine")
    files = [Path("mine.csv"), Path("mine/part.csv")]
    user_file.score(files, "word-overlap", None, None, None, None, Path("params.yaml"))
    results = ("mine", "mine-all", "scores", "scores-all")
    assert [len(pd.read_csv(f"{name}.word-overlap.csv")) for name in results] == [4, 2, 4, 6]


def test_other_columns_stand_after_the_scores_as_they_were():
    extra = {"n": ["007", "1.10", "", "NA"], "note": ['say "no", then', "two\nlines", "é", " "]}
    pd.DataFrame(ROWS).assign(**extra).to_csv("mine.csv", index=False)
    score("mine.csv")
    with Path("mine.word-overlap.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.reader(stream))
    assert found[0] == [*COLUMNS, "label", "n", "note"]
    assert [row[len(COLUMNS) + 1 :] for row in found[1:]] == [list(pair) for pair in zip(*extra.values(), strict=True)]


def test_parquet_holds_what_the_csv_does(folder):
    beside = [{"n": 1, "list": ["a", 2]}, {"n": "two", "list": None}, {"n": None, "list": []}]
    beside = [more | {"year": year} for more, year in zip(beside, (2001, 2002, 2003), strict=True)]
    write([row | more for row, more in zip(SPLIT[:3], beside, strict=True)])
    score(out=Path("a.csv"))
    score(out=Path("a.parquet"))
    found, expected = pd.read_parquet("a.parquet"), pd.read_csv("a.csv")
    assert found["score"].tolist() == pytest.approx(expected["score"].tolist(), abs=1e-6)
    assert found["n"].fillna("").tolist() == ["1", "two", ""]  # of several types
    assert found["year"].tolist() == [2001, 2002, 2003]
    assert found["list"].fillna("").tolist() == ['["a", 2]', "", "[]"]
    assert list(found) == list(expected)


def test_label_split_and_system_stand_beside_the_score():
    write([row | {"system": f"s{number}"} for number, row in enumerate(SPLIT)])
    score()
    found = pd.read_csv("mine.word-overlap.csv")
    assert found["split"].fillna("").tolist() == [row["split"] for row in SPLIT]
    assert found["system"].tolist() == [f"s{number}" for number in range(len(SPLIT))]
    test = found[found["split"] == "test"]  # the report can be made anew from the file that was written
    assert test[["label", "faithful"]].to_numpy()[:2].tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"out": "mine.jsonl/scores.csv"}, r"scores\.csv: the scores cannot be written there, mine\.jsonl is a file"),
        ({"page": "mine.jsonl/deep/page.html"}, "the page cannot be written there"),
        (
            {"out": "scores.xml"},
            r"the scores cannot be written .* name a file that ends in \.csv or \.jsonl or \.parquet, got '\.xml'",
        ),
        ({"claims": "claims.XLSX"}, r"the claims cannot be written .* ends in \.csv, got '\.xlsx'"),
        ({"claims": "claims.jsonl"}, r"the claims cannot be written"),
        ({"out": "scores.parquet.gz"}, r"got '\.parquet\.gz'"),
        ({"page": "mine.html.gz"}, r"got '\.html\.gz'"),
        ({"page": "x.txt"}, r"x\.txt: the page .* ends in \.html or \.htm, got '\.txt'"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_asked(folder, names, message, monkeypatch):
    write(ROWS)
    monkeypatch.setattr(user_file, "evaluate", lambda *_, **__: pytest.fail("asked"))
    with pytest.raises(ClaimwiseError, match=message):
        score(**{key: Path(name) for key, name in names.items()})
    assert [path.name for path in folder.iterdir()] == ["mine.jsonl"]


def test_a_place_without_permission_is_said_before_anything_is_asked(monkeypatch):
    write(ROWS)
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(ClaimwiseError, match=r"the scores cannot be written, .* is read-only"):
        score()


def test_a_column_that_would_stand_twice_is_refused(folder):
    write([row | {"score": 1} for row in ROWS])
    with pytest.raises(TableError, match=r"mine\.jsonl: column 'score' would appear twice in mine\.word-overlap\.csv"):
        score()
    assert not list(folder.glob("*.csv"))


CELL = st.text(
    st.one_of(st.sampled_from('\r\n",; \t\u2028'), st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.booleans())
def test_every_cell_of_a_csv_is_read_back_as_it_was_written(tmp_path_factory, rows, packed):
    path = tmp_path_factory.mktemp("csv") / ("scores.csv.gz" if packed else "scores.csv")
    table = pd.DataFrame(rows, columns=["note", "mo\rre"]).assign(id=[str(n) for n in range(len(rows))], score=0.5)
    output.write(table, path)
    with (gzip.open if packed else open)(path, "rt", encoding="utf-8", newline="") as stream:
        header, *found = csv.reader(stream, strict=True)
    assert header == ["note", "mo\rre", "id", "score"]
    assert found == [[*row, str(n), "0.5"] for n, row in enumerate(rows)]
    assert [[row["note"], row["mo\rre"]] for _, row in read_rows(path)] == [list(row) for row in rows]
    again = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert again[["note", "mo\rre"]].to_numpy().tolist() == [list(row) for row in rows]


FORMULAS = ("=1+1", "@SUM(A1)", "+cmd|x", "-1+2", "\t=1", "\r=1", "＝1+1")


def test_cells_that_begin_like_a_formula_stay_or_are_made_safe_for_spreadsheets(folder):
    notes = [*FORMULAS, "-4.5", "+3 %", "rain = wet"]
    write([{**ROWS[0], "id": str(n), "=note": note} for n, note in enumerate(notes)])
    for option, added in ((False, ""), (True, "'")):
        score(out=Path("s.csv"), claims=Path("c.csv"), safe_csv=option)
        with open("s.csv", encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [row[f"{added}=note"] for row in rows] == [
            f"{added}{note}" if note in FORMULAS or note == "+3 %" else note for note in notes
        ]
        for name in ("s.csv", "c.csv"):  # by the mark of UTF-8 Excel knows it
            assert Path(name).read_bytes().startswith("\ufeff".encode()) == option
        assert next(iter(read_rows(Path("s.csv"))))[1]["id"] == "0"


def test_a_carried_number_that_json_has_no_word_for_loses_no_scores():
    Path("mine.jsonl").write_text('{"document": "It rained.", "summary": "It rained.", "n": Infinity, "m": [NaN]}')
    score(out=Path("s.jsonl"))
    found = json.loads(Path("s.jsonl").read_text())
    assert (found["score"], found["n"], found["m"]) == (1, "Infinity", [None])


@pytest.mark.parametrize("out", ["s.jsonl", "s.csv"])
def test_a_carried_value_may_be_as_deep_as_one_can_be_read(out):
    value = '{"k": [' * 300 + "1" + "]}" * 300
    Path("mine.jsonl").write_text(f'{{"document": "It rained.", "summary": "It rained.", "n": {value}}}')
    score(out=Path(out))
    assert value in Path(out).read_text().replace('""', '"')


def test_json_lines_keep_the_smallest_scores(folder, tmp_path):
    table = pd.DataFrame({"id": ["a", "b"], "score": [1.25e-8, 0.1]})
    output.write(table, tmp_path / "s.jsonl")
    scores = [json.loads(line)["score"] for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert scores == [1.25e-8, 0.1]  # a product of many supports is small


def test_columns_of_the_file_keep_their_values_in_json_lines_and_are_json_in_a_csv(folder):
    given = {"n": 0.1 + 0.2, "big": 2**70, "tags": ["é", None, {"k": 1}], "ok": True, "note": "7"}
    write([{**ROWS[0], **given}, ROWS[1]])
    score(out=Path("s.jsonl"))
    first, second = map(json.loads, Path("s.jsonl").read_text(encoding="utf-8").splitlines())
    assert {name: first[name] for name in given} == given
    assert {name: second[name] for name in given} == dict.fromkeys(given)
    score(out=Path("s.csv"))
    first, second = pd.read_csv("s.csv", dtype=str, keep_default_na=False).to_dict("records")
    assert {name: first[name] for name in given} == {
        "n": "0.30000000000000004",
        "big": str(2**70),
        "tags": '["é", null, {"k": 1}]',
        "ok": "true",
        "note": "7",
    }
    assert {second[name] for name in given} == {""}


def test_a_column_named_model_is_carried_beside_the_name_of_the_model_that_scored(folder):
    write([row | {"model": f"m{number}"} for number, row in enumerate(ROWS)])
    score(metric="sentences", model="lexical")
    found = pd.read_csv("mine.sentences.lexical.csv")
    assert found["model"].tolist() == ["m0", "m1", "m2", "m3"]
    assert set(found["scorer"]) == {"lexical"}
    score()
    assert pd.read_csv("mine.word-overlap.csv")["scorer"].isna().all()  # words are counted without one


def test_scores_of_another_model_do_not_take_the_place_of_those_that_are_there(folder):
    Path("params.yaml").write_text("models: {words/v1: {kind: lexical}}")
    write(ROWS)
    for model in ("lexical", "words/v1"):
        score(metric="sentences", model=model)
    found = {path.name: set(pd.read_csv(path)["scorer"]) for path in folder.glob("*.csv")}
    assert found == {"mine.sentences.lexical.csv": {"lexical"}, "mine.sentences.words-v1.csv": {"words/v1"}}


def test_a_prompt_for_a_metric_that_has_none_is_refused(folder):
    write(ROWS)
    with pytest.raises(
        PromptError, match="metric 'word-overlap' has no prompt, it counts words; leave out --prompt bel"
    ):
        score(prompt=["belugaeval-judge-consistency"])
    assert not list(folder.glob("*.csv"))


def test_a_prompt_for_a_model_that_reads_none_is_warned_of(capsys):
    write(ROWS)
    score(metric="sentences", model="lexical", prompt=["acueval-verify-fewshot"])
    assert "warning: acueval-verify-fewshot: the lexical model reads no prompt" in capsys.readouterr().err
    score(metric="sentences", model="lexical")
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.jsonl.gz"])
def test_json_lines_hold_the_claims_of_each_row(name):
    document = "The cat sat on the mat. It rained | poured in Rome."
    rows = [
        {"id": "a", "document": document, "summary": "The cat sat. It rained in Rome.", "n": 7, "label": 1},
        ROWS[3],
    ]
    write(rows)
    score(metric="sentences", model="lexical", out=Path(name))
    with (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    assert [row["id"] for row in found] == ["a", "d"]
    first, second = found[0]["claims"]
    assert (first["text"], first["start"], first["end"]) == ("The cat sat.", 0, 12)
    assert (first["support"], first["evidence"]) == (1, ["The cat sat on the mat."])
    assert second["evidence"] == ["It rained | poured in Rome."]
    assert [row["n"] for row in found] == [7, None]
    assert (found[1]["claims"], found[1]["reason"]) == ([], "empty summary")
    assert pd.isna(found[1]["score"])
    write([row | {"claims": "x"} for row in rows])
    with pytest.raises(TableError, match="column 'claims' would appear twice"):
        score(out=Path(name))


def test_json_lines_say_of_aligned_claims_what_decides_them():
    examples = pd.DataFrame({"id": ["a"], "document": ["It rained. Lee won."], "summary": ["Lee won. Lee wept."]})
    claims = claim_table(["a"], [Decomposition((Claim("Lee won."), Claim("Lee wept.")))])
    aligned = AlignedVerdict(0.95, None, (1,), "sentence", "Lee won.", 11, 19, 0.92, 0.06, 0.02)
    verdicts = verdict_table(["a"], [[aligned, Verdict(math.nan, "empty claim")]])
    found = Evaluation(claims, verdicts, pd.DataFrame())
    output.write(output.with_claims(examples[["id"]], output.claim_table(found, examples)), Path("s.jsonl"))
    won, wept = json.loads(Path("s.jsonl").read_text())["claims"]
    assert (won["support"], won["p_entail"], won["evidence"]) == (0.95, 0.92, ["Lee won."])
    assert (wept["support"], wept["p_entail"], wept["evidence"]) == (None, None, [])


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl.gz"])
def test_a_write_that_fails_leaves_the_earlier_result(folder, name):
    path = Path(name)
    output.write(pd.DataFrame({"id": ["a", "b"]}), path)
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        output.write(pd.DataFrame({"id": ["c"] * 2, "tags": [[1], [object()]]}), path)  # no JSON, after a row that is
    assert path.read_bytes() == before
    output.write(pd.DataFrame({"id": ["c"]}), path)
    assert path.read_bytes() != before
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in folder.iterdir()] == [name]


def test_half_a_result_never_stands_in_its_place():
    with paths.whole(Path("scores.csv")) as new:
        new.write_text("half")
        assert not Path("scores.csv").exists()
    assert Path("scores.csv").read_text() == "half"
    assert [found.name for found in Path().iterdir()] == ["scores.csv"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_with_the_name_of_the_file(number):
    with pytest.raises(OSError, match=r"no room: 'scores\.csv'"), paths.whole(Path("scores.csv")):
        raise OSError(number, "no room")
    assert not list(Path().iterdir())


def test_a_link_stays_one_and_a_device_is_written_itself():
    Path("deep").mkdir()
    Path("scores.csv").symlink_to("deep/real.csv")
    output.write(pd.DataFrame({"id": ["a"]}), Path("scores.csv"))
    assert Path("scores.csv").is_symlink()
    assert Path("deep/real.csv").read_text() == "id\na\n"
    with paths.whole(Path("/dev/null")) as new:
        assert new == Path("/dev/null")


def test_a_file_in_a_folder_that_takes_no_other_is_written_itself(folder, monkeypatch):
    Path("scores.csv").write_text("old")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != folder.resolve())  # root may write everywhere
    with paths.whole(Path("scores.csv")) as new:
        assert new == Path("scores.csv")


def test_a_file_without_splits_is_not_told_of_splits_that_it_lacks(capsys):
    write([{"document": "It rained.", "summary": text, "label": label} for text, label in (("Rain.", 1), ("Sun.", 0))])
    score()
    printed = capsys.readouterr().out
    assert "Give the file a column 'split', 'validation' (or valid, val, dev) in some labelled rows" in printed
    assert "split 'test'" not in printed


def test_a_misspelt_label_is_told_of(capsys):
    write([{("lable" if key == "label" else key): value for key, value in row.items()} for row in ROWS])
    score()
    printed = capsys.readouterr()
    assert "column 'lable' is carried through unread; did you mean 'label'?" in printed.err
    assert "AUC" not in printed.out


def test_columns_of_other_names_and_no_ids(capsys):
    rows = [
        {"article": row["document"], "highlights": row["summary"], "faithful": row["label"], "n": 7} for row in ROWS
    ]
    write(rows)
    score(columns={"document": "article", "summary": "highlights", "label": "faithful"}, threshold=0.5)
    found = pd.read_csv("mine.word-overlap.csv")
    # `faithful` is what was decided; what the file calls so is the label, and stands under that name
    assert list(found) == [*COLUMNS, "faithful", "label", "n"]
    assert found["id"].tolist() == [1, 2, 3, 4]
    assert found["label"].tolist() == [1, 0, 0, 1]
    assert "AUC against your labels" in capsys.readouterr().out
    write(
        [{"score" if name == "faithful" else name: value for name, value in row.items()} for row in rows], "again.jsonl"
    )
    score("again.jsonl", columns={"document": "article", "summary": "highlights", "label": "score"}, out=Path("x.csv"))
    assert pd.read_csv("x.csv")["label"].tolist() == [1, 0, 0, 1]


def test_labels_of_some_rows_are_compared_with_their_scores(capsys):
    unlabelled = {"id": "e", "document": "A dog.", "summary": "A dog."}
    write([*ROWS, unlabelled])
    score()
    area = roc_auc_score([1, 0, 0], [1, 1 / 4, 2 / 3])
    assert f"AUC against your labels over the 3 summaries that have a label and a score: {area:.3f}" in (
        capsys.readouterr().out
    )


def test_systems_are_compared_where_there_are_several(capsys):
    systems = {"a": "good", "d": "bad", "j": "silent"}
    rows = [
        {"document": f"one two three four {n}", "summary": row["summary"], "system": systems[row["id"]]}
        for row in SPLIT
        if row["id"] in systems
        for n in range(10)
    ]
    write(rows)
    score()
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  mean by system (95 % bootstrap over documents):")
    assert lines[at + 1 : at + 4] == [
        "  good: 1.000 (1.000 to 1.000), 10 scored",
        "  bad: 0.250 (0.250 to 0.250), 10 scored",
        "  `claimwise compare` says which of these systems differ",
    ]
    assert not any("silent" in line for line in lines)
    write([*rows[1:10], rows[10]])
    score()
    lines = capsys.readouterr().out.splitlines()
    assert "  good: 1.000 (9 documents: too few for an interval), 9 scored" in lines
    assert "  bad: 0.250 (1 document: too few for an interval), 1 scored" in lines
    write(SPLIT)
    score()
    assert "by system" not in capsys.readouterr().out


def test_an_unknown_model_is_told_that_there_are_no_settings():
    write(ROWS)
    with pytest.raises(
        ClaimwiseError,
        match=r"'gpt'; there is no params\.yaml, and without one there are: embedded, .*; or --model openai .* with --name",
    ):
        score(model="gpt")
    with pytest.raises(
        ClaimwiseError, match=r"^--model lexical with --base-url or --name: .*unknown option 'base_url'"
    ):
        score(model="lexical", options={"base_url": "http://localhost:9/v1"})
    for options in ({}, {"base_url": "http://localhost:9/v1"}):
        with pytest.raises(ClaimwiseError, match=r"^--model openai: say which model with --name"):
            score(model="openai", options=options)


def test_a_threshold_is_tuned_on_validation_rows_and_reported_on_others(capsys):
    write(SPLIT)
    found = score().set_index("id")
    printed = capsys.readouterr().out
    # between c's 0.5 and b's 0.75, and the highest such: predictions of e to h are 1, 1, 0, 0
    assert found["faithful"].tolist() == [1, 1, 0, 0, 1, 1, 0, 0, 1, pd.NA]
    cut = float(re.search(r"5 of 9 above the threshold (\S+), tuned on 4 labelled validation rows", printed)[1])
    assert (
        cut == 0.625
    )  # halfway: neither rejects what is a little worse than b nor takes what is a little better than c
    right = 100 * balanced_accuracy_score([1, 0, 0, 1], [1, 1, 0, 0])
    assert f"balanced accuracy on 4 labelled other rows: {right:.1f} % (" in printed
    assert "have validation rows too" not in printed
    with Path("mine.word-overlap.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["faithful"] for row in csv.DictReader(stream)] == [*"110011001", ""]


def test_a_given_threshold_decides_as_the_tuned_one_did(capsys):
    write(SPLIT)
    tuned = score()
    cut = float(re.search(r"threshold (\S+), tuned", capsys.readouterr().out)[1])
    pd.testing.assert_frame_equal(score(threshold=cut), tuned)
    assert "balanced accuracy on 8 labelled rows: 75.0 %" in capsys.readouterr().out


def test_right_of_all_rows_is_not_certainty(capsys):
    ranked = [row | {"label": int(row["id"] in "abef")} for row in SPLIT[:8]]
    write(ranked)
    score(threshold=0.6)
    printed = capsys.readouterr().out
    low = 100 * proportion_confint(4, 4, method="beta")[0]
    assert "balanced accuracy on 8 labelled rows: 100.0 % (50 is chance)" in printed
    for kind in ("faithful", "unfaithful"):
        assert f"4 of 4 {kind} rows decided rightly, {low:.1f} to 100.0 % (exact 95 % interval" in printed
    write(ranked)
    score(threshold=0)  # always the same decision: 50 % in every draw
    printed = capsys.readouterr().out
    assert f"4 of 4 faithful rows decided rightly, {low:.1f} to 100.0 %" in printed
    assert f"0 of 4 unfaithful rows decided rightly, 0.0 to {100 - low:.1f} %" in printed
    assert "bootstrap" not in printed


@pytest.mark.parametrize("documents", [1, 9, 10])
def test_few_documents_have_no_interval(capsys, documents):
    write(
        [
            row | {"id": str(n), "document": f"one two three four {n % documents}"}
            for n, row in enumerate(SPLIT[4:8] * 5)
        ]
    )
    score(threshold=0.6)
    printed = capsys.readouterr().out
    few = f"{documents} document{'s' * (documents > 1)}: too few for an interval"
    assert (f"labelled rows: 50.0 % ({few}; 50 is chance)" in printed) == (documents < 10)
    assert ("95 % bootstrap over documents" in printed) == (documents == 10)


def test_a_result_is_no_file_of_examples():
    write(ROWS)
    score(page=Path("mine.html"), out=Path("mine.csv"))
    with pytest.raises(TableError, match=r"^mine\.csv is a result of `claimwise score`, as the record beside it says"):
        score("mine.csv")


def test_nothing_is_said_of_bounds_that_decided_nothing(capsys):
    write([{"document": "雨が降った。", "summary": "雨が降った。"}])
    score(metric="acueval", model="embedded")
    printed = capsys.readouterr().out
    assert "1 without a verdict: not English" in printed
    assert "bounds" not in printed
    assert "verdicts:" not in printed


def test_documents_on_both_sides_of_the_threshold_are_told_of(capsys):
    write([row | {"document": "one two three four"} if row["id"] in "ae" else row for row in SPLIT])
    score()
    assert "1 of their documents have validation rows too" in capsys.readouterr().out


def test_without_labels_to_report_on_nothing_is_said_of_accuracy(capsys):
    write(SPLIT[:4])
    score()
    assert "how right that is only labelled rows of another split can say" in capsys.readouterr().out


NO_SPLIT = "no threshold: to tune one give some labelled rows of both kinds the split 'validation' (or"
FOUND = "labelled rows found: 3 of split 'test', 1 of split "
NOT_SEPARATED = "  no threshold: the scores do not separate your 4 labelled validation rows "


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (SPLIT[4:], [NO_SPLIT, FOUND]),
        ([*SPLIT[:2], *SPLIT[4:]], [NO_SPLIT, FOUND]),
        (
            [row | {"label": 1 - row["label"]} for row in SPLIT[:8]],
            [f"{NOT_SEPARATED}(AUC 0.000); label 1 means faithful: are the labels the other way round?\n"],
        ),
        ([row | {"summary": "one two"} for row in SPLIT], [f"{NOT_SEPARATED}(AUC 0.500); give more of them"]),
    ],
    ids=["no validation rows", "one label", "labels the wrong way round", "equal scores"],
)
def test_nothing_is_decided_without_validation_rows_that_their_scores_separate(rows, said, capsys):
    write(rows)
    assert "faithful" not in score(page=Path("page.html"))
    printed = capsys.readouterr().out
    assert "above the threshold" not in printed
    assert all(part in printed for part in said), printed
    assert "faithful" in score(threshold=0.5)  # one that is given is taken


def test_how_right_a_tuned_threshold_is_on_its_own_rows_is_said(capsys):
    write([row | {"label": int(row["id"] in "ad")} for row in SPLIT[:4]] + SPLIT[4:])
    score()
    right = 100 * balanced_accuracy_score([1, 0, 0, 1], [1, 0, 0, 0])
    told = f"tuned on 4 labelled validation rows (balanced accuracy on these {right:.1f} %; for"
    assert told in capsys.readouterr().out


def test_two_prompts_for_one_role_are_refused(folder):
    write(ROWS)
    twice = ["acueval-verify-fewshot", "acueval-verify-zeroshot"]
    with pytest.raises(
        PromptError, match="--prompt: acueval-verify-fewshot and acueval-verify-zeroshot are both for verify; give one"
    ):
        score(metric="sentences", model="lexical", prompt=twice)
    assert not list(folder.glob("*.csv"))


def test_the_threshold_is_printed_with_no_more_digits_than_its_decisions_need(capsys):
    document = "one two three four five six seven"
    labels = {document: 1, "one two three four five six nine": 1, "one two three eight nine ten eleven": 0}
    write([{"document": document, "summary": s, "label": label, "split": "dev"} for s, label in labels.items()])
    assert score(page=Path("page.html"))["faithful"].tolist() == [1, 1, 0]
    assert "threshold 0.643, tuned" in capsys.readouterr().out  # halfway between 6/7 and 3/7
    assert "the threshold 0.643." in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(20))
def test_a_shortened_threshold_decides_as_the_whole_one_and_lies_beside_it(seed):
    generator = np.random.default_rng(seed)
    # shares, as word overlap and votes give, some of them a hair apart; a threshold is a percentile, often a score itself
    scores = generator.integers(0, 10, 40) / generator.integers(1, 10, 40) / 9
    scores = np.concatenate([scores, scores[:9] + 1e-9])
    for threshold in [*np.percentile(scores, generator.uniform(0, 100, 20)), *scores]:
        short = decisions.shortened(float(threshold), pd.Series(scores))
        assert ((scores > short) == (scores > threshold)).all()
        assert short == pytest.approx(threshold, rel=1e-2)
        if np.min(np.abs(scores - threshold)) > 1e-2:  # a score itself takes all its digits
            assert float(f"{short:.3g}") == short


@pytest.mark.parametrize("seed", range(20))
def test_a_tuned_threshold_decides_the_validation_rows_as_the_search_does_and_is_as_far_from_them_as_may_be(seed):
    generator = np.random.default_rng(seed)
    labels = pd.Series(np.r_[0, 1, generator.integers(0, 2, 20)], dtype=float)
    scores = pd.Series(generator.integers(0, 10, 22) / 9)
    if auc(labels, scores) < 0.5:  # of these none is tuned
        assert decisions.tuned(pd.DataFrame({"score": scores, "label": labels, "split": "dev"}), [])[0] is None
        labels = 1 - labels
    rows = {"label": labels, "split": "dev"}
    cut, _ = decisions.tuned(pd.DataFrame({"score": scores} | rows), ["split"])
    found = tuned_threshold(scores, labels)
    assert ((scores > cut) == (scores > found)).all()
    if (scores > found).any():
        gap = scores[scores > found].min() - scores[scores <= found].max()
        assert np.abs(scores - cut).min() == pytest.approx(gap / 2, abs=1e-3)


@pytest.mark.parametrize("scores", [[0.5, np.nextafter(0.5, 1)], [np.nextafter(0.5, 0), 0.5]])
def test_between_neighbouring_scores_there_is_no_middle(scores):
    assert scores[0] <= decisions.centred(scores[0], pd.Series(scores)) < scores[1]


@pytest.mark.parametrize("threshold", [1.5, -2, float("nan")])
def test_a_threshold_that_no_score_can_meet_is_refused(folder, threshold):
    write(SPLIT)
    with pytest.raises(ClaimwiseError, match="expected a number from 0 to 1, as scores are, got"):
        score(threshold=threshold)
    assert not list(folder.glob("*.csv"))


def test_what_goes_into_a_pipe_is_written_into_it():
    read, write = os.pipe()
    with paths.whole(Path(f"/dev/fd/{write}")) as place:
        place.write_text("id,score\n")
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == "id,score\n"


def test_a_name_as_long_as_a_name_may_be_is_written(tmp_path):
    path = tmp_path / ("n" * 245 + ".jsonl.gz")
    output.write(pd.DataFrame({"id": ["a"]}), path)
    assert json.loads(gzip.decompress(path.read_bytes())) == {"id": "a"}
    assert list(tmp_path.iterdir()) == [path]


def test_what_stands_in_a_file_is_no_command_to_the_terminal(capsys):
    evil = "\x1b]0;origin\x07"
    write([{**row, evil: 1, "system": f"{evil}{n % 2}"} for n, row in enumerate(ROWS)])
    score()
    told = "".join(capsys.readouterr())
    assert "mean by system" in told
    assert "did you mean 'origin'?" in told
    assert told.replace("\n", "").isprintable()


def test_what_made_the_scores_stands_beside_them():
    write(ROWS)
    score(metric="acueval", model="lexical", limit=3, columns={"id": "id"}, threshold=0.5)
    record = json.loads(Path("mine.acueval.lexical.first-3.csv.run.json").read_text())
    assert record["metric"]["verify"] == "acueval-verify-zeroshot"
    assert record["prompts"]["acueval-verify-zeroshot"] == load("acueval-verify-zeroshot").fingerprint
    assert record["versions"] == models.versions()
    assert record["model"].startswith("lexical (word overlap")
    assert record["fingerprint"] == models.load({"kind": "lexical"}).fingerprint
    assert (list(record["files"]), record["examples"], record["limit"]) == (["mine.jsonl"], 3, 3)
    assert (record["columns"], record["threshold"]) == ({"id": "id"}, 0.5)
    score()
    assert "model" not in json.loads(Path("mine.word-overlap.csv.run.json").read_text())  # none was asked


def test_an_edited_prompt_is_told_by_the_record():
    write(ROWS)
    found = []
    for text in ("Is it so?", "Is it really so?"):
        Path("mine.txt").write_text(
            f"---\nsource: me\nrole: verify\nreply: yes-no\n---\n{text} {{{{ Document }}}} / {{{{ ACU }}}} Yes or No?\n"
        )
        score(metric="acueval", model="lexical", prompt=["mine.txt"])
        found.append(json.loads(Path("mine.acueval.lexical.mine.csv.run.json").read_text())["prompts"]["mine.txt"])
    assert found[0] != found[1]


def test_the_record_holds_no_key_of_an_address():
    spec = metrics.specification("acueval", metrics.DEFAULT_METRICS)
    entry = {"kind": "openai", "model": "m", "base_url": "https://ann:geheim@example.org/v1", "temperature": 0.5}
    made = user_file.made_by("acueval", spec, entry | {"extra_body": {"token": "geheim"}}, FakeModel())
    assert "geheim" not in json.dumps(made)
    assert (made["model"], made["options"]["temperature"]) == ("m at https://example.org/v1", 0.5)


def test_a_record_is_written_over_no_example_and_its_failure_loses_no_scores(monkeypatch, capsys):
    write(ROWS, "scores.csv.run.json")
    with pytest.raises(
        ClaimwiseError, match=r"scores\.csv\.run\.json: what made the scores would be written over the examples"
    ):
        score("scores.csv.run.json", out=Path("scores.csv"))
    write(ROWS)
    Path("mine.word-overlap.csv.run.json").mkdir()
    assert len(score()) == len(ROWS)
    assert Path("mine.word-overlap.csv").is_file()
    assert "warning: what made the scores is not written" in capsys.readouterr().err


def test_what_else_was_written_is_said(capsys):
    write(ROWS)
    score(metric="acueval", model="lexical", page=Path("mine.html"), claims=Path("c.csv"))
    told = capsys.readouterr().out
    assert "  also written: c.csv, mine.html, mine.acueval.lexical.csv.run.json\n" in told


@pytest.mark.parametrize("given", [["."], ["mine.jsonl", "c.csv", "mine.acueval.lexical.csv"]])
def test_results_are_no_examples_whatever_their_names(given, folder, capsys):
    write(ROWS)
    score(metric="acueval", model="lexical", claims=folder / "c.csv")
    for _ in range(2):
        found = score(*given)
        assert found["id"].tolist() == [row["id"] for row in ROWS]
    assert Path(f"{folder.name if given == ['.'] else 'scores'}.word-overlap.csv").is_file()
    assert "left out, results of earlier runs by their records (*.run.json): " in capsys.readouterr().err


@pytest.mark.parametrize("record", ['{"document": "It rained."}', "[]", "no json"])
def test_what_somebody_else_calls_a_record_leaves_nothing_out(record):
    write(ROWS[:2], "a.jsonl")
    write(ROWS[2:], "b.jsonl")
    Path("a.jsonl.run.json").write_text(record)
    assert len(score("a.jsonl", "b.jsonl")) == len(ROWS)


def test_a_folder_of_scores_is_no_folder_of_examples():
    write(ROWS)
    score_folder([Path("mine.jsonl")], "word-overlap", None, Path("scores"), Path("params.yaml"))
    with pytest.raises(
        TableError, match="scores is a folder of scores, expected examples; `claimwise merge` makes one"
    ):
        score("scores")


def test_the_page_marks_words_where_the_model_knows_them_and_says_how_right_that_is():
    write([{"id": "a", "document": "The harbour reopened on Monday.", "summary": "The harbour reopened on Friday."}])
    marked = {}
    for model in ("embedded", "lexical"):
        score(metric="sentences", model=model, page=Path("mine.html"))
        page = BeautifulSoup(Path("mine.html").read_text(encoding="utf-8"), "html.parser")
        marked[model] = [mark.get_text() for mark in page.select(".claim mark")], "GenAudit" in page.get_text()
    assert marked == {"embedded": (["Friday"], True), "lexical": ([], False)}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A dataset as the hub's cache has it, and no network."""
    dataset = tmp_path / "hub" / "datasets--ann--news"
    file = dataset / "snapshots" / "0123abcd" / "data" / "test.parquet"
    file.parent.mkdir(parents=True)
    pd.DataFrame(ROWS).to_parquet(file)
    (dataset / "refs").mkdir()
    (dataset / "refs" / "main").write_text("0123abcd")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return file


@pytest.mark.parametrize("name", ["ann/news", "ann/news@main"])
def test_a_file_of_the_hub_is_scored_beside_the_working_folder(hub, name):
    score(f"hf://datasets/{name}/data/test.parquet")
    assert pd.read_csv("test.word-overlap.csv")["id"].tolist() == ["a", "b", "c", "d"]
    assert json.loads(Path("test.word-overlap.csv.run.json").read_text())["files"].keys() == {
        str(hub)
    }  # names the commit
    assert [found.name for found in hub.parent.iterdir()] == ["test.parquet"]


def test_a_file_that_the_hub_does_not_give_is_a_line(hub):
    with pytest.raises(ClaimwiseError, match=r"^hf://datasets/ann/news/none\.csv: cannot be read from the hub: .*$"):
        score("hf://datasets/ann/news/none.csv")


def test_a_hub_out_of_reach_is_asked_once(no_hub):
    message = r"^hf://datasets/ann/news/a\.csv: cannot be read from the hub: the hub is out of reach \(no such host\)"
    with pytest.raises(ClaimwiseError, match=message):
        score("hf://datasets/ann/news/a.csv")
    assert len(no_hub) == 1


def test_a_summary_is_not_called_faithful_while_a_claim_of_it_is_doubted():
    document = "Police denied that the suspect had confessed. The trial began on Monday in Oslo."
    write([{"document": document, "summary": s} for s in ("The suspect had confessed.", "The trial began in Oslo.")])
    scores = score(metric="acueval", claims=Path("claims.csv"), page=Path("mine.html"))
    assert scores["score"].min() > 0.86  # the model itself overlooks the denial
    assert scores["verdict"].tolist() == ["not sure", "faithful"]
    assert pd.read_csv("claims.csv")["verdict"].tolist() == ["not sure", "supported"]


def test_a_model_without_bounds_says_that_there_are_no_verdicts(capsys):
    write([{"document": "It rained in Rome.", "summary": "It rained."}])
    score(metric="acueval", model="lexical")
    assert "no verdicts: this model and metric have no bounds" in capsys.readouterr().out
    score(metric="acueval", model="lexical", threshold=0.5)
    score(metric="acueval")
    score(metric="word-overlap")  # asks no model
    assert "no bounds are known" not in capsys.readouterr().out


def test_a_denial_that_the_model_overlooks_keeps_every_claim_metric_from_calling_it_faithful(capsys):
    write(
        [{"document": "The trial found that the drug did not lower blood pressure.", "summary": "The drug lowered it."}]
    )
    for metric in ("acueval", "sentences", "factored"):
        scores = score(metric=metric, claims=Path("claims.csv"))
        assert scores["verdict"].tolist() == ["not sure"]
        [support] = pd.read_csv("claims.csv")["support"]
        assert 0.5 < support < 0.89  # neither the claim's own bounds nor one half would say so
        said = capsys.readouterr().out
        assert "with bounds from QAGS or WiCE, 53 % were right on the other (a coin: 50)" in said


def test_one_wrong_sentence_of_a_long_summary_is_seen_beside_the_mean_and_by_the_metric_weakest(tmp_path):
    told = "It rained. Ann left. The cat sat. The dog ran. "
    write([{"document": told, "summary": told + "Nine whales sang."}, {"document": told, "summary": ""}])
    columns = ["score", "min_support", "n_claims", "n_unsupported"]
    mean, empty = score(metric="sentences", model="lexical")[columns].to_numpy().tolist()
    assert mean == [0.8, 0, 5, 1]
    assert empty == [pytest.approx(math.nan, nan_ok=True)] * 2 + [0, pd.NA]
    assert score(metric="weakest", model="lexical")[columns].to_numpy().tolist()[0] == [0, 0, 5, 1]
    score_folder([Path("mine.jsonl")], "weakest", "lexical", Path("scores"), Path("params.yaml"))
    assert pd.read_parquet("scores")[columns].to_numpy().tolist()[0] == [0, 0, 5, 1]


@pytest.mark.parametrize("metric", ["acueval", "sentences", "holistic", "word-overlap"])
def test_a_refusal_is_no_summary_of_which_nothing_is_asked(metric, capsys):
    refusals = ["I'm sorry, but I can't summarize this document.", "I cannot help with that."]
    write([{"document": "It rained.", "summary": one} for one in (*refusals, "It rained.")])
    scores = score(metric=metric, model="lexical")
    assert scores["reason"].tolist() == ["a refusal, no summary"] * 2 + [None]
    assert scores[["n_claims", "n_unparsed"]].head(2).to_numpy().sum() == 0
    assert scores["score"].isna().tolist() == [True, True, False]
    assert "  2 x a refusal, no summary" in capsys.readouterr().out


def test_claims_of_ones_own_are_rows_and_no_summaries(capsys):
    write([{"document": "It rained in Rome.", "claims": ["It rained.", "The sun shone."]}])
    score(metric="acueval", model="lexical", page=Path("mine.html"))
    assert ": 1 row by model lexical, mean 0.500" in capsys.readouterr().out
    page = Path("mine.html").read_text(encoding="utf-8")
    assert "<p>1 row of claims by model lexical" in page
    assert "<h3>Summary</h3>" not in page
    assert page.count('class="claim"') == 2


def test_a_file_in_another_language_has_no_verdicts_however_short_its_rows():
    rows = ["Der Hund schläft.", *(f"Der Regen ist nicht für die Stadt Nummer {i} gekommen." for i in range(9))]
    write([{"document": text, "summary": text} for text in rows])
    assert set(score(metric="acueval", claims=Path("claims.csv"))["verdict"]) == {""}
    claims = pd.read_csv("claims.csv")
    assert claims["support"].notna().all()
    assert claims["verdict"].isna().all()


def test_two_results_beside_each_other_have_records_of_their_own():
    write(ROWS)
    score(out=Path("r.csv"))
    score(out=Path("r.jsonl"), metric="sentences", model="lexical")
    names = [json.loads(Path(f"r.{kind}.run.json").read_text())["metric"]["name"] for kind in ("csv", "jsonl")]
    assert names == ["word-overlap", "sentences"]


def test_a_word_for_nothing_is_warned_of(capsys):
    write([{"document": "It rained.", "summary": "NaN"}, {"document": "It rained.", "summary": "It rained."}])
    score(metric="sentences", model="lexical")
    assert "warning: 1 summary is a word for nothing (NaN, None, null)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"document": f"It rained in town {n} all day.", "summary": f"Rain {n}."} for n in range(6)], False),
        ([{"summary": f"It rained in town {n} all day.", "document": f"Rain {n}."} for n in range(6)], True),
        (
            [{"summary": f"It rained in town {n} all day.", "document": ""} for n in range(5)]
            + [{"summary": "Rain.", "document": "Rain fell."}],
            False,
        ),
        ([{"document": "It rained.", "claims": ["It rained.", "Dogs barked."]} for _ in range(6)], False),
    ],
)
def test_exchanged_columns_are_noticed(rows, told, capsys):
    write(rows, "plain.jsonl")
    score("plain.jsonl", metric="sentences", model="lexical")
    assert ("summaries are longer than their documents: are the two exchanged?" in capsys.readouterr().err) == told


def test_a_name_without_a_model_sends_nothing_to_a_vendor(monkeypatch):
    write(ROWS)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-4242")
    with pytest.raises(models.ModelError, match=r"^--name gpt needs --model: transformers \(a checkpoint\), openai"):
        score(metric="sentences", options={"model": "gpt"})


@pytest.mark.parametrize(
    ("column", "field"), [("item", "id"), ("model", "system"), ("human", "label"), ("fold", "split"), ("itme", None)]
)
def test_columns_that_other_tools_name_so_are_suggested(column, field, capsys):
    write([{"document": "It rained in Rome.", "summary": "It rained.", column: "1"}], "one.jsonl")
    score("one.jsonl")
    said = capsys.readouterr().err
    assert (f"did you mean {field!r}? Say so: --column {field}={column}" in said) == (field is not None)


def test_a_place_without_an_ending_is_refused_before_anything_is_asked():
    write(ROWS)
    with pytest.raises(ClaimwiseError, match=r"^scores: .* ends in \.csv or \.jsonl or \.parquet$"):
        score(out=Path("scores"))
    score(out=Path("/dev/null"))


def test_one_hint_a_field_and_none_about_the_texts(capsys):
    row = {
        "document": "It rained.",
        "claims": ["It rained."],
        "response": "Rain.",
        "human": 1,
        "faithful_": 1,
        "uid": "a",
    }
    write([row], "one.jsonl")
    score("one.jsonl", metric="sentences", model="lexical")
    hints = [line for line in capsys.readouterr().err.splitlines() if "did you mean" in line]
    assert [re.search(r"column '(\w+)'.*mean '(\w+)'", line).groups() for line in hints] == [
        ("human", "label"),
        ("uid", "id"),
    ]
