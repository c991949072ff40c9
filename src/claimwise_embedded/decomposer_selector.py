"""Which candidates to say: a Bayesian regression of two values, and a set chosen for its expected easiness.

From a candidate's kind and length, what it keeps of its sentence and what it cuts, the selector predicts how well it would
match the nearest claim a person wrote (``fit``, the precision side) and how many of a person's claims it would be the
nearest to (``worth``, the recall side). The chosen set maximises the expected F1 of the two: greedily, sentence by sentence, where a claim's recall counts
once however many near-copies of it are taken (minimum Bayes risk, with the candidates themselves as the
sample of what people would write).

The weights are the posterior mean after ROSE's validation part; demonstrations update it as further data, the
prior counting as ``PRIOR_PASSAGES`` passages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
from safetensors import safe_open
from spacy.tokens import Doc

from claimwise_embedded.candidates import Candidate
from claimwise_embedded.checksums import WEIGHTS, checked
from claimwise_embedded.decomposer_parsing import CONTENT, VERBS
from claimwise_embedded.decomposer_references import Resolution

#: How many passages the shipped prior counts as, when demonstrations update it.
PRIOR_PASSAGES = 20
#: Recall weights (the beta squared of F-beta) that demonstrations choose between.
BALANCES = (0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.8)
_PREPOSITIONS = frozenset(
    "in on at for of with by from to into after before over about as against during since under between through "
    "without".split()
)
_FINITE = frozenset(("VBZ", "VBD", "VBP", "MD"))
_UNCLEAR = frozenset("he she it they him them this these".split())


def incidence(candidates: Sequence[Candidate], length: int) -> np.ndarray:
    """Which tokens each candidate keeps: shape (candidates, length), 0 or 1."""
    matrix = np.zeros((len(candidates), length), dtype=np.float32)
    for row, candidate in zip(matrix, candidates, strict=True):
        row[candidate.kept] = 1.0
    return matrix


def describe(candidates: Sequence[Candidate], tokens: Doc, resolution: Resolution) -> list[dict[str, float]]:
    """The features of a sentence's candidates, by name; what is absent is 0."""
    n = len(tokens)
    words = [not t.is_punct for t in tokens]
    length = max(1, sum(words))
    kept = incidence(candidates, n)
    sizes = kept.sum(axis=1)
    shared = kept @ kept.T
    inside = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])  # i strictly within j
    above, below = inside.sum(axis=1), inside.sum(axis=0)
    parts = np.array([c.kind != "sentence" for c in candidates], dtype=np.float32)
    uses = (kept * parts[:, None]).sum(axis=0)
    out = []
    for i, candidate in enumerate(candidates):
        at = candidate.kept
        mine = [tokens[k] for k in at]
        size = sum(words[k] for k in at)
        own = sum(1 for k in at if tokens[k].pos_ in CONTENT and uses[k] - parts[i] <= 0)
        found: dict[str, float] = {
            f"kind:{candidate.kind}": 1.0,
            f"size:{min(size // 2, 10)}": 1.0,
            f"share:{min(int(size / length * 8), 8)}": 1.0,
            "length": size / 10,
            "length-squared": size * size / 100,
            "share": size / length,
            "sentence": length / 10,
            "siblings": len(candidates) / 20,
            "within": min(above[i], 5) / 5,
            "contains": min(below[i], 8) / 8,
            "smallest": float(below[i] == 0),
            "largest": float(above[i] == 0),
            "own": own / 5,
            "inserted": float(len(candidate.pieces) > len(at)),
            "commas": float(sum(t.text == "," for t in mine)),
            "conjunctions": float(sum(t.dep_ == "cc" for t in mine)),
            "verbs": float(sum(t.pos_ in VERBS for t in mine)),
            "finite": float(sum(t.tag_ in _FINITE for t in mine)),
            "gaps": sum(b - a > 1 for a, b in pairwise(at)) / 3,
            "odd-quote": float(sum(t.is_quote for t in mine) % 2),
            "unclear": float(
                sum(t.lower_ in _UNCLEAR and k not in resolution.replaced for k, t in zip(at, mine, strict=True))
            ),
        }
        for name, value in candidate.traits.items():
            found[f"trait:{name}"] = float(value)
        for token in mine:
            if token.lower_ in _PREPOSITIONS:
                name = f"keeps:{token.lower_}"
                found[name] = found.get(name, 0.0) + 1.0
        if mine:
            found[f"first:{mine[0].tag_}"] = 1.0
            found[f"last:{mine[-1].tag_}"] = 1.0
            end = max(at) + 1
            after = tokens[end].tag_ if end < n else "end"
            found[f"next:{after}"] = 1.0
            if after in ("IN", "TO") and tokens[end].lower_ in _PREPOSITIONS:
                found[f"cuts:{tokens[end].lower_}"] = 1.0
        out.append(found)
    return out


@dataclass(frozen=True)
class Selector:
    """Linear weights and what is needed to update them.

    Attributes:
        names: F feature names.
        mean: (2, F): weights of fit and worth.
        precision: (F, F): of the weights, as if the prior were ``PRIOR_PASSAGES`` passages.
        balance: recall weight of the F measure that the chosen set maximises.
        balance_gains: expected easiness F1 of each of ``BALANCES`` under the prior, summed over its passages.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    precision: np.ndarray
    balance: float
    balance_gains: np.ndarray

    def matrix(self, described: Sequence[dict[str, float]]) -> np.ndarray:
        """Features as rows; unknown names are left out."""
        index = {name: i for i, name in enumerate(self.names)}
        out = np.zeros((len(described), len(self.names)), dtype=np.float32)
        out[:, 0] = 1.0
        for row, found in zip(out, described, strict=True):
            for name in found.keys() & index.keys():
                row[index[name]] = found[name]
        return out

    def values(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fit in [0, 1] and worth, at least 0.01, of each row."""
        predicted = features @ self.mean.T
        return np.clip(predicted[:, 0], 0.0, 1.0), np.maximum(predicted[:, 1], 0.01)

    def updated(self, features: np.ndarray, targets: np.ndarray) -> Selector:
        """The posterior after rows of features (n, F) with their fit and worth (n, 2)."""
        precision = self.precision + features.T @ features
        right = self.precision @ self.mean.T + features.T @ targets
        return replace(self, mean=np.linalg.solve(precision, right).T.astype(np.float32), precision=precision)


def choose(
    fit: np.ndarray,
    worth: np.ndarray,
    kept: np.ndarray,
    allowed: np.ndarray,
    content: np.ndarray,
    balance: float,
    first: Sequence[int] = (),
) -> list[int]:
    """The set of candidates, of one sentence or of several read together, with the largest expected F measure.

    Args:
        fit: (n,) expected best match to a person's claim.
        worth: (n,) expected number of a person's claims that are nearest to it.
        kept: (n, tokens) what each keeps; matches between candidates are Dice coefficients of the rows.
        allowed: (n,) False for a candidate that repeats another's words.
        content: (tokens,) 1 for the words that some claim has to hold, so that nothing stays unverified.
        balance: weight of recall.
        first: candidates to start from.

    Returns:
        Rows of ``fit``, ascending.

    >>> kept = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], float)
    >>> choose(np.array([0.5, 0.9, 0.9]), np.array([0.1, 1.0, 1.0]), kept, np.ones(3, bool), np.ones(4), 1.0)
    [1, 2]
    """
    sizes = kept.sum(axis=1)
    match = 2 * (kept @ kept.T) / np.maximum(sizes[:, None] + sizes[None, :], 1)
    share = worth / worth.sum()
    covered = np.zeros(len(fit))
    free = allowed.copy()
    chosen = [i for i in first if allowed[i]]
    free[chosen] = False
    if chosen:
        covered = match[chosen].max(axis=0)
    total, value = float(fit[chosen].sum()), -1.0
    while free.any():
        precision = (total + fit) / (len(chosen) + 1)
        recall = np.maximum(covered, match) @ share
        gain = (1 + balance) * precision * recall / (balance * precision + recall + 1e-9)
        gain[~free] = -1.0
        best = int(gain.argmax())
        if gain[best] <= value + 1e-9:
            break
        chosen.append(best)
        free[best] = False
        total += float(fit[best])
        covered = np.maximum(covered, match[best])
        value = float(gain[best])
    open_words = content * (1 - kept[chosen].max(axis=0, initial=0.0))
    while open_words.any() and free.any():
        gain = np.where(free, fit * (kept @ open_words) ** 0.5, 0.0)
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        chosen.append(best)
        free[best] = False
        open_words = open_words * (1 - kept[best])
    return sorted(chosen)


def fewest(gains: np.ndarray) -> float:
    """The balance with the fewest claims whose mean F1 is within 0.002 of the best of ``BALANCES``."""
    return next(b for b, gain in zip(BALANCES, gains, strict=True) if gain >= gains.max() - 0.002)


@cache
def shipped() -> Selector:
    """The selector fitted on ROSE's validation part."""
    with safe_open(str(checked(WEIGHTS / "decomposer-selector.safetensors")), framework="numpy") as file:
        header = json.loads(file.metadata()["selector"])
        return Selector(
            names=tuple(header["names"]),
            mean=file.get_tensor("mean"),
            precision=file.get_tensor("precision"),
            balance=header["balance"],
            balance_gains=file.get_tensor("balance_gains"),
        )
