"""The verifier's learned parts: word checkers, boosted trees on the checkers' findings, and calibrations.

There are several checkers and trees. Each was trained without a part of the training documents (by hash). A training
document is scored by the parts that have not seen it, any other document by the mean of all. So scores of training documents
are honest, and thresholds may be tuned on them. scikit-learn grows the trees in training; arrays of them are shipped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from torch import nn

from claimwise_embedded.checker import Checker
from claimwise_embedded.checker import load as load_checkers
from claimwise_embedded.checksums import checked
from claimwise_embedded.features import Evidence

#: The column of ``claim_table`` with a checker's verdict, in log odds. The columns before it are features of the evidence.
VERDICT = 67
#: The checkers' weight in the mean with the trees. It is 0 for whole summaries, which are longer than the texts that checkers
#: learned from (they read the first ``CLAIM_WORDS`` words). docs/how_the_models_were_made.md says how it was chosen.
_CHECKERS_WEIGHT = {"claim": 0.5, "whole": 0.0}
_TREES, _NUMBERS, _CHECKERS = "verifier.safetensors", "verifier.json", "verifier-checkers.safetensors"
#: Standard deviations of the prior of slope and intercept, which limit how far demonstrations may change them.
PRIOR_SPREAD = (0.25, 0.75)
_ROWS_AT_ONCE = 4096


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of log odds, without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return 0.5 * (1 + np.tanh(np.asarray(logits, dtype=float) / 2))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Probability = sigmoid(slope * log odds + intercept)."""

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, logits: np.ndarray) -> np.ndarray:
        """Return the probabilities of ``logits``, in the same shape."""
        return sigmoid(self.slope * logits + self.intercept)

    def updated(
        self,
        logits: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None = None,
        spread: tuple[float, float] = PRIOR_SPREAD,
    ) -> Calibration:
        """Return the maximum a posteriori calibration after labelled log odds, with this one as the prior.

        The slope is at least .05, so that higher log odds never mean less support.

        Args:
            logits: (n,) raw log odds.
            labels: (n,) 0 or 1, or probabilities.
            weights: (n,) the weight of each; by default 1.
            spread: standard deviations of the prior of slope and intercept.

        >>> shifted = Calibration().updated(np.array([0.0, 0.0]), np.array([1.0, 1.0]))
        >>> shifted.slope, bool(shifted.intercept > 0.3)
        (1.0, True)
        """
        weights = np.ones(len(logits)) if weights is None else weights
        design = np.stack([logits, np.ones(len(logits))], axis=1)
        current = prior = np.array([self.slope, self.intercept])
        precision = 1 / np.square(spread)
        for _ in range(50):
            probability = sigmoid(design @ current)
            gradient = design.T @ (weights * (labels - probability)) - precision * (current - prior)
            curvature = (design.T * (weights * probability * (1 - probability))) @ design + np.diag(precision)
            step = np.linalg.solve(curvature, gradient)
            current = current + step / max(1.0, float(np.abs(step).max()))
            if np.abs(step).max() < 1e-9:
                break
        return Calibration(float(max(current[0], 0.05)), float(current[1]))


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees in one pool of nodes. Both children of a leaf are the leaf, so that every row takes equally many steps.

    Attributes:
        feature: (n_nodes,) the feature that a node compares.
        threshold: (n_nodes,) rows go left if the feature is at most this.
        left: (n_nodes,) the left child; the node itself in a leaf.
        right: (n_nodes,) the right child; the node itself in a leaf.
        value: (n_nodes,) the value of a leaf.
        roots: (n_trees,) the first node of each tree.
        base: (2,) the value before any tree, and the depth of the deepest tree.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    base: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Return the sum of the trees' leaves.

        Args:
            features: (n, n_features) without NaN.

        Returns:
            (n,) log odds.

        >>> stump = Trees(*map(np.array, ([0, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [0, -1.0, 2.0], [0], [0.5, 1])))
        >>> stump.logits(np.array([[0.2], [0.7]])).tolist()
        [-0.5, 2.5]
        """
        starts = range(_ROWS_AT_ONCE, len(features), _ROWS_AT_ONCE)
        return np.concatenate([self._some(part) for part in np.split(features, starts)])

    def _some(self, features: np.ndarray) -> np.ndarray:
        rows = np.arange(len(features))[:, None]
        node = np.broadcast_to(self.roots, (len(features), len(self.roots)))
        for _ in range(int(self.base[1])):
            goes_left = features[rows, self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        return self.base[0] + self.value[node].sum(axis=1, dtype=np.float64)

    def tensors(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the arrays by name, for a safetensors file."""
        return {f"{prefix}.{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def read(cls, tensors: Mapping[str, np.ndarray], prefix: str) -> Trees:
        """Read the arrays that ``tensors`` returned."""
        return cls(**{field.name: tensors[f"{prefix}.{field.name}"] for field in fields(cls)})

    @classmethod
    def of_boosting(cls, fitted) -> Trees:
        """Convert the trees of a fitted binary ``HistGradientBoostingClassifier`` (no categories, no missing values)."""
        grown = [predictor.nodes for (predictor,) in fitted._predictors]
        sizes = [len(nodes) for nodes in grown]
        roots = np.cumsum([0, *sizes[:-1]])
        nodes, start, own = np.concatenate(grown), np.repeat(roots, sizes), np.arange(sum(sizes))
        leaf = nodes["is_leaf"].astype(bool)
        base = float(np.ravel(fitted._baseline_prediction)[0])
        return cls(
            np.where(leaf, 0, nodes["feature_idx"]).astype(np.int16),
            np.where(leaf, 0, nodes["num_threshold"]).astype(np.float32),
            np.where(leaf, own, nodes["left"] + start).astype(np.int32),
            np.where(leaf, own, nodes["right"] + start).astype(np.int32),
            np.where(leaf, nodes["value"], 0).astype(np.float32),
            roots.astype(np.int32),
            np.array([base, nodes["depth"].max()], dtype=np.float64),
        )


def document_hash(document: str) -> int:
    """Return a 64-bit hash of a document's letters and digits. Case, spaces and punctuation do not matter.

    >>> document_hash("Don't  panic.") == document_hash("dont panic")
    True
    """
    letters = re.sub(r"[\W_]+", "", document.lower())
    return int(hashlib.sha256(letters.encode()).hexdigest()[:16], 16)


@dataclass(frozen=True, slots=True)
class Heads:
    """The learned parts. Trees f read checker f modulo the number of checkers; neither has seen the documents of fold f.

    Attributes:
        checkers: the word checkers.
        models: for each kind (``claim``, ``whole``) the trees of each fold.
        calibrations: for each kind the calibration of ``decided``.
        seen: hashes of the training documents.
    """

    checkers: Sequence[Checker]
    models: Mapping[str, Sequence[Trees]]
    calibrations: Mapping[str, Calibration]
    seen: frozenset[int]

    @classmethod
    def read(cls, folder: Path) -> Heads:
        """Read ``verifier.safetensors``, ``verifier.json`` and ``verifier-checkers.safetensors``; errors as in ``checked``."""
        about = json.loads(checked(folder / _NUMBERS).read_text(encoding="utf-8"))
        tensors = load_file(checked(folder / _TREES))
        return cls(
            load_checkers(checked(folder / _CHECKERS)),
            {kind: [Trees.read(tensors, f"{kind}.{i}") for i in range(about["folds"])] for kind in _CHECKERS_WEIGHT},
            {name: Calibration(**pair) for name, pair in about["calibrations"].items()},
            frozenset(tensors["seen"].view(np.uint64).tolist()),
        )

    def write(self, folder: Path, corpora: Mapping[str, int]) -> None:
        """Write the files that ``read`` reads. ``corpora`` (rows of each training corpus) is written for the record."""
        tensors = {"seen": np.array(sorted(self.seen), dtype=np.uint64).view(np.int64)}
        for kind, by_fold in self.models.items():
            for fold, trees in enumerate(by_fold):
                tensors |= trees.tensors(f"{kind}.{fold}")
        networks = {name: t.half().numpy() for name, t in nn.ModuleList(self.checkers).state_dict().items()}
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((_TREES, tensors), (_CHECKERS, networks)):
            save_file(content, folder / name)
            (folder / name).chmod(0o644)
        about = {
            "folds": self.folds,
            "calibrations": {name: asdict(one) for name, one in self.calibrations.items()},
            "corpora": corpora,
        }
        (folder / _NUMBERS).write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.models["claim"])

    def unseen_by(self, document: str) -> list[int]:
        """Return the folds whose models were not trained on a document: one, or all."""
        key = document_hash(document)
        return [key % self.folds] if key in self.seen else list(range(self.folds))

    def logits(self, kind: str, evidence: Sequence[Evidence], folds: Sequence[Sequence[int]]) -> np.ndarray:
        """Return the log odds, (n,), that claims (``claim``) or whole summaries (``whole``) are supported, each by its folds."""
        return decided(kind, self.both_logits(kind, evidence, folds))

    def both_logits(self, kind: str, evidence: Sequence[Evidence], folds: Sequence[Sequence[int]]) -> np.ndarray:
        """Return the log odds of the checkers and of the trees, (n, 2)."""
        total = np.zeros((len(evidence), 2))
        for fold in range(self.folds):
            at = [i for i, own in enumerate(folds) if fold in own]
            if at:
                features = claim_table([evidence[i] for i in at], fold % len(self.checkers))
                total[at, 0] += features[:, VERDICT]
                total[at, 1] += self.models[kind][fold].logits(features)
        return total / np.array([len(own) for own in folds], dtype=float)[:, None]


def decided(kind: str, both: np.ndarray) -> np.ndarray:
    """Return the weighted mean, (n,), of the log odds of checkers and of trees, (n, 2).

    >>> decided("claim", np.array([[2.0, 4.0]])), decided("whole", np.array([[2.0, 4.0]]))
    (array([3.]), array([4.]))
    """
    weight = _CHECKERS_WEIGHT[kind]
    return both @ np.array([weight, 1 - weight])


def summarise_words(logits: np.ndarray, weight: np.ndarray, special: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Pool the words of each claim.

    Args:
        logits: (n_words,) log odds that a word is not supported.
        weight: (n_words,) how rare each word is.
        special: (n_words,) whether it is a number or a name.
        lengths: the number of words of each claim, in order; at least 1.

    Returns:
        (n_claims, 6): the worst word, minus the log probability that no word is wrong, the mean, the mean weighted
        by rarity, the second worst word, the worst number or name.

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


def claim_table(evidence: Sequence[Evidence], which: int | np.ndarray) -> np.ndarray:
    """Return the features of claims or whole summaries, (n, 74): of the evidence, one checker's verdict, its words.

    Args:
        evidence: n claims that checkers have read.
        which: the checker for all claims, or (n,) for each.
    """
    checkers = np.broadcast_to(which, len(evidence))
    doubts = [item.doubts[k] for item, k in zip(evidence, checkers, strict=True)]
    words = summarise_words(
        np.concatenate(doubts),
        np.concatenate([item.weight for item in evidence]),
        np.concatenate([item.special for item in evidence]),
        [len(d) for d in doubts],
    )
    verdicts = [item.supported[k] for item, k in zip(evidence, checkers, strict=True)]
    return np.column_stack([np.stack([item.claim for item in evidence]), verdicts, words])
