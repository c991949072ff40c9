"""Training rows made by the decomposer, and statements in other words."""

import random

import pytest

from claimwise.corpora.base import Rows
from training import data, material
from training.data import Row
from training.material import Telling
from training.retelling import retold

DOCUMENT = (
    "On Monday, Ann Lee, who runs a bakery in Oslo, bought 3 vans. She plans to deliver bread to 12 schools. "
    "Bo Ray started a rival firm in Rome. It sold 40 percent more cakes, officials said."
)


def ways(statement, draws=60):
    """Every form that a statement takes when it is told otherwise once."""
    return {retold(statement, random.Random(seed), times=1) for seed in range(draws)}


@pytest.mark.parametrize(
    ("statement", "forms"),
    [
        ("He bought it.", {"He purchased it."}),
        ("Lee has three dogs.", {"Lee has 3 dogs."}),
        ("Sales rose 3% there.", {"Sales rose 3 percent there."}),
        ("In Rome, Lee won the cup.", {"Lee won the cup in Rome.", "Lee won the cup."}),
        ("The singer Ann Lee ate soup.", {"The singer Lee ate soup."}),
        ("The mayor, who is ill, sang a song.", {"The mayor sang a song.", "The mayor, who is sick, sang a song."}),
        ("It may rain here, officials said.", {"It may rain here, officials stated.", "It may rain here."}),
        ("Lee sang.", {"Lee sang."}),
    ],
)
def test_a_statement_is_told_in_other_words_that_say_the_same(statement, forms):
    assert ways(statement) == forms


@pytest.mark.parametrize(
    "statement",
    ["It cost $3.50.", "The 3-1 win was easy to see.", "On 3,000 days it snowed.", "At 20% it froze."],
)
def test_digits_inside_a_number_stay(statement):
    assert not any("three" in form or "twenty" in form for form in ways(statement))


def test_what_is_told_otherwise_is_supported_and_edits_say_which_words_are_wrong():
    rows = material.retold_rows([Telling("toy", DOCUMENT, 6)], ["Cara sang in Lima during the war."])
    assert {row.corpus for row in rows} == {"toy_retold"}
    assert all(row.synthetic and row.statements == (row.summary,) for row in rows)
    right, wrong = [r for r in rows if r.label], [r for r in rows if not r.label]
    assert len(right) >= 3
    assert wrong
    assert all(row.wrong == () for row in right)
    assert all(row.wrong and row.kind for row in wrong)
    own = data.sentences(DOCUMENT)
    assert any(row.summary not in own for row in right)


def test_faithful_summaries_by_language_models_are_supported_and_edits_of_them_are_not():
    retelling = "Ann Lee, a baker, purchased three vans in Paris. " + data.sentences(DOCUMENT)[0]
    rows = Rows("vectara_training")
    for name, summary, score in (("good", retelling, 0.95), ("bad", "Lee sold every van to Bo Ray in Paris.", 0.4)):
        rows.score(rows.example(name, document=DOCUMENT, summary=summary, split="train"), "hhem", score)
    corpora = {"vectara_training": rows.corpus()}
    [told] = material.summarised(corpora)
    assert told == (DOCUMENT, (retelling,))  # the other is not faithful enough
    found = material.summarised_rows([told], ["Cara sang in Lima during the war."])
    assert {(row.corpus, row.summary) for row in found if row.label} == {
        (
            "vectara_training_retold",
            "Ann Lee, a baker, purchased three vans in Paris.",
        )  # the other is the document's own
    }
    assert all(row.synthetic for row in found)
    wrong = [row for row in found if not row.label]
    assert wrong
    assert all(row.wrong and row.summary != retelling for row in wrong)
    tested = Rows("qags")
    tested.example("x", document=DOCUMENT.upper(), summary="S.", label=1)
    assert material.summarised({**corpora, "qags": tested.corpus()}) == []


def test_judged_summaries_come_once_more_as_claims_of_which_one_must_be_wrong():
    two = "Ann Lee bought 3 vans and plans to deliver bread. Bo Ray started a firm in Paris."
    rows = [
        Row("toy", DOCUMENT, two, data.sentences(two), 0, kind="entity"),
        Row("toy", DOCUMENT, two, ("A recorded claim.",), 0),
        Row("toy", DOCUMENT, "Ann Lee bought 3 vans", ("Ann Lee bought 3 vans",), 1, ()),
        Row("toy_edits", DOCUMENT, "Lee left.", ("Lee left.",), 0, ((4, 8),)),
        Row("rose", DOCUMENT, "Lee bought vans and sang.", ("Lee bought vans and sang.",), 1, ()),
    ]
    judged = material.judged_once(rows)
    assert [row.summary for row in judged] == [two, "Ann Lee bought 3 vans"]
    found = material.decomposed_rows(judged)
    assert [row.summary for row in found] == [two]  # the other is a claim already
    [row] = found
    assert row.decomposed
    assert row.wrong is None
    assert (row.label, row.kind) == (0, "entity")
    assert len(row.statements) > 2


def test_no_document_of_a_test_set_is_told():
    rows = Rows("halueval")
    rows.example("a", document=DOCUMENT, summary="S.", label=1, split="validation")
    rows.example("b", document="Another text. It is here.", summary="S.", label=1, split="validation")
    tested = Rows("qags")
    tested.example("x", document=DOCUMENT.upper(), summary="S.", label=1)
    found = material.tellings({"halueval": rows.corpus(), "qags": tested.corpus()})
    assert found == [Telling("halueval", "Another text. It is here.", 8)]


def test_what_training_gathers_holds_claims_after_the_rows_that_they_are_made_of():
    rows = Rows("wice")
    summary = "Ann Lee bought 3 vans and plans to deliver bread."
    rows.example("a", document=DOCUMENT, summary=summary, label=1, split="validation")
    found = material.gather({"wice": rows.corpus()})
    kinds = [(row.corpus, row.decomposed) for row in found]
    assert kinds[0] == ("wice", False)
    assert kinds[-1] == ("wice", True)
    assert ("wice_retold", False) in kinds
