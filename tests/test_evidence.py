"""Named evidence compared with the sentences that people chose, counted by hand."""

import pandas as pd

from claimwise.analysis.evidence import evidence_hits

DOCUMENT = "Zero ran. One ran.\nTwo ran.\nThree ran.\nFour ran.\nFive ran.\nSix ran."


def hits(evidence, *alternatives):
    """Of one claim, whose evidence is these sentences; people chose lines of the document, several together or alone."""
    lines = DOCUMENT.split("\n")
    rows = []
    for number, chosen in enumerate(alternatives):
        for line in chosen:
            start = DOCUMENT.index(lines[line])
            rows.append(("a", number, start, start + len(lines[line])))
    gold = pd.DataFrame(rows, columns=["example_id", "alternative", "start", "end"])
    verdicts = pd.DataFrame({"example_id": ["a", "b", "a"], "document_id": "d", "document": [DOCUMENT, DOCUMENT, ""]})
    [found] = evidence_hits(verdicts.assign(evidence=[evidence, (0,), ()]), gold).itertuples()
    return found.first, found.three, found.five, round(found.chance * 7)


def test_the_nearest_sentences_are_looked_for_among_those_that_people_chose():
    assert hits((2, 3, 4, 5, 6), [1]) == (1, 1, 1, 1)
    assert hits((3, 2), [1]) == (0, 1, 1, 1)
    assert hits((3, 4, 5, 2), [1]) == (0, 0, 1, 1)
    assert hits((3, 4, 5, 6, 0, 2), [1]) == (0, 0, 0, 1)


def test_all_of_one_alternative_is_enough():
    assert hits((2, 3), [1, 2]) == (1, 1, 1, 2)
    assert hits((2, 4), [1, 2]) == (1, 1, 0, 2)
    assert hits((2, 4), [1, 2], [3]) == (1, 1, 1, 3)


def test_a_line_of_two_sentences_is_met_by_either():
    assert hits((1,), [0]) == hits((0,), [0]) == (1, 1, 1, 2)
