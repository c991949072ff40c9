"""A corpus's tables are validated and kept on disk byte for byte, with notes and questions."""

import hashlib
from dataclasses import replace

import pandas as pd
import pytest

from claimwise import corpora, schema
from claimwise.corpora.base import TABLES, Rows


def toy():
    rows = Rows("toy")
    first = rows.example("d1", "lead", document="It rained.\r\n“Ja”, she said.", summary="Rain.", label=1)
    second = rows.example("d1", "model", document="It rained.\r\n“Ja”, she said.", summary="", split="validation")
    rows.gold(first, [{"claim": "It rained", "label": 1}, {"claim": "It snowed", "label": 0, "error": "entity"}])
    rows.recorded(first, "splitter", ["It rained."])
    rows.score(first, "m (published)", 0.25)
    rows.score(second, "m (published)", float("nan"), "refused")
    rows.prefer(first, second, "r1", "equal")
    rows.questions[first] = "Did it rain? Où?"
    rows.notes["left out"] += 2
    return rows.corpus()


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_few_validation_documents_of_each_origin_leave_the_test_rows_alone():
    rows = Rows("toy")
    for origin, split, documents in (("news", "validation", 3), ("news", "test", 3), ("talk", "validation", 2)):
        for number in range(documents):
            for system in ("a", "b"):
                text = f"{origin} {split} {number}"
                rows.example(text, system, document=text, summary="It rained.", split=split, origin=origin)
    corpus = rows.corpus()

    few = corpus.first(None, {"validation": 1}).examples

    assert few.groupby(["origin", "split"]).size().to_dict() == {
        ("news", "test"): 6,
        ("news", "validation"): 2,
        ("talk", "validation"): 2,
    }
    assert few.equals(corpus.first(None, {"validation": 1}).examples)
    [first, _] = few.query("split == 'validation' and origin == 'news'")["document_id"]
    others = corpus.first(None, {"validation": 2}, learned={first}).examples
    assert first not in others["document_id"].tolist()
    assert others.groupby(["origin", "split"]).size().loc["news"].to_dict() == {"test": 6, "validation": 4}
    both = corpus.first(None, {"validation": 1, "test": 2}).examples
    assert both.groupby(["origin", "split"]).size().loc["news"].to_dict() == {"test": 4, "validation": 2}
    none = corpus.first(None, {"validation": 0}).examples
    assert none.groupby(["origin", "split"]).size().to_dict() == {("news", "test"): 6}
    assert corpus.first(None).examples.equals(corpus.examples)


def test_what_is_said_of_documents_that_are_left_out_goes_with_them():
    corpus = corpora.load("sample")
    few = corpus.first(None, {"validation": 2, "test": 2})
    kept = set(few.examples["id"])
    assert 0 < len(few.preferences) < len(corpus.preferences)
    assert set(few.preferences["first_id"]) | set(few.preferences["second_id"]) <= kept
    of_kept = corpus.gold_claims[corpus.gold_claims["example_id"].isin(kept)]
    assert few.gold_claims["claim"].tolist() == of_kept["claim"].tolist()
    whole = corpus.first(None)
    assert all(getattr(whole, name).equals(getattr(corpus, name)) for name in TABLES)


def test_what_is_written_is_read_back(tmp_path):
    corpus = toy()
    corpora.write(corpus, tmp_path / "toy")
    back = corpora.read(tmp_path / "toy")
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(back, name), getattr(corpus, name))
    assert back.notes == corpus.notes
    assert back.questions == corpus.questions


def test_equal_content_gives_equal_bytes_even_after_reading(tmp_path):
    corpora.write(toy(), tmp_path / "one")
    corpora.write(corpora.read(tmp_path / "one"), tmp_path / "two")
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert len(digests(tmp_path / "one")) == len(TABLES) + 1


def test_replies_on_record_have_a_file_only_where_there_are_any(tmp_path):
    corpora.write(toy(), tmp_path)
    assert not (tmp_path / "recorded_replies.parquet").exists()
    assert corpora.read(tmp_path).recorded_replies.empty
    rows = Rows("toy")
    rows.replied(rows.example("d", "lead", document="D", summary="S"), "gpt", "mcq", "recorded-judge-letter", "E\n")
    corpora.write(rows.corpus(), tmp_path)
    pd.testing.assert_frame_equal(corpora.read(tmp_path).recorded_replies, rows.corpus().recorded_replies)
    corpora.write(toy(), tmp_path)
    assert corpora.read(tmp_path).recorded_replies.empty


def test_empty_tables_keep_their_columns_on_disk(tmp_path):
    corpora.write(Rows("empty").corpus(), tmp_path)
    back = corpora.read(tmp_path)
    for name in TABLES:
        assert list(getattr(back, name).columns) == list(schema.SCHEMAS[name].columns)


def test_optional_columns_may_be_absent_when_writing(tmp_path):
    corpus = toy()
    slim = replace(corpus, scores=corpus.scores.drop(columns="reason"))
    corpora.write(slim, tmp_path)
    assert corpora.read(tmp_path).scores.reason.tolist() == [None, None]


def test_reading_a_folder_without_tables_says_how_to_write_them(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"examples\.parquet is not there; run `make repro` \(or `dvc repro`\) once first"
    ):
        corpora.read(tmp_path)


def test_an_id_that_stands_twice_is_refused_with_its_row():
    rows = Rows("toy")
    for _ in range(2):
        rows.example("d1", "lead", document="It rained.", summary="Rain.")
    with pytest.raises(schema.TableError, match=r"corpus toy, table examples, row 3, column 'id'.*make it unique"):
        rows.corpus()


def test_a_label_that_is_neither_0_nor_1_is_refused():
    rows = Rows("toy")
    rows.example("d1", "lead", document="It rained.", summary="Rain.", label=2)
    with pytest.raises(schema.TableError, match=r"column 'label': found 2\.0, expected 1"):
        rows.corpus()
