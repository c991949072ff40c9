"""Verdicts on claims that people labelled: which claims, against which text, in which order, by which model."""

from functools import partial

import numpy as np
import pytest
from fakes import FakeModel

from claimwise import prompts
from claimwise.analysis.calibration import asked_claims, calibration_errors
from claimwise.corpora.base import Rows
from claimwise.metrics import verify
from claimwise.metrics.recorded import recorded_models
from claimwise.metrics.verify import labelled_claims, verify_labelled
from claimwise.progress import batches

ZERO_SHOT = prompts.load("acueval-verify-zeroshot")


@pytest.fixture
def claims():
    """Five claims of each of four documents, one of them without a label."""
    rows = Rows("made")
    for number in range(4):
        document = f"The cat sat on mat {number}. It rained."
        example = rows.example(str(number), "s", document=document, summary="It rained.", split="test")
        labels = {"It rained.": 1, "Dogs bark loudly.": 0, "The cat sat.": 1, "It rained pigs.": 0}
        labelled = [{"claim": claim, "label": label} for claim, label in labels.items()]
        rows.gold(example, [{"claim": "Nobody labelled this."}, *labelled])
    return labelled_claims(rows.corpus())


def test_a_passage_takes_the_documents_place_and_claims_of_one_text_stand_together():
    rows = Rows("made")
    example = rows.example("0", "s", document="The whole source.", summary="A summary.")
    passages = ["Passage b.", "Passage a.", None, "Passage b."]
    rows.gold(
        example, [{"claim": f"c{i}", "label": 1, "passage": p, "extra": "beside"} for i, p in enumerate(passages)]
    )
    table = labelled_claims(rows.corpus())
    assert table["document"].tolist() == ["Passage a.", "Passage b.", "Passage b.", "The whole source."]
    assert table["claim"].tolist() == ["c1", "c0", "c3", "c2"]
    assert set(table["extra"]) == {"beside"}


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_every_labelled_claim_gets_its_own_verdict(claims, batch, monkeypatch):
    monkeypatch.setattr(verify, "batches", partial(batches, size=batch))
    assert len(claims) == 4 * 4
    found = verify_labelled(claims, ZERO_SHOT, FakeModel())
    expected = {"It rained.": 1, "Dogs bark loudly.": 0, "The cat sat.": 1, "It rained pigs.": 2 / 3}
    assert found["support"].tolist() == pytest.approx([expected[claim] for claim in found["claim"]])
    assert found["claim"].tolist() == claims["claim"].tolist()


def test_rows_of_one_text_need_not_stand_together(claims):
    mixed = claims.sample(frac=1, random_state=0)
    assert mixed["example_id"].tolist() != claims["example_id"].tolist()
    found = verify_labelled(mixed, ZERO_SHOT, FakeModel())
    assert found.sort_index()["support"].tolist() == verify_labelled(claims, ZERO_SHOT, FakeModel())["support"].tolist()


def test_the_text_beside_is_shown_where_every_claim_has_one(claims):
    class Watching(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            seen.append(extras)
            return super().verify(documents, claims, prompt, extras)

    seen = []
    verify_labelled(claims, ZERO_SHOT, Watching())
    verify_labelled(claims.assign(extra="Another text."), ZERO_SHOT, Watching())
    assert seen == [None, ["Another text."] * 4]


def test_recorded_replies_are_verdicts_and_one_that_cannot_be_read_is_none():
    rows = Rows("made")
    replies = ["supported", "partially_supported", "not_supported", "I would say perhaps", None]
    for number, reply in enumerate(replies):
        document = f"It rained on day {number}."
        example = rows.example("test", number, "w", document=document, summary="It rained.", split="test")
        rows.gold(example, [{"claim": "It rained.", "label": int(number == 0)}])
        if reply:
            said = f"Because.\n<answer>{reply}</answer>"
            rows.replied(example, "gpt-9", "explained", "recorded-verify-label", said)
    corpus = rows.corpus()
    [(name, prompt, model)] = recorded_models(corpus, "verify")
    found = verify_labelled(labelled_claims(corpus), prompt, model)
    assert name == "gpt-9 explained (recorded)"
    np.testing.assert_equal(found["support"].tolist(), [1, 0.25, 0, np.nan, np.nan])
    assert found["reason"].iloc[3] == "no label"


def test_excerpts_of_one_claim_are_one_claim_unless_each_has_its_own_label(claims):
    thrice = claims.loc[np.repeat(claims.index, 3)].assign(support=0.3)
    assert asked_claims(thrice).nunique() == len(claims)
    once = calibration_errors(claims.assign(support=0.3))
    assert calibration_errors(thrice) == pytest.approx(once)  # copies make the error of so few claims no smaller
    each = thrice.assign(label=np.tile([1, 1, 0], len(claims)))
    assert asked_claims(each).nunique() == len(thrice)
    assert calibration_errors(each)["ece_exact_high"] < once["ece_exact_high"]
