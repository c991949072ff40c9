"""Fit the decomposer's selector on ROSE's validation part: ``python -m training.decomposer``.

Deterministic: the same corpus gives the same file. The ridge penalty and the balance are chosen on a fifth of the documents.
Then the shipped weights are fitted on all of them. Test parts are not read.
"""

import json
import random
from collections import Counter
from dataclasses import replace

import numpy as np
from safetensors.numpy import save_file

from claimwise import corpora
from claimwise_embedded import checksums
from claimwise_embedded.decomposer import (
    BALANCES,
    PRIOR_PASSAGES,
    Proposal,
    Selector,
    balance_gains,
    fewest,
    propose,
    targets,
)

_PENALTIES = (3.0, 10.0, 30.0)
_RARE = 20


def examples() -> list[tuple[str, list[str]]]:
    """Return (summary, people's claims) of ROSE's validation part, in the corpus's order."""
    rose = corpora.load("rose")
    validation = rose.examples[rose.examples["split"] == "validation"]
    claims = rose.gold_claims.groupby("example_id", sort=False)["claim"].agg(list)
    return [(row.summary, claims[row.id]) for row in validation.itertuples()]


def features(groups: list[list[Proposal]]) -> list[dict[str, float]]:
    """Return the features of all candidates of all summaries, by name."""
    return [features for group in groups for proposal in group for features in proposal.features]


def vocabulary(groups: list[list[Proposal]]) -> tuple[str, ...]:
    """Return the names of features that enough candidates have. The first is the constant."""
    counts = Counter(name for own in features(groups) for name in own)
    return ("constant", *sorted(name for name, count in counts.items() if count >= _RARE))


def fit(groups: list[list[Proposal]], aims: list[np.ndarray], names: tuple[str, ...], penalty: float) -> Selector:
    """Fit fit and worth by ridge regression. The result counts as a prior of ``PRIOR_PASSAGES`` passages."""
    penalties = np.full(len(names), penalty)
    penalties[0] = 1e-3
    blank = Selector(names, np.zeros((2, len(names))), np.diag(penalties), 1.0, np.zeros(len(BALANCES)))
    fitted = blank.updated(blank.matrix(features(groups)).astype(np.float64), np.concatenate(aims))
    return replace(fitted, precision=(fitted.precision * (PRIOR_PASSAGES / len(groups))).astype(np.float32))


def train() -> None:
    """Choose the settings on held-out documents, fit on all documents, and write the weights."""
    pairs = examples()
    order = list(range(len(pairs)))
    random.Random(0).shuffle(order)
    held_out, others = sorted(order[: len(order) // 5]), sorted(order[len(order) // 5 :])
    groups = [list(propose(summary, by_sentence=False)) for summary, _ in pairs]
    names = vocabulary(groups)
    aims = [
        targets([t for p in group for t in p.texts], claims) for group, (_, claims) in zip(groups, pairs, strict=True)
    ]
    best = (-1.0, 0.0, 0.0)
    for penalty in _PENALTIES:
        selector = fit([groups[i] for i in others], [aims[i] for i in others], names, penalty)
        gains = sum(balance_gains(groups[i], selector, pairs[i][1]) for i in held_out) / len(held_out)
        print(f"penalty {penalty:g}: F1 at each of the balances {gains.round(4).tolist()}", flush=True)
        best = max(best, (gains.max(), penalty, fewest(gains)))
    final = fit(groups, aims, names, best[1])
    gains = sum(balance_gains(groups[i], final, pairs[i][1]) for i in held_out[:PRIOR_PASSAGES])
    header = {"names": names, "balance": best[2]}
    save_file(
        # safetensors writes the bytes as they are in memory, so a transposed view would be read in the wrong order.
        {
            "mean": np.ascontiguousarray(final.mean),
            "precision": final.precision,
            "balance_gains": np.asarray(gains, dtype=np.float32),
        },
        checksums.WEIGHTS / "decomposer-selector.safetensors",
        metadata={"selector": json.dumps(header)},
    )


if __name__ == "__main__":
    train()
    checksums.write()
