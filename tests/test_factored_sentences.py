"""Which sentences are checked, against what, and what is counted of a verifier's known verdicts."""

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel
from texts import PAPERS

from claimwise import corpora
from claimwise.metrics.factored.sentences import hallucinations, judged_sentences, statements
from claimwise.metrics.verify import verify_each
from claimwise.models.base import Verdict
from claimwise.models.lexical import LexicalModel

VERIFY = "factored-verify-fewshot"


class Scripted(FakeModel):
    """Takes a statement for supported unless it has the word "not"; of "perhaps" it says nothing."""

    def verify(self, documents, claims, prompt, extras=None):
        self._count("verify", [claim for group in claims for claim in group])
        return [[self._reply(claim) for claim in group] for group in claims]

    @staticmethod
    def _reply(claim: str) -> Verdict:
        return Verdict(np.nan, "no reply") if "Perhaps" in claim else Verdict(0.1 if " not " in claim else 0.9)


def versions(*summaries: str, document: str = PAPERS) -> pd.DataFrame:
    rows = pd.DataFrame({"id": [str(n) for n in range(len(summaries))], "summary": summaries})
    return rows.assign(document_id="d", system="s", version="original", document=document, original=rows["summary"])


def test_only_cited_sentences_are_checked_and_only_against_what_they_cite():
    summary = "Weather varies. It rained (Ling, 2009). Both fell (Ling, 2009; Roy et al., 2011). It hailed (Ek, 1999)."
    found = statements(PAPERS, summary)
    assert [s.text[:6] for s in found] == ["It rai", "Both f", "It hai"]
    assert ["Rain" in s.document for s in found] == [True, True, False]
    assert ["Snow" in s.document for s in found] == [False, True, False]
    assert [s.missing for s in found] == [(), (), ("Ek (1999)",)]
    assert [s.cites for s in found] == [1, 2, 1]


def test_a_single_source_is_checked_sentence_by_sentence():
    found = statements("It rained.", "It rained. It snowed (Ling, 2009).")
    assert [(s.text, s.document, s.missing) for s in found] == [
        ("It rained.", "It rained.", ()),
        ("It snowed (Ling, 2009).", "It rained.", ()),
    ]


def test_a_revision_cannot_hide_a_statement_by_losing_its_citation():
    original = "Weather varies. It rained (Ling, 2009)."
    found = statements(PAPERS, "Weather varies. It rained a lot.", original)
    assert [(s.text, s.document) for s in found] == [("It rained a lot.", PAPERS)]


def test_a_missing_paper_is_a_hallucination_that_nobody_is_asked_about():
    model = Scripted()
    table = versions(
        "It rained (Ling, 2009). It hailed (Ek, 1999). It did not snow (Roy et al., 2011).", "It rained (Ling, 2009)."
    )
    found = judged_sentences(table, model, VERIFY)
    assert found["hallucinated"].tolist() == [0, 1, 1, 0]
    assert found["missing"].tolist() == [0, 1, 0, 0]
    assert model.calls["verify"] == 2  # what stands in two summaries is asked once
    counted = hallucinations(table, found)
    assert counted[["checked", "hallucinations", "missing", "unread"]].to_numpy().tolist() == [
        [3, 2, 1, 0],
        [1, 0, 0, 0],
    ]


def test_a_verdict_that_could_not_be_read_is_neither_right_nor_wrong():
    table = versions("Perhaps it rained. It did not snow.", "It snowed.", "", document="It snowed.")
    found = judged_sentences(table, Scripted(), VERIFY)
    assert found["hallucinated"].tolist() == pytest.approx([np.nan, 1, 0], nan_ok=True)
    assert found["reason"].tolist()[0] == "no reply"
    counted = hallucinations(table, found)
    assert counted["hallucinations"].tolist() == pytest.approx([np.nan, 0, 0], nan_ok=True)
    assert counted[["checked", "unread"]].to_numpy().tolist() == [[2, 1], [1, 0], [0, 0]]


@pytest.mark.parametrize(("support", "hallucinated"), [(0.5, 0), (0.49, 1)])
def test_a_sentence_whose_support_is_one_half_is_no_hallucination(support, hallucinated):
    class Certain(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            return [[Verdict(support) for _ in group] for group in claims]

    assert judged_sentences(versions("It rained (Ling, 2009)."), Certain(), VERIFY)["hallucinated"].tolist() == [
        hallucinated
    ]


def test_claims_are_asked_by_document_and_answered_in_order():
    class Noted(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            self.asked = dict(zip(documents, map(tuple, claims), strict=True))
            return super().verify(documents, claims, prompt, extras)

    model = Noted()
    found = verify_each(
        ["It rained.", "It snowed.", "It rained."], ["It snowed.", "It snowed.", "It rained."], model, VERIFY
    )
    assert model.asked == {"It rained.": ("It snowed.", "It rained."), "It snowed.": ("It snowed.",)}
    assert [verdict.support for verdict in found] == [0.5, 1, 1]
    assert verify_each([], [], model, VERIFY) == []


def test_the_checked_sentences_of_the_shipped_papers_are_those_that_its_author_labelled():
    corpus = corpora.load("sample_papers")
    table = corpus.examples.assign(version="original", original=corpus.examples["summary"])
    found = judged_sentences(table, LexicalModel(), VERIFY)
    labelled = corpus.gold_claims.rename(columns={"example_id": "id", "claim": "sentence"})
    both = found.merge(labelled[["id", "sentence", "passage"]], on=["id", "sentence"], suffixes=("", "_labelled"))
    assert len(both) == len(found) == len(labelled)
    assert (both["passage"] == both["passage_labelled"]).all()
