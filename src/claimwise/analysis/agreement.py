"""How well scores order summaries and systems as people do: Kendall's tau-b and Spearman's rho."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats


def kendall_system(scores: Sequence[float], human: Sequence[float], systems: Sequence) -> float:
    """Kendall's tau-b between the systems' mean scores and their mean human ratings (ACUEval Table 7, "Sys.").

    >>> kendall_system([1, 1, 2, 2, 3, 3], [1, 1, 2, 2, 3, 3], list("aabbcc"))
    1.0
    """
    means = pd.DataFrame({"score": scores, "human": human}).groupby(np.asarray(systems)).mean()
    return float(stats.kendalltau(means["score"], means["human"]).statistic)


def kendall_summary(scores: Sequence[float], human: Sequence[float], documents: Sequence) -> tuple[float, int]:
    """Mean over documents of Kendall's tau-b among the document's summaries ("Sum."), and the number of these documents.

    If all summaries of a document have the same score or the same rating, it has no tau and is left out. If no document
    has one, the mean is NaN.

    >>> kendall_summary([1, 2, 3, 3], [1, 2, 5, 5], list("aabb"))
    (1.0, 1)
    """
    frame = pd.DataFrame({"score": scores, "human": human, "document": documents})
    groups = [group for _, group in frame.groupby("document") if len(group) > 1]
    taus = np.array([stats.kendalltau(group["score"], group["human"]).statistic for group in groups], float)
    taus = taus[~np.isnan(taus)]
    return (float(taus.mean()) if len(taus) else float("nan")), len(taus)


def spearman(values: np.ndarray) -> np.ndarray:
    """Spearman's rho of each column with the last one, shape (columns - 1,); NaN if either column is constant.

    >>> spearman(np.array([[1, 3, 1], [2, 2, 5], [3, 1, 9]])).round(2).tolist()
    [1.0, -1.0]
    """
    ranks = stats.rankdata(values, axis=0)
    ranks -= ranks.mean(axis=0)
    with np.errstate(invalid="ignore"):
        ranks /= np.sqrt((ranks**2).sum(axis=0))
    return ranks[:, -1] @ ranks[:, :-1]


def spearman_draws(frame: pd.DataFrame, draws: int, seed: int) -> np.ndarray:
    """``spearman`` in each bootstrap sample of documents, shape (draws, columns - 1). The frame's index is the document id.

    >>> frame = pd.DataFrame({"metric": [0.1, 0.4, 0.5, 0.9], "human": [1, 2, 4, 5]}, index=list("abcd"))
    >>> spearman_draws(frame, 3, seed=0).round(2).tolist()
    [[1.0], [1.0], [1.0]]
    """
    groups = [part.to_numpy() for _, part in frame.groupby(level=0)]
    generator = np.random.default_rng(seed)
    samples = (generator.integers(len(groups), size=len(groups)) for _ in range(draws))
    return np.array([spearman(np.concatenate([groups[i] for i in sample])) for sample in samples])
