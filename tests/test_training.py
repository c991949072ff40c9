"""Training the verifier: what it may see, what it writes, and what it measures."""

import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from claimwise.analysis.measures import auc
from claimwise.corpora.base import Rows
from claimwise_embedded.heads import VERDICT, Heads, claim_table, document_hash
from training import __main__ as entry
from training import data, evaluation, learning
from training import material as materials
from training.data import Row
from training.learning import Table


def toy_corpora():
    """A training corpus, and a test corpus that holds one of its documents in another spelling."""
    rng = random.Random(1)
    names = "Ann Bo Cara Dan Eve Finn Gus Hal".split()
    places = "Rome Oslo Lima Cairo Quito Delhi Paris Tunis".split()
    train = Rows("summedits")
    for number in range(24):
        name, place = rng.choice(names), rng.choice(places)
        document = f"Report {number}. {name} went to {place} on Monday. The weather there was cold and wet."
        other = rng.choice([p for p in places if p != place])
        for system, where, label in (("original", place, 1), ("edited", other, 0)):
            summary = f"{name} went to {where}."
            train.example(number, system, document=document, summary=summary, label=label, split="validation")
    corpus = train.corpus()
    tested = Rows("summeval")
    shared = corpus.examples["document"].iloc[0]
    tested.example("x", document=shared.upper().replace(" ", "  "), summary="S.", label=1)
    return {"summedits": corpus, "summeval": tested.corpus()}


def test_documents_of_test_sets_are_left_out_of_training_whatever_their_spelling():
    corpora = toy_corpora()
    shared = corpora["summedits"].examples["document"].iloc[0]
    rows = data.training_rows(corpora)
    assert document_hash(shared) in data.documents_under_test(corpora)
    assert rows
    assert all(document_hash(row.document) != document_hash(shared) for row in rows)


def test_errors_from_outside_come_from_other_documents_that_are_learned_from():
    rose = Rows("rose")
    for number in range(6):
        split = "validation" if number < 4 else "test"
        document = f"Report {number}. The council of town {number} met on Monday and spoke of the harbour at length."
        example = rose.example(number, "reference", document=document, summary="S.", split=split)
        rose.gold(example, [{"claim": f"{split} claim {number} tells of a bridge."}])
    corpora = {"rose": rose.corpus()}
    strangers = data.strange_claims(corpora)
    assert strangers == [f"validation claim {number} tells of a bridge." for number in range(4)]
    outside = [row for row in data.training_rows(corpora) if row.kind == "out-of-article"]
    assert len(outside) == 4
    for row in outside:
        [number] = [i for i in range(4) if f"report {i}." in row.document.lower()]
        assert row.summary.lower() in {claim.lower() for claim in strangers} - {strangers[number].lower()}


@pytest.fixture(scope="module")
def material():
    return materials.read(data.training_rows(toy_corpora()))


@pytest.fixture(scope="module")
def learned(material):
    return learning.learn(material)


def test_training_writes_weights_that_score_seen_documents_by_unseen_models(material, learned, tmp_path):
    learned.heads.write(tmp_path, {"toy": len(material.rows)})
    heads = Heads.read(tmp_path)
    seen = material.rows[0].document
    assert heads.unseen_by(seen) == [document_hash(seen) % heads.folds]
    assert heads.unseen_by("A document of which nobody has heard.") == list(range(heads.folds))
    again = tmp_path / "again"
    learning.learn(material).heads.write(again, {"toy": len(material.rows)})
    for name in ("verifier.safetensors", "verifier.json", "verifier-checkers.safetensors"):
        assert (tmp_path / name).read_bytes() == (again / name).read_bytes()


def test_trees_learn_from_what_the_written_checkers_will_tell_them(material, learned, tmp_path):
    learned.heads.write(tmp_path, {"toy": len(material.rows)})
    for trained, read in zip(learned.heads.checkers, Heads.read(tmp_path).checkers, strict=True):
        for name, tensor in trained.state_dict().items():
            assert torch.equal(tensor, read.state_dict()[name]), name


def test_what_a_variant_must_not_know_goes_with_everything_of_its_documents():
    rows = [
        Row("aggrefact_exf", "Doc one.", "S.", ("S.",), 1),
        Row("aggrefact_exf_edits", "Doc one.", "T.", ("T.",), 0),
        Row("rose", "doc  ONE", "U.", ("U.",), 1),
        Row("rose", "Doc two.", "V.", ("V.",), 1),
    ]
    material = materials.Material(rows, [[f"read {i}"] for i in range(4)], [[]] * 4)
    rest = material.without(("aggrefact_",))
    assert [row.summary for row in rest.rows] == ["V."]
    assert rest.statements == [["read 3"]]
    assert [row.summary for row in material.judged(("aggrefact_",)).rows] == ["S."]
    assert material.without(("wice",)).rows == rows


def test_a_share_of_the_documents_is_part_of_a_larger_one_and_favours_no_fold():
    rows = [Row("c", f"Document {i}.", f"S{j}.", ("S.",), 1) for i in range(2000) for j in range(2)]
    material = materials.Material(rows, [[]] * len(rows), [[]] * len(rows))
    small, large = (material.part(share).rows for share in (0.25, 0.5))
    assert len(small) == pytest.approx(1000, abs=120)  # 1,000 of 4,000, in pairs: three standard deviations
    assert {row.document for row in small} < {row.document for row in large}
    assert set(Counter(row.document for row in small).values()) == {2}  # whole documents
    folds = Counter(document_hash(row.document) % 4 for row in small)
    assert min(folds[fold] for fold in range(4)) > 200
    assert material.part(1).rows == rows
    # Rows are made of the documents of the lowest hashes: the share of these is the same.
    lowest = set(sorted({row.document for row in rows}, key=document_hash)[:400])
    assert len({row.document for row in small} & lowest) == pytest.approx(100, abs=30)


def test_the_zero_shot_variant_leaves_out_all_that_aggrefact_is_made_of():
    names = {name for name in data.TRAINING_SPLITS if name.startswith(data.ZERO_SHOT)}
    assert names == {*("aggrefact_ftsota", "aggrefact_exf", "summac_factcc", "summac_xsumfaith", "summac_cogensumm")}


def scored(rows, supports):
    """A table of statements, one a support, whose checkers say the opposite of the trees, which are surer."""
    row_of = np.array([i for i, some in enumerate(supports) for _ in some])
    flat = np.array([value for some in supports for value in some], dtype=float)
    unused = np.zeros(len(flat))
    table = Table(unused[:, None], unused, unused, row_of, unused, unused)
    return rows, table, np.stack([-flat, 3 * flat], axis=1), flat


def value(table, **where):
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    [found] = table["auc"]
    return found


def test_summaries_are_scored_once_by_the_least_or_mean_of_their_sentences():
    rows = [
        Row("c", "D.", "Right.", ("Right.",), 1),
        Row("c", "D.", "Right.", ("A claim of it.",), 1),  # recorded claims of the same summary: not counted
        Row("c", "D.", "Wrong. Not.", ("Wrong.", "Not."), 0),
        Row("c", "D.", "Bad.", ("Bad.",), 0),
    ]
    table = evaluation.ablation(*scored(rows, [[2], [-9], [1, 9], [-1]]))
    assert set(table["n"]) == {3}
    assert value(table, model="shipped", pooling="min") == 1
    assert value(table, model="features", pooling="mean") == 0.5
    assert value(table, model="checker", pooling="min") == 0.5  # -2 against -9 and 1
    assert value(table, model="checker", pooling="mean") == 0.5


def test_only_summaries_of_one_origin_are_compared():
    # One origin's summaries are mostly right and score high: within an origin the scores are upside down.
    texts = [("news", "A.", 1, 7), ("news", "B.", 1, 8), ("news", "C.", 0, 9), ("web", "D.", 0, 2), ("web", "E.", 1, 1)]
    rows = [Row("c", "D.", summary, (summary,), label, origin=place) for place, summary, label, _ in texts]
    table = evaluation.ablation(*scored(rows, [[score] for *_, score in texts]))
    assert value(table, model="shipped", pooling="min") == 0


def test_a_judged_row_knows_its_origin():
    halueval = Rows("halueval")
    halueval.example("a", document="It rained.", summary="It rained.", label=1, split="validation", origin="cnndm")
    [judged, *_] = data.training_rows({"halueval": halueval.corpus()})
    assert (judged.corpus, judged.origin) == ("halueval", "cnndm")


def test_edit_types_are_set_against_consistent_summaries_of_the_same_domain():
    rows = [
        Row("summedits_a", "D.", "Right.", ("Right.",), 1),
        Row("summedits_a", "D.", "Wrong.", ("Wrong.",), 0, kind="number, negation"),
        Row("summedits_b", "D.", "Right.", ("Right.",), 1),
        Row("summedits_b", "D.", "Wrong.", ("Wrong.",), 0, kind="number"),
        Row("summedits_b", "D.", "Worse.", ("Worse.",), 0, kind="number"),
        Row("rose", "D.", "Worse.", ("Worse.",), 0, kind="number"),
    ]
    table = evaluation.edit_types(*scored(rows, [[0], [-1], [-5], [-2], [-6], [-9]]))
    assert value(table, error="negation", model="shipped", pooling="min") == 1
    assert value(table, error="number", model="shipped", pooling="min") == pytest.approx(2 / 3, abs=1e-3)
    assert table.groupby("error")["n"].first().to_dict() == {"negation": 1, "number": 3}


def test_a_corpus_left_out_is_scored_beside_word_overlap(material, learned):
    asked = material.judged(("summedits_",))
    table = evaluation.held_out("A", asked, learned.heads)
    assert set(table["held_out_with"]) == {"A"}
    assert set(table["n"]) == {46}
    assert value(table, model="word overlap", pooling="mean") == 1  # the wrong places are not in the documents
    assert ((table["low"] <= table["auc"]) & (table["auc"] <= table["high"])).all()
    assert table.groupby("model").size().to_dict() == {
        **{"checker": 2, "features and checker": 2, "shipped": 2},
        "word overlap": 1,
    }


class _LessWords:
    """Trees that find a summary the better, the fewer of its words the document has."""

    def logits(self, features):
        return -4.0 * features[:, evaluation._OVERLAP]


def test_the_judge_of_a_corpus_left_out_is_the_one_of_whole_summaries(material, learned):
    asked = material.judged(("summedits_",))
    heads = replace(learned.heads, models={**learned.heads.models, "whole": [_LessWords()] * learned.heads.folds})
    table = evaluation.judge_held_out(asked, heads)
    assert table["n"].tolist() == [46] * 3
    assert ((table["low"] <= table["auc"]) & (table["auc"] <= table["high"])).all()
    assert value(table, model="word overlap") == 1  # the wrong places are not in the documents
    assert value(table, model="judge") == 0
    verdicts = [item.supported.mean() for [item] in asked.wholes]
    assert value(table, model="checker") == pytest.approx(auc([row.label for row in asked.rows], verdicts), abs=1e-3)


def test_calibration_of_a_corpus_left_out_is_over_statements_of_known_truth(material, learned):
    asked = material.judged(("summedits_",))
    table = evaluation.held_out("A", asked, learned.heads)
    assert list(table.columns)[-1] == "ece"
    evidence = [item for [item] in asked.statements]
    logits = learned.heads.logits("claim", evidence, [list(range(learned.heads.folds))] * len(evidence))
    support = learned.heads.calibrations["claim"](logits)
    right = np.array([row.label for row in asked.rows])
    tenths = np.floor(support * 10)
    gaps = [abs((support - right)[tenths == tenth].sum()) for tenth in set(tenths)]
    shipped = table[table["model"] == "shipped"]
    assert shipped["ece"].tolist() == pytest.approx([sum(gaps) / len(right)] * 2, abs=1e-3)
    assert table[table["model"] != "shipped"]["ece"].isna().all()


def test_sentences_of_longer_summaries_are_of_known_truth_only_where_wrong_words_are_told():
    read = object()
    rows = [
        Row("a", "D.", "One. Two.", ("One.", "Two."), 1, ()),
        Row("a", "D.", "One. Three.", ("One.", "Three."), 0),
        Row("a", "D.", "Four.", ("Four.",), 0),
        Row("b", "D.", "One. Two.", ("One.", "Two."), 1, ()),
        Row("b", "D.", "One. Three.", ("One.", "Three."), 0, ((5, 10),)),
    ]
    truths = evaluation._truths(rows, [[read, read], [read, read], [read], ["no words", read], [read, read]])
    assert truths.tolist() == pytest.approx([np.nan, np.nan, np.nan, np.nan, 0, 1, 1, 0], nan_ok=True)


@pytest.mark.parametrize(("kind", "read", "share"), [("claim", "statements", 1 / 2), ("whole", "wholes", 0)])
def test_a_verdict_is_a_mean_of_what_checkers_and_trees_say(material, learned, kind, read, share):
    evidence = [item for items in getattr(material, read) for item in items if not isinstance(item, str)][:5]
    heads = learned.heads
    by_fold = []
    for fold in range(heads.folds):
        table = claim_table(evidence, fold % len(heads.checkers))
        verdicts = np.array([item.supported[fold % len(heads.checkers)] for item in evidence])
        by_fold.append(share * verdicts + (1 - share) * heads.models[kind][fold].logits(table))
    everyone = [list(range(heads.folds))] * len(evidence)
    assert heads.logits(kind, evidence, everyone) == pytest.approx(np.mean(by_fold, axis=0), abs=1e-6)
    assert heads.logits(kind, evidence, [[1]] * len(evidence)) == pytest.approx(by_fold[1], abs=1e-6)


def test_trees_on_features_alone_do_not_read_the_checkers_findings():
    rng = np.random.default_rng(0)
    # Rounded: of many values scikit-learn takes its time to make bins.
    features = rng.normal(size=(600, VERDICT + 7)).round(1).astype(np.float32)
    truth = (features[:, 3] + features[:, VERDICT] > 0).astype(float)  # half of it can be read from the evidence
    table = Table(features, truth, truth == truth, np.arange(600), np.arange(600) % 4, np.ones(600))
    changed = features.copy()
    changed[:, VERDICT:] = 0
    alone = evaluation.features_alone(table)
    assert 0.6 < auc(truth, alone) < 0.9
    assert np.array_equal(evaluation.features_alone(replace(table, features=changed)), alone)


def test_groups_left_out_hold_every_corpus_with_judged_rows_of_other_kinds():
    loaded = {*data.TRAINING_SPLITS} - {"rose", "factcg", "vectara_training"}
    started = tuple(name for group in data.HELD_OUT.values() for name in group)
    assert all(f"{name}_".startswith(started) for name in loaded)


def test_claims_of_the_decomposer_move_trees_but_not_the_calibration(material, learned):
    own = [replace(row, decomposed=True) for row in material.rows]
    table = learning.claim_rows([*material.rows, *own], [*material.statements] * 2, learned.heads.checkers)
    n = len(table.truth) // 2
    assert np.array_equal(table.calibrates[:n], ~np.isnan(table.truth[:n]))
    assert not table.calibrates[n:].any()


def test_a_calibration_is_fitted_to_the_told_alone():
    truth = np.r_[np.tile([1.0, 0.0], 50), np.ones(900)]  # half of what is told is true
    told = np.arange(1000) < 100
    unused = np.zeros(1000)
    table = Table(unused[:, None], truth, told, unused, unused, np.ones(1000))
    assert learning.calibrate(np.ones(1000), table)(np.array([1.0]))[0] == pytest.approx(0.5, abs=0.01)


def test_training_writes_what_ships_and_measures_each_group_with_all_other_documents_and_parts_of_them(
    tmp_path, monkeypatch
):
    names = ("aggrefact_exf", "summedits_podcast", "rose")
    rows = [Row(name, f"{name} {i}.", "S.", ("S.",), 1) for name in names for i in range(200)]
    asked_of, learned_from = [], []

    def write(folder, counts):
        folder.mkdir(exist_ok=True)
        (folder / "verifier.json").write_text(str(counts))

    def learn(material):
        assert not weights.exists()  # whenever it is killed, what was there before is whole
        learned_from.append([row.document for row in material.rows])
        heads = SimpleNamespace(write=write)
        return SimpleNamespace(heads=heads, table=None, logits=[])

    def measure(group, asked, *_):
        asked_of.append((group, {row.corpus for row in asked.rows}))
        return pd.DataFrame({"held_out_with": [group]})

    monkeypatch.setattr(entry, "all_corpora", dict)
    monkeypatch.setattr(entry, "gather", lambda corpora: rows)
    monkeypatch.setattr(entry, "read", lambda rows: materials.Material(rows, [[]] * len(rows), [[]] * len(rows)))
    monkeypatch.setattr(entry, "learn", learn)
    monkeypatch.setattr(entry, "held_out", measure)
    monkeypatch.setattr(entry, "features_alone", lambda table: None)
    for name in ("ablation", "edit_types", "judge_held_out"):
        monkeypatch.setattr(entry, name, lambda *_: pd.DataFrame({"auc": [0.5]}))
    weights, tables = tmp_path / "weights", tmp_path / "tables"
    tables.mkdir()
    (tables / "speed.csv").write_text("of another command\n")
    entry.main(weights, tables, tmp_path / "partial")
    assert "'aggrefact_exf': 200" in (weights / "verifier.json").read_text()
    assert "aggrefact_exf" not in (weights / "zero-shot/verifier.json").read_text()
    shares = len(data.SHARES)
    first, second = ("A", {"aggrefact_exf"}), ("B", {"summedits_podcast"})
    assert asked_of == [first, second] * (1 + shares)
    full, zero, *groups = learned_from
    assert (len(full), len(zero)) == (600, 400)
    for (whole, *parts), unknown in ((groups[::2], "aggrefact"), (groups[1::2], "summedits")):
        assert len(whole) == 400
        assert not [document for document in whole if document.startswith(unknown)]
        assert [len(part) / 400 for part in parts] == pytest.approx(data.SHARES, abs=0.075)  # three deviations
    assert pd.read_csv(tables / "held_out.csv")["held_out_with"].tolist() == ["A", "B"]
    curve = pd.read_csv(tables / "learning_curve.csv")
    assert curve["share"].tolist() == [share for share in (1.0, *data.SHARES) for _ in range(2)]
    assert {path.stem for path in tables.iterdir()} == {
        *("ablation", "edit_types", "judge", "held_out", "learning_curve", "speed")
    }
    assert {path.name for path in tmp_path.iterdir()} == {"weights", "tables"}
