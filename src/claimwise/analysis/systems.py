"""Which replies of systems are compared: answers, of the documents that all of them summarised."""

import pandas as pd

from claimwise import text
from claimwise.prompts.texts import is_refusal

#: A reply of fewer words than this is no answer.
FEWEST_WORDS = 5


def answered(summary: str) -> bool:
    """Whether a reply is a summary at all, the leaderboard's answer rate.

    >>> answered("I am unable to summarize this text."), answered("The council voted to close two schools.")
    (False, True)
    """
    return text.word_count(summary) >= FEWEST_WORDS and not is_refusal(summary)


def of_all_systems(examples: pd.DataFrame) -> pd.DataFrame:
    """The rows of the documents that every system summarised: means over different documents are not comparable.

    >>> rows = pd.DataFrame({"document_id": ["x", "x", "y"], "system": ["a", "b", "a"]})
    >>> of_all_systems(rows)["document_id"].tolist()
    ['x', 'x']
    """
    systems = examples.groupby("document_id")["system"].transform("nunique")
    return examples[systems == examples["system"].nunique()]
