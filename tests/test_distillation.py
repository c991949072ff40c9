"""Distillation on a tiny T5 made on the spot: it learns, keeps its best, and writes its teacher's claims."""

import json

import numpy as np
import pytest
import tiny_checkpoints
import yaml
from fakes import FakeModel

from claimwise import corpora, models, prompts
from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.models.base import Decomposition
from training import distillation
from training.distillation import DistillationError, DistillationSettings, Pair, pairs, target, train

LESSONS = {
    "Leo won in Rome.": ["Leo won.", "It was in Rome."],
    "Rain closed it.": ["It rained.", "It closed."],
}


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    """A tiny T5 with weights of usual size: those that make attention matter elsewhere make learning slow."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("t5")
    words = tiny_checkpoints.tokenizer()
    torch.manual_seed(0)
    config = transformers.T5Config(
        d_model=48,
        d_kv=16,
        d_ff=96,
        num_layers=1,
        num_heads=3,
        dropout_rate=0.0,
        vocab_size=len(words),
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
        decoder_start_token_id=2,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)


def _settings(t5, tmp_path, **changed) -> DistillationSettings:
    known = {"student": t5, "out": str(tmp_path / "out"), "steps": 2, "batch": 2, "learning_rate": 1e-2}
    return DistillationSettings(**known | changed)


def _corpus(documents=40):
    rows = Rows("lessons")
    summaries = list(LESSONS)
    for number in range(documents):
        summary = summaries[number % 2]
        example = rows.example(
            number, "s", document=f"Document {number}.", summary=summary, split="test" if number < 4 else "validation"
        )
        rows.recorded(example, "teacher", LESSONS[summary])
    return rows.corpus()


def test_two_summaries_are_learned_by_heart_and_come_back_through_the_engine(t5, tmp_path):
    learned = [Pair(summary, target(claims)) for summary, claims in LESSONS.items()]
    settings = _settings(t5, tmp_path, steps=200, evaluate_every=100)
    untaught = distillation.Student(settings)
    report = train(learned, learned, settings)
    assert report["losses"][-1]["validation"] < 0.3 < 3 < untaught.loss(untaught.encode(learned))
    student = models.load({"kind": "transformers", "model": str(tmp_path / "out")})
    made = student.decompose(list(LESSONS), prompts.load(distillation.PROMPT))
    assert [[claim.text for claim in found.claims] for found in made] == list(LESSONS.values())
    tested = [(summary, Pair(summary, target(claims)), claims) for summary, claims in LESSONS.items()]
    found = distillation.against_teacher(student, tested)
    assert found == {"precision": 100, "recall": 100, "f1": 100, "n": 2, "no_claims": 0}


def test_the_checkpoint_with_the_least_held_out_loss_is_kept(t5, tmp_path):
    learned, held = ([Pair(s, target(c))] for s, c in LESSONS.items())
    report = train(learned, held, _settings(t5, tmp_path, steps=60, evaluate_every=10))
    best = min(report["losses"], key=lambda entry: entry["validation"])
    assert report["best_step"] == best["step"] < 60  # what is learned by heart does not help the other
    kept = distillation.Student(_settings(str(tmp_path / "out"), tmp_path))
    assert kept.loss(kept.encode(held)) == pytest.approx(best["validation"], abs=1e-5)


def test_padding_and_batches_do_not_change_the_loss(t5, tmp_path):
    rows = [Pair(s, target(c)) for s, c in LESSONS.items()] + [Pair("It rained.", "It rained all day in Rome.")]
    student, alone = (distillation.Student(_settings(t5, tmp_path, batch=size)) for size in (3, 1))
    encoded = student.encode(rows)
    assert len({len(wanted) for _, wanted in encoded}) > 1
    assert student.loss(encoded) == pytest.approx(alone.loss(encoded), abs=1e-5)


def test_what_is_too_long_is_left_out_and_counted(t5, tmp_path):
    learned = [Pair("It rained.", "It rained."), Pair("It rained. " * 200, "It rained.")]
    report = train(learned, [], _settings(t5, tmp_path, max_tokens=32))
    assert report["left_out"] == 1
    assert report["losses"][-1]["validation"] is None
    assert report["best_step"] == 2  # nothing held out: the last
    with pytest.raises(DistillationError, match="none of 1 summaries and their claims fits into max_tokens = 32"):
        train(learned[1:], [], _settings(t5, tmp_path, max_tokens=32))


def test_a_training_that_diverges_is_an_error_and_keeps_no_checkpoint_of_it(t5, tmp_path):
    learned = [Pair(summary, target(claims)) for summary, claims in LESSONS.items()]
    settings = _settings(t5, tmp_path, steps=40, evaluate_every=1, learning_rate=1e38)
    with pytest.raises(
        DistillationError, match=r"the loss is no number at step \d+: .* learning_rate = 1e\+38, take a"
    ):
        train(learned, learned, settings)
    if (tmp_path / "out").exists():  # what was kept has a loss
        kept = distillation.Student(_settings(str(tmp_path / "out"), tmp_path))
        assert np.isfinite(kept.loss(kept.encode(learned)))


def test_the_test_split_is_never_learned_from_and_documents_stay_on_one_side():
    corpus = _corpus()
    parts = pairs(corpus, "recorded:teacher", FakeModel())
    ids = {name: {key for key, _, _ in rows} for name, rows in parts.items()}
    assert ids["test"] == set(corpus.examples.loc[corpus.examples["split"] == "test", "id"])
    assert ids["train"]
    assert ids["validation"]
    assert sum(map(len, ids.values())) == len(set().union(*ids.values())) == 40
    assert pairs(corpus, "recorded:teacher", FakeModel()) == parts


def test_a_document_with_a_test_row_is_for_testing_only():
    rows = Rows("lessons")
    for number in range(40):
        for split in ("validation", "test")[: 2 if number < 15 else 1]:
            summary = f"Leo won {split} {number}."
            example = rows.example(number, split, document=f"Document {number}.", summary=summary, split=split)
            rows.recorded(example, "teacher", ["Leo won."])
    corpus = rows.corpus()
    parts = pairs(corpus, "recorded:teacher", FakeModel())
    document = corpus.examples.set_index("id")["document"]
    seen = {part: [document[key] for key, _, _ in found] for part, found in parts.items()}
    assert sorted(seen["test"]) == sorted(f"Document {number}." for number in range(15))
    assert sorted(seen["train"] + seen["validation"]) == sorted(f"Document {number}." for number in range(15, 40))


def test_what_is_tested_is_drawn_from_all():
    rows = list(range(1000))
    draws = [distillation.drawn(rows, 200, seed) for seed in (0, 1)]
    for found in draws:
        assert found == sorted(set(found))
        assert len(found) == 200
        assert found[-1] > 900  # not the first of the file, which are of one kind
    assert draws[0] != draws[1]
    assert draws[0] == distillation.drawn(rows, 200, 0)
    assert distillation.drawn(rows, None, 0) == distillation.drawn(rows, 1000, 0) == rows


def test_a_teacher_without_claims_and_a_decoder_are_refused(t5, tmp_path):
    class Silent(FakeModel):
        def decompose(self, passages, prompt):
            return [Decomposition((), "refused") for _ in passages]

    with pytest.raises(DistillationError, match="made no claims of 36 summaries outside of the test split"):
        pairs(_corpus(), "fenice-decompose-json", Silent())
    with pytest.raises(ClaimwiseError, match="no claims by 'nobody' are recorded; there are those by teacher"):
        pairs(_corpus(), "recorded:nobody", FakeModel())
    llama = tiny_checkpoints.make(tmp_path / "llama")
    with pytest.raises(DistillationError, match="is a llama, expected a sequence-to-sequence checkpoint"):
        distillation.Student(_settings(llama, tmp_path))
    with pytest.raises(DistillationError, match="cannot load the student"):
        distillation.Student(_settings(str(tmp_path), tmp_path))


def test_a_folder_of_other_things_is_refused_before_training_and_stays(tmp_path):
    (tmp_path / "thesis.tex").write_text("Chapter 1")
    (tmp_path / "mixed").mkdir()
    for name in ("config.json", "thesis.tex"):  # a checkpoint, and something dear beside it
        (tmp_path / "mixed" / name).write_text("{}")
    for out in (tmp_path, tmp_path / "thesis.tex", tmp_path / "mixed"):
        with pytest.raises(DistillationError, match=r"^distillation\.out: found .* holds no checkpoint"):
            distillation.settings({"out": str(out)})
    assert (tmp_path / "thesis.tex").read_text() == "Chapter 1"
    (tmp_path / "new").mkdir()
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "config.json").write_text("{}")
    for name in ("new", "trained", "absent"):
        assert distillation.settings({"out": str(tmp_path / name)}).out == str(tmp_path / name)


def test_a_wrong_key_names_itself():
    with pytest.raises(DistillationError, match=r"distillation\.step: found 3"):
        distillation.settings({"step": 3})


def test_the_command_trains_and_compares_with_the_teacher(t5, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpora.write(_corpus(), tmp_path / "data/corpora/sample/lessons")
    params = {
        "data": "sample",
        "model": "lexical",
        "models": {"lexical": {"kind": "lexical"}},
        "cache": "cache/c.sqlite",
        "metrics": {},
        "notebooks": [],
        "score": {"metrics": []},
        "datasets": {"sample": {"corpora": ["lessons"]}},
    }
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    folder = distillation.main([f"student={t5}", "corpus=lessons", "teacher=recorded:teacher", "steps=2", "tested=3"])
    assert folder.as_posix() == "cache/claim-extractor"
    with pytest.raises(DistillationError, match="found 'steps', expected KEY=VALUE"):
        distillation.main(["steps"])
    record = json.loads((tmp_path / "cache/claim-extractor/distillation.json").read_text())
    assert record["summaries"]["test"] == 4
    assert sum(record["summaries"].values()) == 40
    assert record["easiness_against_teacher"]["n"] + record["easiness_against_teacher"]["no_claims"] == 3
    assert record["settings"]["learning_rate"] == 1e-5
