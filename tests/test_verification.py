"""The verifier asks only about what can be verified, keeps the order, and says why a value is missing."""

import math

from fakes import FakeModel
from hypothesis import given
from hypothesis import strategies as st

from claimwise import prompts
from claimwise.metrics.verify import verify
from claimwise.models.base import Verdict

ZEROSHOT = prompts.load("acueval-verify-zeroshot")
EXTRA = prompts.load("acueval-verify-fewshot-document")


def test_supports_by_hand_with_evidence():
    [verdicts] = verify(FakeModel(), ZEROSHOT, ["It snowed. The cat sat."], [["The cat sat.", "The dog barked twice."]])
    assert verdicts == [Verdict(1.0, None, (1,)), Verdict(0.25, None, (1,))]


def test_blank_documents_and_claims_are_nan_with_a_reason_and_not_asked_about():
    model = FakeModel()
    documents = ["", "It rained.", " \n", "It rained."]
    found = verify(model, ZEROSHOT, documents, [["a", ""], ["", "It rained.", " "], [], ["b"]])
    assert [[verdict.reason for verdict in group] for group in found] == [
        ["empty document", "empty document"],
        ["empty claim", None, "empty claim"],
        [],
        [None],
    ]
    assert all(math.isnan(v.support) == (v.reason is not None) for group in found for v in group)
    assert model.calls["verify"] == 2


def test_extras_stay_with_their_documents():
    documents = ["", "It rained.", "It rained."]
    found = verify(FakeModel(), EXTRA, documents, [["it snowed"]] * 3, extras=["it snowed", "nothing", "it snowed"])
    assert [group[0].support for group in found[1:]] == [0.5, 1.0]
    assert found[0][0].reason == "empty document"


def test_nothing_to_verify():
    assert verify(FakeModel(), ZEROSHOT, [], []) == []
    assert verify(FakeModel(), ZEROSHOT, ["It rained."], [[]]) == [[]]


TEXT = st.sampled_from(["The cat sat.", "It rained. Dogs bark.", "", "  ", "mumble", "雨が降った。"])


@given(st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3)), max_size=6))
def test_a_verdict_does_not_depend_on_its_neighbours(rows):
    model = FakeModel()
    together = verify(model, ZEROSHOT, [row[0] for row in rows], [row[1] for row in rows])
    alone = [[verify(model, ZEROSHOT, [document], [[claim]])[0][0] for claim in group] for document, group in rows]
    assert repr(together) == repr(alone)
