"""What the selector knows of a candidate claim: its kind, length, what it keeps of its sentence, what it cuts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc

from claimwise_embedded.candidate_text import Candidate
from claimwise_embedded.decomposer_parsing import CONTENT, VERBS
from claimwise_embedded.decomposer_references import Resolution

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
