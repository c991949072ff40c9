"""Which replies of systems are compared: answers, of the documents that all of them summarised."""

from __future__ import annotations

import pandas as pd

from claimwise import text

#: A reply of fewer words than this, or one that says that it will not, is no answer.
FEWEST_WORDS = 5
REFUSALS = ("i am unable", "i'm unable", "i cannot", "i can't", "i'm sorry", "sorry", "unable to", "cannot summarize")


def answered(summary: str) -> bool:
    """Whether a reply is a summary at all, the leaderboard's answer rate.

    >>> answered("I am unable to summarize this text."), answered("The council voted to close two schools.")
    (False, True)
    """
    start = summary.strip().lower().replace("’", "'")
    return text.word_count(summary) >= FEWEST_WORDS and not start.startswith(REFUSALS)


def of_all_systems(examples: pd.DataFrame) -> pd.DataFrame:
    """The rows of the documents that every system summarised: means over different documents are not comparable.

    >>> rows = pd.DataFrame({"document_id": ["x", "x", "y"], "system": ["a", "b", "a"]})
    >>> of_all_systems(rows)["document_id"].tolist()
    ['x', 'x']
    """
    systems = examples.groupby("document_id")["system"].transform("nunique")
    return examples[systems == examples["system"].nunique()]
