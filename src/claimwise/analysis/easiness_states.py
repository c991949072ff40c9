"""Easiness by meaning instead of words: BERTScore's matching (FENICE Table 6) over the states of the shipped encoder.

BERTScore (Zhang et al., 2020) matches every token of a text with the nearest of the other by the cosine of their
contextual states. The published table has RoBERTa-large's tokens; here they are the words of MiniLM, which ships with
the project: the same matching in another space, so that orders can be compared with the published ones and values
cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from claimwise_embedded.evidence import word_spans

#: Texts that are encoded in one go.
_AT_ONCE = 512


class WordEncoder(Protocol):
    """Texts to states of unit length, as ``models.embedded.encoder.Encoder`` has them."""

    def encode(self, texts: Sequence[str], word_spans: Sequence[Sequence[tuple[int, int]]]) -> list:
        """For each text an object with ``words`` (n_words, width)."""
        ...


def matched_f1(first: np.ndarray, second: np.ndarray) -> float:
    """BERTScore's F1 (its equations 1 to 3, no idf, no rescaling) of two texts given as states.

    Args:
        first: (n, width) rows of unit length.
        second: (m, width) the same.

    Returns:
        F1 of the mean best cosine of the first's rows and that of the second's; 0 where a text has no words.

    >>> matched_f1(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.6, 0.8]])).__round__(3)
    0.889
    """
    if not len(first) or not len(second):
        return 0.0
    cosine = first @ second.T
    precision, recall = float(cosine.max(axis=1).mean()), float(cosine.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def own_encoder() -> WordEncoder:
    """MiniLM with a memory of its own.

    In half precision a state's last digits depend on the texts it was encoded with. The process's shared encoder leaves
    out those that it remembers, which differ between a first run and one that finds its calls in the cache.
    """
    from claimwise_embedded.encoder import Encoder

    return Encoder()


class StateSimilarity:
    """``matched_f1`` of texts, for ``easiness(generated, gold, similarity)``.

    Args:
        texts: all that will be compared; they are encoded at once, each once.
        encoder: None takes ``own_encoder``.
    """

    def __init__(self, texts: Iterable[str], encoder: WordEncoder | None = None) -> None:
        encoder = encoder or own_encoder()
        unique = list(dict.fromkeys(texts))
        self._states: dict[str, np.ndarray] = {}
        for start in range(0, len(unique), _AT_ONCE):
            part = unique[start : start + _AT_ONCE]
            encoded = encoder.encode(part, [word_spans(text) for text in part])
            self._states.update((text, found.words) for text, found in zip(part, encoded, strict=True))

    def __call__(self, first: str, second: str) -> float:
        """In [0, 1] for all but contrived states.

        Raises:
            KeyError: a text was not among those given.
        """
        return matched_f1(self._states[first], self._states[second])
