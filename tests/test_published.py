"""The papers' numbers in data/published, compared with what the papers print."""

import pandas as pd
import pytest
from imports import ROOT

from claimwise.analysis.published import printed
from claimwise.analysis.published import published_table as rows


def value(frame, **where):
    for column, wanted in where.items():
        frame = frame[frame[column] == wanted]
    [found] = frame["value"]
    return found


def test_a_table_has_its_columns_and_only_its_rows():
    frame = rows("acueval", "1")
    assert list(frame.columns) == ["corpus", "origin", "row", "measure", "value", "plus_minus"]
    assert frame.index.tolist() == list(range(len(frame)))
    assert len(rows("acueval", "1")) == len(rows("acueval", 1)) > 0


@pytest.mark.parametrize(
    ("paper", "number", "where", "expected"),
    [
        ("acueval", "1", {"corpus": "aggrefact_ftsota", "origin": "xsum", "row": "ACUEval"}, 74.5),
        ("acueval", "1", {"corpus": "summeval", "row": "ACUEval"}, 86.2),
        ("acueval", "2", {"origin": "xsum", "row": "FactScore prompt"}, 72.55),
        ("acueval", "5", {"row": "Claude 2", "measure": "words"}, 87.5),
        ("fenice", "3", {"origin": "cnndm", "row": "FENICE (T5 claims)"}, 67.1),
        ("fenice", "1", {"row": "FENICE T5", "measure": "easiness_f1"}, 73.4),
        ("factored_verification", "1", {"row": "GPT-4 factored"}, 76.2),
    ],
)
def test_values_that_the_papers_print(paper, number, where, expected):
    assert value(rows(paper, number), **where) == expected


def test_the_averages_that_the_papers_print_follow_from_their_rows():
    # ACUEval Table 3 prints 77.08 for zero-shot and 57.0x as means of three corpora.
    frame = rows("acueval", "3")
    for name, part in frame.groupby("row"):
        mean = part.loc[part["origin"] != "average", "value"].mean()
        # AutoACU's printed average is .01 off (docs: errata)
        assert mean == pytest.approx(value(part, origin="average"), abs=0.016), name


@pytest.mark.parametrize("paper", ["acueval", "fenice", "factored_verification"])
def test_no_row_is_typed_twice_and_none_is_empty(paper):
    frame = pd.read_csv(ROOT / "data" / "published" / f"{paper}.csv", dtype={"table": str})
    assert not frame.duplicated(["table", "corpus", "origin", "row", "measure"]).any()
    assert frame["value"].notna().all()
    assert frame[["table", "corpus", "origin", "row", "measure"]].notna().all(axis=None)


def test_tables_are_printed_in_the_papers_order():
    ranking = printed(rows("acueval", "5"), "measure")
    assert ranking.columns.tolist() == ["row", "acueval", "hem", "words", "answer_percent"]
    assert len(ranking) == 11
    assert ranking.iloc[0].tolist() == ["GPT-4", 0.995, 0.970, 81.1, 100.0]
    assert ranking.iloc[-1].tolist() == ["PaLM chat-bison", 0.755, 0.728, 221.1, 88.8]
    generators = printed(rows("acueval", "2"), "origin")
    assert generators.columns.tolist() == ["row", "cnndm", "xsum", "samsum"]
    assert generators.iloc[-1].tolist() == ["AutoACU2-gen", 84.07, 82.0, 86.96]
    assert len(generators) == 5


def test_several_columns_stand_across():
    refined = printed(rows("acueval", "4"), "origin", "measure").set_index("row")
    given = rows("acueval", "4").iloc[0]
    assert refined.loc[given["row"], f"{given['origin']}, {given['measure']}"] == given["value"]
    assert refined.notna().sum().sum() == len(rows("acueval", "4"))
