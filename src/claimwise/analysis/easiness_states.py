"""Easiness by meaning instead of words: BERTScore's matching (FENICE Table 6) over the states of the shipped encoder.

BERTScore (Zhang et al., 2020) matches every token of a text with the nearest of the other by the cosine of their
contextual states. The published table has RoBERTa-large's tokens; here they are the words of MiniLM, which ships with
the project: the same matching in another space, so that orders can be compared with the published ones and values
cannot.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

#: Texts that are encoded in one go.
_AT_ONCE = 512


def state_similarity(
    texts: Iterable[str], encode: Callable[[Sequence[str]], list[np.ndarray]] | None = None
) -> Callable[[str, str], float]:
    """BERTScore's F1 (its equations 1 to 3, no idf, no rescaling) of any two of the texts, for ``easiness``.

    All texts that will be compared are encoded at once, each once: ``encode`` (MiniLM's, if None) gives the states of
    their words, for each text an array (n_words, width), rows of unit length.

    Returns:
        The F1 of the mean best cosine of the first's words and that of the second's; 0 where a text has no words.

    >>> states = {"a": np.array([[1.0, 0.0]]), "a c": np.array([[1.0, 0.0], [0.6, 0.8]])}
    >>> similarity = state_similarity(states, lambda texts: [states[text] for text in texts])
    >>> similarity("a", "a"), round(similarity("a", "a c"), 3)
    (1.0, 0.889)
    """
    encode, unique = encode or _encode(), list(dict.fromkeys(texts))
    parts = [unique[start : start + _AT_ONCE] for start in range(0, len(unique), _AT_ONCE)]
    states = {text: found for part in parts for text, found in zip(part, encode(part), strict=True)}

    def similarity(first: str, second: str) -> float:
        if not len(states[first]) or not len(states[second]):
            return 0.0
        cosine = states[first] @ states[second].T
        precision, recall = float(cosine.max(axis=1).mean()), float(cosine.max(axis=0).mean())
        return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0

    return similarity


def _encode() -> Callable[[Sequence[str]], list[np.ndarray]]:
    """MiniLM with a memory of its own.

    In half precision a state's last digits depend on the texts it was encoded with. The process's shared encoder leaves
    out those that it remembers, which differ between a first run and one that finds its calls in the cache.
    """
    from claimwise_embedded.encoder import Encoder
    from claimwise_embedded.evidence import word_spans

    encoder = Encoder()
    return lambda texts: [found.words for found in encoder.encode(texts, [word_spans(text) for text in texts])]
