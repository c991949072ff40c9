"""What the verifier has learned: word checkers, boosted trees on what they find, and calibrations, in safetensors.

Checkers and trees exist several times, each trained without a part of the training documents (by hash): a document
seen in training is scored by the pair that has not seen it, every other document by the mean of all. So scores of
training documents are honest, and thresholds may be tuned on them. scikit-learn grows the trees (training only); what
ships are arrays.
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

#: The column of ``claim_table`` that is a checker's verdict, in log odds; before it come features of the evidence alone.
VERDICT = 67
#: What the checkers' verdict weighs beside the trees': nothing on whole summaries, which are longer than what checkers
#: learned from (of more than ``CLAIM_WORDS`` words they see the first). docs/development.md says how it was chosen.
_CHECKERS_WEIGH = {"claim": 0.5, "whole": 0.0}
_TREES, _NUMBERS, _CHECKERS = "verifier.safetensors", "verifier.json", "verifier-checkers.safetensors"
#: How far demonstrations may move slope and intercept: standard deviations of the prior.
PRIOR_SPREAD = (0.25, 0.75)
_ROWS_AT_ONCE = 4096


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Probability of log odds, without overflow.

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
        """Probabilities, the shape of ``logits``."""
        return sigmoid(self.slope * logits + self.intercept)

    def updated(
        self,
        logits: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None = None,
        spread: tuple[float, float] = PRIOR_SPREAD,
    ) -> Calibration:
        """Maximum a posteriori slope and intercept given labelled log odds, this calibration being the prior.

        The slope is at least .05: more log odds never mean less support.

        Args:
            logits: (n,) raw log odds.
            labels: (n,) 0 or 1, or probabilities.
            weights: (n,) how much each counts; 1, if not given.
            spread: standard deviations of the prior.

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
    """Trees in one pool of nodes; a leaf's children are itself, so that all rows can walk equally far.

    Attributes:
        feature: (n_nodes,) which feature a node asks for.
        threshold: (n_nodes,) go left where the feature is at most this.
        left: (n_nodes,) node to the left; itself in a leaf.
        right: (n_nodes,) node to the right.
        value: (n_nodes,) what a leaf adds.
        roots: (n_trees,) where each tree starts.
        base: (2,) what is there before any tree, and the depth of the deepest.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    base: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Sum of the trees' leaves.

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
        """The arrays by name, for a safetensors file."""
        return {f"{prefix}.{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def read(cls, tensors: Mapping[str, np.ndarray], prefix: str) -> Trees:
        """What ``tensors`` wrote."""
        return cls(**{field.name: tensors[f"{prefix}.{field.name}"] for field in fields(cls)})

    @classmethod
    def of_boosting(cls, fitted) -> Trees:
        """The trees of a fitted binary ``HistGradientBoostingClassifier`` (no categories, no missing values)."""
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
    """A 64-bit hash of a document's letters and digits: copies that differ in case, spaces or marks are equal.

    >>> document_hash("Don't  panic.") == document_hash("dont panic")
    True
    """
    letters = re.sub(r"[\W_]+", "", document.lower())
    return int(hashlib.sha256(letters.encode()).hexdigest()[:16], 16)


@dataclass(frozen=True, slots=True)
class Heads:
    """The learned parts; model f goes with checker f modulo their number, and neither has seen the documents of fold f.

    Attributes:
        checkers: the word checkers.
        models: of each kind (``claim``, ``whole``) one a fold.
        calibrations: of each kind, of what ``decided`` makes of checkers and models.
        seen: hashes of the documents that were trained on.
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
            {kind: [Trees.read(tensors, f"{kind}.{i}") for i in range(about["folds"])] for kind in _CHECKERS_WEIGH},
            {name: Calibration(**pair) for name, pair in about["calibrations"].items()},
            frozenset(tensors["seen"].view(np.uint64).tolist()),
        )

    def write(self, folder: Path, corpora: Mapping[str, int]) -> None:
        """Write what ``read`` reads, and how many rows there were of each training corpus, for the record."""
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
        """How many models of each kind there are."""
        return len(self.models["claim"])

    def unseen_by(self, document: str) -> list[int]:
        """The folds whose models have not been trained on a document: one, or all."""
        key = document_hash(document)
        return [key % self.folds] if key in self.seen else list(range(self.folds))

    def logits(self, kind: str, evidence: Sequence[Evidence], folds: Sequence[Sequence[int]]) -> np.ndarray:
        """Log odds that claims (``claim``) or whole summaries (``whole``) are supported, each by its folds, (n,)."""
        return decided(kind, self.both_logits(kind, evidence, folds))

    def both_logits(self, kind: str, evidence: Sequence[Evidence], folds: Sequence[Sequence[int]]) -> np.ndarray:
        """The same by checkers and by trees, (n, 2)."""
        total = np.zeros((len(evidence), 2))
        for fold in range(self.folds):
            at = [i for i, own in enumerate(folds) if fold in own]
            if at:
                features = claim_table([evidence[i] for i in at], fold % len(self.checkers))
                total[at, 0] += features[:, VERDICT]
                total[at, 1] += self.models[kind][fold].logits(features)
        return total / np.array([len(own) for own in folds], dtype=float)[:, None]


def decided(kind: str, both: np.ndarray) -> np.ndarray:
    """The log odds that count, (n,), of those by checkers and by trees, (n, 2).

    >>> decided("claim", np.array([[2.0, 4.0]])), decided("whole", np.array([[2.0, 4.0]]))
    (array([3.]), array([4.]))
    """
    weight = _CHECKERS_WEIGH[kind]
    return both @ np.array([weight, 1 - weight])


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


def claim_table(evidence: Sequence[Evidence], which: int | np.ndarray) -> np.ndarray:
    """Features of claims or whole summaries: of the evidence, then one checker's verdict and its words.

    Args:
        evidence: n claims that checkers have looked at.
        which: the checker asked about all claims, or (n,) about each.

    Returns:
        (n, 74).
    """
    asked = np.broadcast_to(which, len(evidence))
    doubts = [item.doubts[k] for item, k in zip(evidence, asked, strict=True)]
    words = summarise_words(
        np.concatenate(doubts),
        np.concatenate([item.weight for item in evidence]),
        np.concatenate([item.special for item in evidence]),
        [len(d) for d in doubts],
    )
    verdicts = [item.supported[k] for item, k in zip(evidence, asked, strict=True)]
    return np.column_stack([np.stack([item.claim for item in evidence]), verdicts, words])
