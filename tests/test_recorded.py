"""Recorded replies: read by our parsers, and scored in the same way as any metric."""

import pytest

from claimwise.analysis.labels import agreement_table, labelled_scores
from claimwise.corpora.base import Rows
from claimwise.metrics.recorded import recorded_judges


@pytest.fixture
def judged():
    """Twelve summaries, half of them wrong; one model gives stars and gets all right, another says little."""
    rows = Rows("made")
    for number in range(12):
        wrong = number % 2
        example = rows.example(
            str(number),
            "lead",
            document=f"It rained on day {number}.",
            summary="It snowed." if wrong else "It rained.",
            split="validation" if number < 4 else "test",
            label=1 - wrong,
        )
        reply = "Two stars. It did not snow." if wrong else "Five stars. It did rain."
        rows.replied(example, "gpt-9", "stareval", "recorded-judge-stars", reply)
        rows.replied(example, "lm-1", "mcq", "recorded-judge-letter", "It depends." if number == 5 else "C")
        rows.replied(example, "lm-1", "explained", "recorded-verify-label", "supported")
    return rows.corpus()


def test_judges_on_record_become_score_tables(judged):
    stars, letters = recorded_judges(judged).items()
    assert (stars[0], letters[0]) == ("gpt-9 stareval (recorded)", "lm-1 mcq (recorded)")
    assert stars[1]["score"].tolist() == [1, 0.25] * 6
    assert letters[1]["example_id"].tolist() == judged.examples["id"].tolist()
    assert letters[1]["score"].dropna().tolist() == [0.5] * 11
    unread = letters[1][letters[1]["score"].isna()]
    assert unread[["example_id", "reason"]].values.tolist() == [["made:5:lead", "no letter from A to E in the reply"]]


def test_what_could_not_be_read_is_counted_and_left_out_for_all(judged):
    rows, names = labelled_scores(judged, recorded_judges(judged), by_origin=False)
    table = agreement_table(rows, names, names[1], draws=50).set_index("metric")
    assert table["n"].tolist() == [7, 7]  # eight test rows, one of them not read
    assert table["unscored"].tolist() == [0, 1]
    assert table["balanced_accuracy"].tolist() == [100, 50]


def test_equal_summaries_of_two_systems_have_the_first_reply():
    rows = Rows("made")
    for system, reply in (("one", "Score: 5"), ("two", "Score: 1")):
        example = rows.example("0", system, document="It rained.", summary="Rain.")
        rows.replied(example, "gpt-9", "rts", "recorded-judge-rating", reply)
    assert recorded_judges(rows.corpus())["gpt-9 rts (recorded)"]["score"].tolist() == [1, 1]


def test_a_corpus_without_replies_has_no_judges():
    rows = Rows("made")
    rows.example("0", "one", document="It rained.", summary="Rain.")
    assert recorded_judges(rows.corpus()) == {}
