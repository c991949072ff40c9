"""What the selector knows of a candidate claim: its kind, length, what it keeps of its sentence, what it cuts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from claimwise_embedded.candidates_text import Candidate
from claimwise_embedded.clauses_tags import FINITE
from claimwise_embedded.decomposer_references import Resolution
from claimwise_embedded.decomposer_tokens import Token

_PREPOSITIONS = frozenset(
    "in on at for of with by from to into after before over about as against during since under between through "
    "without".split()
)
_VERBS = frozenset(("VZ", "VD", "VN", "VG", "VB", "BE"))
#: Narrower than the decomposer's: no negation, no modal.
_CONTENT = frozenset(("X", "CD", "VN", "VD", "VZ", "VG", "VB"))
_UNCLEAR = frozenset("he she it they him them this these".split())


def incidence(candidates: Sequence[Candidate], length: int) -> np.ndarray:
    """Which tokens each candidate keeps: shape (candidates, length), 0 or 1."""
    matrix = np.zeros((len(candidates), length), dtype=np.float32)
    for row, candidate in zip(matrix, candidates, strict=True):
        row[candidate.kept] = 1.0
    return matrix


def describe(
    candidates: Sequence[Candidate], tokens: Sequence[Token], resolution: Resolution
) -> list[dict[str, float]]:
    """The features of a sentence's candidates, by name; what is absent is 0."""
    n = len(tokens)
    words = [t.tag not in ("PU", "CM") for t in tokens]
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
        own = sum(1 for k in at if tokens[k].tag in _CONTENT and uses[k] - parts[i] <= 0)
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
            "commas": float(sum(t.tag == "CM" for t in mine)),
            "conjunctions": float(sum(t.tag == "CC" for t in mine)),
            "verbs": float(sum(t.tag in _VERBS for t in mine)),
            "finite": float(sum(t.tag in FINITE for t in mine)),
            "gaps": sum(b - a > 1 for a, b in pairwise(at)) / 3,
            "odd-quote": float(sum(t.tag == "Q" for t in mine) % 2),
            "unclear": float(
                sum(t.lower in _UNCLEAR and k not in resolution.replaced for k, t in zip(at, mine, strict=True))
            ),
        }
        for name, value in candidate.traits.items():
            found[f"trait:{name}"] = float(value)
        for token in mine:
            if token.lower in _PREPOSITIONS:
                name = f"keeps:{token.lower}"
                found[name] = found.get(name, 0.0) + 1.0
        if mine:
            found[f"first:{mine[0].tag}"] = 1.0
            found[f"last:{mine[-1].tag}"] = 1.0
            end = max(at) + 1
            after = tokens[end].tag if end < n else "end"
            found[f"next:{after}"] = 1.0
            if after in ("IN", "TO") and tokens[end].lower in _PREPOSITIONS:
                found[f"cuts:{tokens[end].lower}"] = 1.0
        out.append(found)
    return out
