"""Easiness by meaning instead of words: BERTScore's matching (FENICE Table 6) over the states of the shipped encoder.

BERTScore (Zhang et al., 2020) matches every token of a text with the nearest of the other by the cosine of their
contextual states. The published table has RoBERTa-large's tokens; here they are the words of MiniLM, which ships with
the project: the same matching in another space, so that orders can be compared with the published ones and values
cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

#: Texts that are encoded in one go.
_AT_ONCE = 512


#: Texts to the states of their words: for each an array (n_words, width), rows of unit length.
Encode = Callable[[Sequence[str]], list[np.ndarray]]


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


def own_encoder() -> Encode:
    """MiniLM with a memory of its own.

    In half precision a state's last digits depend on the texts it was encoded with. The process's shared encoder leaves
    out those that it remembers, which differ between a first run and one that finds its calls in the cache.
    """
    from claimwise_embedded.encoder import Encoder
    from claimwise_embedded.evidence import word_spans

    encoder = Encoder()
    return lambda texts: [found.words for found in encoder.encode(texts, [word_spans(text) for text in texts])]


class StateSimilarity:
    """``matched_f1`` of texts, for ``easiness(generated, gold, similarity)``.

    Args:
        texts: all that will be compared; they are encoded at once, each once.
        encode: None takes ``own_encoder``.

    >>> states = {"a": np.array([[1.0, 0.0]]), "b": np.array([[0.6, 0.8]])}
    >>> similarity = StateSimilarity(["a", "b"], lambda texts: [states[text] for text in texts])
    >>> similarity("a", "a"), similarity("a", "b")
    (1.0, 0.6)
    """

    def __init__(self, texts: Iterable[str], encode: Encode | None = None) -> None:
        encode = encode or own_encoder()
        unique = list(dict.fromkeys(texts))
        self._states: dict[str, np.ndarray] = {}
        for start in range(0, len(unique), _AT_ONCE):
            part = unique[start : start + _AT_ONCE]
            self._states.update(zip(part, encode(part), strict=True))

    def __call__(self, first: str, second: str) -> float:
        """In [0, 1] for all but contrived states.

        Raises:
            KeyError: a text was not among those given.
        """
        return matched_f1(self._states[first], self._states[second])
