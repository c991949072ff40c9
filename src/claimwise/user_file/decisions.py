"""From scores of a user's file to decisions: a threshold, given or tuned, and how right it is."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context

import numpy as np
import pandas as pd
from scipy import stats

from claimwise.analysis import statistics
from claimwise.corpora.user_corpus import VALIDATION, is_validation
from claimwise.errors import ClaimwiseError

#: The column of decisions: 1 above the threshold, 0 not, empty without a score.
DECISION = "faithful"

_CHANCE = 0.5 + 1e-9  # of a balanced accuracy: one that is no more is a coin's, whatever its rounding
_DIGITS = 3  # the fewest of a tuned threshold; scores move by some thousandths anyway


class ThresholdError(ClaimwiseError):
    """A threshold that no score of any metric can lie above or below; said before anything is asked."""


def check(threshold: float | None) -> None:
    """Refuse a threshold that decides nothing.

    Raises:
        ThresholdError: it is not from 0 to 1.

    >>> check(1.5)
    Traceback (most recent call last):
    ...
    claimwise.user_file.decisions.ThresholdError: threshold: expected a number from 0 to 1, as scores are, got 1.5
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise ThresholdError(f"threshold: expected a number from 0 to 1, as scores are, got {threshold}")


def tuned(scores: pd.DataFrame, examples: pd.DataFrame) -> float | None:
    """The threshold of the file's labelled validation rows, with no more digits than it takes.

    None without rows of both labels, and where it would decide them no better than a coin: labels may be the wrong way
    round, or the scores all equal, and every decision on other rows would be worth nothing.

    AggreFact's search (``statistics.best_threshold``) takes the highest of equally good thresholds, a hair below a
    faithful row's score, and other files' rows that score nearly as high would be rejected. What lies halfway to the next
    lower score decides the validation rows as well.

    Args:
        scores: one row an example with ``score``, in the same order as the examples.
        examples: the examples table.

    >>> examples = pd.DataFrame({"split": ["validation"] * 3 + ["test"], "label": [0, 1, 1, None]})
    >>> tuned(pd.DataFrame({"score": [0.2, 0.6, 0.9, 0.4]}), examples)
    0.4
    """
    labels, seen = _validation(scores, examples)
    if labels.nunique() < 2:
        return None
    best = statistics.best_threshold(seen, labels)
    if statistics.balanced_accuracy(labels, seen, best) < _CHANCE:
        return None
    return shortened(centred(best, seen), scores["score"].dropna())


def _validation(scores: pd.DataFrame, examples: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Labels and scores of the rows that a threshold is tuned on."""
    rows = labelled(scores, examples) & is_validation(examples["split"])
    return examples.loc[rows, "label"], scores.loc[rows, "score"]


def untuned(scores: pd.DataFrame, examples: pd.DataFrame) -> str:
    """Why a file with labels has no threshold; for one that ``tuned`` found none for.

    Args:
        scores: one row an example with ``score``, in the same order as the examples.
        examples: the examples table.

    >>> found = untuned(pd.DataFrame({"score": [0.2, 0.6]}), pd.DataFrame({"split": ["test"] * 2, "label": [0, 1]}))
    >>> found.rpartition("; ")[2], untuned(pd.DataFrame({"score": [0.2]}), pd.DataFrame({"label": [None]}))
    ("labelled rows found: 2 of split 'test'", '')
    >>> turned = pd.DataFrame({"split": ["dev"] * 2, "label": [1, 0]})
    >>> untuned(pd.DataFrame({"score": [0.2, 0.6]}), turned).split("; ")[1]
    'label 1 means faithful: are the labels the other way round?'
    """
    rows = labelled(scores, examples)
    if not rows.any():
        return ""
    labels, seen = _validation(scores, examples)
    if labels.nunique() == 2:
        area = statistics.auc(labels, seen)
        turned = "label 1 means faithful: are the labels the other way round?"
        other = "give more of them, take another metric or model, or say a threshold with --threshold"
        return (
            f"  nothing decided: the scores do not separate your {len(labels)} labelled validation rows (AUC "
            f"{area:.3f}); {turned if area < 0.5 else other}"  # all scores equal: 0.5
        )
    split, other = VALIDATION[0], f"(or {', '.join(VALIDATION[1:])})"
    found = ", ".join(
        f"{count} of split {name!r}" for name, count in examples.loc[rows, "split"].value_counts().items()
    )
    return (
        f"  nothing decided: to tune a threshold give some labelled rows of both kinds the split {split!r} {other}, or say "
        f"one with --threshold; labelled rows found: {found}"
    )


def centred(threshold: float, scores: pd.Series) -> float:
    """The middle between the two scores around a threshold: it decides these scores alike, and is far from all of them.

    Args:
        threshold: a score is above it, or not.
        scores: what it decides, none missing; the threshold stays where they are all on one side of it.

    >>> centred(0.717, pd.Series([0.3, 0.7, 0.9, 0.2])), centred(0.9, pd.Series([0.9, 0.2]))
    (0.8, 0.9)
    """
    above, below = scores[scores > threshold], scores[scores <= threshold]
    if above.empty or below.empty:
        return threshold
    middle = (below.max() + above.min()) / 2
    return float(middle) if middle < above.min() else threshold  # of neighbouring floats the middle is one of them


def shortened(threshold: float, scores: pd.Series) -> float:
    """The number of fewest digits, three or more, that is near the threshold and decides every score as it does.

    Args:
        threshold: a score is above it, or not.
        scores: all that it decides, none missing.

    >>> shortened(0.5092311, pd.Series([0.3004, 0.718])), shortened(1 / 3, pd.Series([0.3332, 0.3334]))
    (0.509, 0.3333)
    >>> shortened(2 / 3, pd.Series([2 / 3, 0.7])), shortened(1 / 3, pd.Series([0.3333333, 0.3333334]))
    (0.667, 0.3333333)
    """
    above = np.asarray(scores) > threshold
    for digits in range(_DIGITS, 17):
        for rounding in (ROUND_HALF_EVEN, ROUND_CEILING):  # down, a score that is the threshold would be above it
            near = float(Context(prec=digits, rounding=rounding).create_decimal_from_float(threshold))
            if np.array_equal(np.asarray(scores) > near, above):
                return near
    return threshold


def labelled(scores: pd.DataFrame, examples: pd.DataFrame) -> pd.Series:
    """Which rows have a score and a label.

    >>> labelled(pd.DataFrame({"score": [0.2, None, 0.6]}), pd.DataFrame({"label": [0, 1, None]})).tolist()
    [True, False, False]
    """
    return scores["score"].notna() & examples["label"].notna()


def decisions(scores: pd.Series, threshold: float) -> pd.Series:
    """1 where the score is above the threshold, 0 where not, empty without a score.

    >>> decisions(pd.Series([0.7, 0.5, None]), 0.5).tolist()
    [1, 0, <NA>]
    """
    return (scores > threshold).astype("Int64").mask(scores.isna())


def report(scores: pd.DataFrame, examples: pd.DataFrame, threshold: float, *, tuned: bool) -> str:
    """What the threshold decided, and how right that is on the labelled rows that it was not tuned on.

    Args:
        scores: one row an example with ``score``, in the same order as the examples.
        examples: the examples table.
        threshold: a summary is faithful above it.
        tuned: whether it was tuned on the labelled validation rows.

    >>> examples = pd.DataFrame({"split": "test", "label": [0, 1, 1], "document_id": ["a", "b", "c"]})
    >>> print(report(pd.DataFrame({"score": [0.2, 0.6, 0.9]}), examples, 0.5, tuned=False))
      2 of 3 above the threshold 0.5
      balanced accuracy on 3 labelled rows: 100.0 % (50 is chance)
        2 of 2 faithful rows decided rightly, 15.8 to 100.0 % (exact 95 % interval, if the rows are independent)
        1 of 1 unfaithful rows decided rightly, 2.5 to 100.0 % (exact 95 % interval, if the rows are independent)
    """
    scored = scores["score"].dropna()
    line = f"  {(scored > threshold).sum()} of {len(scored)} above the threshold {threshold!r}"
    both, validation = labelled(scores, examples), is_validation(examples["split"])
    if tuned:
        labels, seen = _validation(scores, examples)
        right = 100 * statistics.balanced_accuracy(labels, seen, threshold)
        line += (
            f", tuned on {len(labels)} labelled validation rows (balanced accuracy on these {right:.1f} %; for other "
        )
        line += "files: --threshold)"
    rows = both & ~validation if tuned else both
    reported = examples[rows]
    if reported["label"].nunique() < 2:
        return f"{line}; how right that is only labelled {'rows of another split' if tuned else 'rows'} can say"
    line += f"\n  balanced accuracy on {len(reported)} labelled {'other ' if tuned else ''}rows: "
    line += _accuracy(reported, scores.loc[rows, "score"], threshold)
    shared = set(reported["document_id"]) & set(examples.loc[both & validation, "document_id"])
    if tuned and shared:
        line += f"\n  {len(shared)} of their documents have validation rows too: the accuracy on new ones may be lower"
    return line


def _accuracy(examples: pd.DataFrame, scores: pd.Series, threshold: float) -> str:
    """Balanced accuracy with an interval that has a width, or why it has none."""
    documents = examples["document_id"].to_numpy()
    accuracy = statistics.bootstrap_accuracy(examples["label"], scores, threshold, documents)
    value, low, high = (100 * part for part in accuracy)
    if len(set(documents)) == 1:
        return f"{value:.1f} % (one document: no interval; 50 is chance)"
    if low < high:
        return f"{value:.1f} % ({low:.1f} to {high:.1f}, 95 % bootstrap over documents; 50 is chance)"
    # All of a class are decided alike: so they are in every draw, however few there are.
    lines = [f"{value:.1f} % (50 is chance)"]
    for label, name in ((1, "faithful"), (0, "unfaithful")):
        right = (scores[examples["label"] == label] > threshold) == bool(label)
        lines.append(
            f"    {right.sum()} of {len(right)} {name} rows decided rightly, {_exact(right.sum(), len(right))}"
        )
    return "\n".join(lines)


def _exact(right: int, total: int) -> str:
    """Clopper and Pearson's interval of a share in percent, which has a width where a bootstrap has none.

    >>> _exact(4, 4)
    '39.8 to 100.0 % (exact 95 % interval, if the rows are independent)'
    """
    found = stats.binomtest(int(right), total).proportion_ci(0.95)
    return f"{100 * found.low:.1f} to {100 * found.high:.1f} % (exact 95 % interval, if the rows are independent)"
