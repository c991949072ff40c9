"""Boosted trees as plain arrays: a small vectorised predictor, and storage without pickle.

scikit-learn grows the trees (training only); what ships are five arrays a model, in safetensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

_ROWS_AT_ONCE = 4096


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
        parts = [
            self._some(features[start : start + _ROWS_AT_ONCE]) for start in range(0, len(features), _ROWS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

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
        """What ``tensors`` wrote.

        Raises:
            KeyError: the file holds no model of this name.
        """
        return cls(**{field.name: tensors[f"{prefix}.{field.name}"] for field in fields(cls)})

    @classmethod
    def of_boosting(cls, fitted) -> Trees:
        """The trees of a fitted binary ``HistGradientBoostingClassifier`` (no categories, no missing values)."""
        feature, threshold, left, right, value, roots = [], [], [], [], [], []
        depth = count = 0
        for (predictor,) in fitted._predictors:
            nodes = predictor.nodes
            own = np.arange(len(nodes)) + count
            leaf = nodes["is_leaf"].astype(bool)
            feature.append(np.where(leaf, 0, nodes["feature_idx"]))
            threshold.append(np.where(leaf, 0, nodes["num_threshold"]))
            left.append(np.where(leaf, own, nodes["left"].astype(int) + count))
            right.append(np.where(leaf, own, nodes["right"].astype(int) + count))
            value.append(np.where(leaf, nodes["value"], 0))
            roots.append(count)
            depth = max(depth, int(nodes["depth"].max()))
            count += len(nodes)
        base = float(np.ravel(fitted._baseline_prediction)[0])
        return cls(
            np.concatenate(feature).astype(np.int16),
            np.concatenate(threshold).astype(np.float32),
            np.concatenate(left).astype(np.int32),
            np.concatenate(right).astype(np.int32),
            np.concatenate(value).astype(np.float32),
            np.array(roots, dtype=np.int32),
            np.array([base, depth], dtype=np.float64),
        )
