"""Which replies of systems are compared: answers, of the documents that all of them summarised."""

from collections.abc import Collection

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


def of_first_documents(examples: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    """The rows of the first so many documents by id, of all if None, in the order of documents and systems.

    >>> rows = pd.DataFrame({"document_id": ["y", "x", "x"], "system": ["a", "b", "a"]})
    >>> of_first_documents(rows, 1)["system"].tolist()
    ['a', 'b']
    """
    chosen = sorted(examples["document_id"].unique())[:limit]
    return examples[examples["document_id"].isin(chosen)].sort_values(["document_id", "system"], ignore_index=True)


def summaries_of_systems(examples: pd.DataFrame, systems: Collection[str]) -> pd.DataFrame:
    """The rows of the documents that all systems summarised; ``answered`` says which are summaries at all.

    Args:
        examples: summaries.
        systems: whose to keep; all, if empty.

    Raises:
        ValueError: there are no summaries by one of the systems.

    >>> rows = pd.DataFrame({"document_id": ["x", "x"], "system": ["a", "b"], "summary": ["No.", "The two old schools will close."]})
    >>> summaries_of_systems(rows, [])["answered"].tolist()
    [False, True]
    """
    if unknown := set(systems) - set(examples["system"]):
        there = ", ".join(sorted(set(examples["system"])))
        raise ValueError(f"no summaries by {', '.join(sorted(unknown))}; there are some by {there}")
    examples = of_all_systems(examples[examples["system"].isin(systems)] if systems else examples)
    return examples.assign(answered=examples["summary"].map(answered))
