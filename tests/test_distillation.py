"""A real, small language model memorises its teacher's claims; and which claims it may learn from."""

import pandas as pd
import pytest
import torch
from fakes import FakeModel

from claimwise import corpora, models, params, prompts
from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.models.base import Decomposition
from claimwise.models.weights import learned_documents
from training import distillation, lora
from training.distillation import Lesson, lessons

LESSONS = {
    "Leo won in Rome.": ["Leo won.", "It was in Rome."],
    "Rain closed it.": ["It rained.", "It closed."],
}
BY_HEART = [Lesson(f"{number:032x}", *lesson) for number, lesson in enumerate(LESSONS.items())]


def _corpus(documents=range(40)):
    rows = Rows("lessons")
    summaries = list(LESSONS)
    for number in documents:
        summary = summaries[number % 2]
        example = rows.example(
            number, "s", document=f"Document {number}.", summary=summary, split="test" if number < 4 else "validation"
        )
        rows.recorded(example, "teacher", LESSONS[summary])
    return rows.corpus()


def test_padding_does_not_change_the_loss_and_only_what_is_written_counts(smollm2_options):
    writer = distillation.Writer(smollm2_options)
    long = Lesson("0", "It rained all day in Rome, and Leo, who had won, went home.", ["It rained."])
    with torch.inference_mode():
        alone = [writer.loss([lesson]).item() for lesson in (BY_HEART[0], long)]
        together = writer.loss([BY_HEART[0], long]).item()
    tokens = [
        len(writer._checkpoint.tokenizer(text).input_ids) + 1 for text in ("Leo won. It was in Rome.", "It rained.")
    ]
    mean = (alone[0] * tokens[0] + alone[1] * tokens[1]) / sum(tokens)
    assert together == pytest.approx(mean, abs=1e-4)
    with torch.inference_mode():  # the log-probability of each written token, one by one
        given = writer._checkpoint.encode(long.summary)
        wanted = [*writer._checkpoint.tokenizer("It rained.").input_ids, writer._checkpoint.tokenizer.eos_token_id]
        logits = writer.model(torch.tensor([given + wanted])).logits[0].log_softmax(-1)
    by_hand = [-logits[len(given) - 1 + i, token].item() for i, token in enumerate(wanted)]
    assert alone[1] == pytest.approx(sum(by_hand) / len(by_hand), abs=1e-4)


def test_the_test_split_is_never_learned_from_and_documents_stay_on_one_side():
    corpus = _corpus()
    learned, held_out = lessons(corpus, "recorded:teacher", FakeModel())
    ids = [{lesson.document_id for lesson in part} for part in (learned, held_out)]
    test = set(corpus.examples.loc[corpus.examples["split"] == "test", "document_id"])
    assert all(ids)
    assert len(ids[0]) + len(ids[1]) == len(ids[0] | ids[1]) == 36
    assert not test & (ids[0] | ids[1])
    assert (learned, held_out) == lessons(corpus, "recorded:teacher", FakeModel())
    assert all(lesson.claims == LESSONS[lesson.summary] for lesson in learned)


def test_a_document_with_a_test_row_is_for_testing_only():
    rows = Rows("lessons")
    for number in range(40):
        for split in ("validation", "test")[: 2 if number < 15 else 1]:
            summary = f"Leo won {split} {number}."
            example = rows.example(number, split, document=f"Document {number}.", summary=summary, split=split)
            rows.recorded(example, "teacher", ["Leo won."])
    learned, held_out = lessons(rows.corpus(), "recorded:teacher", FakeModel())
    found = sorted(lesson.summary for lesson in learned + held_out)
    assert found == sorted(f"Leo won validation {number}." for number in range(15, 40))


def test_people_teach_by_their_claims_in_order(published_corpus):
    rose = published_corpus("rose")
    learned, held_out = lessons(rose, "people", FakeModel())
    assert len(learned) + len(held_out) == 998  # of 1,000 two are there twice
    first = next(lesson for lesson in learned + held_out if "Mario Testino" in lesson.summary)
    [key] = rose.examples.loc[rose.examples["document_id"] == first.document_id, "id"]
    assert first.claims == rose.gold_claims.loc[rose.gold_claims["example_id"] == key, "claim"].tolist()
    assert len(first.claims) == 9


def test_a_teacher_without_claims_is_refused():
    class Silent(FakeModel):
        def decompose(self, passages, prompt):
            return [Decomposition((), "refused") for _ in passages]

    with pytest.raises(
        ClaimwiseError, match="fenice-decompose-json made no claims of 36 summaries whose documents have"
    ):
        lessons(_corpus(), "fenice-decompose-json", Silent())
    with pytest.raises(ClaimwiseError, match="no claims by 'nobody' are recorded; there are those by teacher"):
        lessons(_corpus(), "recorded:nobody", FakeModel())


def test_the_command_teaches_two_summaries_by_heart_and_compares_with_the_teacher(smollm2, monkeypatch, tmp_path):
    corpus = _corpus([0, 4, 5, 12, 13])  # the last two are held out
    monkeypatch.setattr(corpora, "load", {"lessons": corpus}.__getitem__)
    found = params.read("params.yaml")
    monkeypatch.setattr(
        type(found), "model_entry", lambda self, name: smollm2 if name == "smollm2-135m" else {"kind": "lexical"}
    )
    students, load = [], models.load
    monkeypatch.setattr(models, "load", lambda entry: students.append(load(entry)) or students[-1])
    # Large steps, from the first one on.
    monkeypatch.setattr(distillation, "RATE", 5e-3)
    monkeypatch.setattr(distillation, "PASSES", 10)
    monkeypatch.setattr(lora, "WARM_UP", 1)
    folder, table = tmp_path / "adapter", tmp_path / "table.csv"
    arguments = ["distillation", str(folder), str(table), "--corpus", "lessons", "--teacher", "recorded:teacher"]
    monkeypatch.setattr("sys.argv", arguments)
    distillation.main()
    learned, held_out = lessons(corpus, "recorded:teacher", FakeModel())
    assert len(learned) == len(held_out) == 2
    untaught, taught = pd.read_csv(table).to_dict("records")
    assert (untaught["taught"], taught["taught"]) == (False, True)
    assert untaught["learned_from"] == taught["learned_from"] == 2
    assert untaught["n"] + untaught["no_claims"] == 2
    assert untaught["f1"] < 80
    # It has seen both summaries, of other documents.
    exact = {"precision": 100, "recall": 100, "f1": 100, "low": 100, "high": 100, "n": 2, "no_claims": 0}
    assert {name: taught[name] for name in exact} == exact
    assert learned_documents(str(folder)) == {lesson.document_id for lesson in learned}
    made = students[-1].decompose(list(LESSONS), prompts.load(distillation.PROMPT))
    assert [[claim.text for claim in found.claims] for found in made] == list(LESSONS.values())
