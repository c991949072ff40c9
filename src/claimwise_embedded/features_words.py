"""What a claim's words say together: the word checker's findings as features of the claim."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from claimwise_embedded.calibration import sigmoid


def summarise_words(logits: np.ndarray, weight: np.ndarray, special: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Pool the words of each claim.

    Args:
        logits: (n_words,) log odds that a word is not supported.
        weight: (n_words,) how rare each word is.
        special: (n_words,) whether it is a number or a name.
        lengths: how many words each claim has, in order; none is 0.

    Returns:
        (n_claims, 6): the worst word, minus the log of no word being wrong, the mean, the mean weighted by
        rarity, the second worst word, the worst number or name.

    >>> table = summarise_words(np.zeros(3), np.ones(3), np.array([True, False, True]), [1, 2])
    >>> table[:, 0].tolist(), table[:, 4].tolist()
    ([0.5, 0.5], [0.0, 0.5])
    """
    probability = np.clip(sigmoid(logits), 0, 0.99)
    starts = np.cumsum(np.r_[0, lengths])[:-1]
    sizes = np.asarray(lengths, dtype=float)
    owner = np.repeat(np.arange(len(sizes)), lengths)
    order = np.lexsort((-probability, owner))
    ranked = probability[order]
    second = np.where(sizes > 1, ranked[np.minimum(starts + 1, len(ranked) - 1)], 0.0)
    return np.column_stack(
        [
            ranked[starts],
            np.add.reduceat(-np.log1p(-probability), starts),
            np.add.reduceat(probability, starts) / sizes,
            np.add.reduceat(probability * weight, starts) / np.add.reduceat(weight, starts),
            second,
            np.maximum.reduceat(probability * special, starts),
        ]
    )
