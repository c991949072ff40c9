"""Compare systems: on which summaries (those of documents that all of them summarised), and whether two differ."""

from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy import stats

from claimwise import text
from claimwise.prompts.texts import is_refusal

#: A reply with fewer words than this is no answer.
FEWEST_WORDS = 5


def answered(summary: str) -> bool:
    """Whether a reply is a summary at all; the leaderboard's answer rate counts these.

    >>> answered("I am unable to summarize this text."), answered("The council voted to close two schools.")
    (False, True)
    """
    return text.word_count(summary) >= FEWEST_WORDS and not is_refusal(summary)


def of_all_systems(examples: pd.DataFrame) -> pd.DataFrame:
    """The rows of the documents that every system summarised, since means over different documents are not comparable.

    >>> rows = pd.DataFrame({"document_id": ["x", "x", "y"], "system": ["a", "b", "a"]})
    >>> of_all_systems(rows)["document_id"].tolist()
    ['x', 'x']
    """
    systems = examples.groupby("document_id")["system"].transform("nunique")
    return examples[systems == examples["system"].nunique()]


def of_first_documents(examples: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    """The rows of the first ``limit`` documents by id (None: all), sorted by document and system.

    >>> rows = pd.DataFrame({"document_id": ["y", "x", "x"], "system": ["a", "b", "a"]})
    >>> of_first_documents(rows, 1)["system"].tolist()
    ['a', 'b']
    """
    chosen = sorted(examples["document_id"].unique())[:limit]
    return examples[examples["document_id"].isin(chosen)].sort_values(["document_id", "system"], ignore_index=True)


def summaries_of_systems(examples: pd.DataFrame, systems: Collection[str]) -> pd.DataFrame:
    """The rows of the documents that all systems summarised, with a column ``answered``: whether each is a summary at all.

    Args:
        examples: the summaries.
        systems: the systems to keep; all if empty.

    Raises:
        ValueError: one of the systems has no summaries.

    >>> rows = pd.DataFrame({"document_id": ["x", "x"], "system": ["a", "b"], "summary": ["No.", "The two old schools will close."]})
    >>> summaries_of_systems(rows, [])["answered"].tolist()
    [False, True]
    """
    available = set(examples["system"])
    if unknown := set(systems) - available:
        raise ValueError(
            f"no summaries by {', '.join(sorted(unknown))}; there are some by {', '.join(sorted(available))}"
        )
    examples = of_all_systems(examples[examples["system"].isin(systems)] if systems else examples)
    return examples.assign(answered=examples["summary"].map(answered))


def paired_t_test(one: pd.Series, other: pd.Series) -> dict[str, float]:
    """Compare two systems' scores over the documents that both summarised (a paired t-test).

    Args:
        one: a system's scores; the index is the document.
        other: the other system's.

    Returns:
        ``documents``, the mean ``difference`` (one minus other), its 95 % interval (``low``, ``high``) and the two-sided ``p``.
        One document has neither interval nor p. If all differences are equal, t is undefined, and p is its limit: 1 if they
        are zero, else 0.

    >>> round(paired_t_test(pd.Series([0.5, 0.9, 0.8]), pd.Series([0.4, 0.6, 0.6]))["difference"], 3)
    0.2
    >>> paired_t_test(pd.Series([0.5, 0.75]), pd.Series([0.25, 0.5]))
    {'documents': 2, 'difference': 0.25, 'low': 0.25, 'high': 0.25, 'p': 0.0}
    """
    gaps = (one - other).dropna().round(12)  # equal gaps, whatever their rounding
    n, difference = len(gaps), float(gaps.mean())
    if n < 2:
        low = high = p = np.nan
    elif np.ptp(gaps) == 0:
        low, high, p = difference, difference, float(difference == 0)
    else:
        test = stats.ttest_1samp(gaps, 0)
        (low, high), p = test.confidence_interval(), test.pvalue
    return {"documents": n, "difference": difference, "low": low, "high": high, "p": p}
