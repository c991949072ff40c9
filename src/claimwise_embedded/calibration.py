"""From log odds to probabilities: a slope and an intercept, fitted to rows the scored model has not seen.

Demonstrations in a prompt move them a little (a maximum a posteriori update whose prior is what ships), so
that a few labelled examples change every later verdict, as they would for a language model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: How far demonstrations may move slope and intercept: standard deviations of the prior.
PRIOR_SPREAD = (0.25, 0.75)


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
        return sigmoid(self.slope * np.asarray(logits, dtype=float) + self.intercept)

    def updated(
        self,
        logits: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None = None,
        spread: tuple[float, float] = PRIOR_SPREAD,
    ) -> Calibration:
        """Maximum a posteriori slope and intercept given labelled log odds, this calibration being the prior.

        Args:
            logits: (n,) raw log odds.
            labels: (n,) 0 or 1, or probabilities.
            weights: (n,) how much each counts; 1, if not given.
            spread: standard deviations of the prior.

        Returns:
            The same calibration where n is 0. The slope is at least .05: more log odds never mean less support.

        >>> shifted = Calibration().updated(np.array([0.0, 0.0]), np.array([1.0, 1.0]))
        >>> shifted.slope, bool(shifted.intercept > 0.3)
        (1.0, True)
        """
        logits = np.asarray(logits, dtype=float)
        if not len(logits):
            return self
        labels = np.asarray(labels, dtype=float)
        weights = np.ones(len(logits)) if weights is None else np.asarray(weights, dtype=float)
        design = np.stack([logits, np.ones(len(logits))], axis=1)
        prior = np.array([self.slope, self.intercept])
        precision = 1 / np.square(spread)
        current = prior.copy()
        for _ in range(50):
            probability = sigmoid(design @ current)
            gradient = design.T @ (weights * (labels - probability)) - precision * (current - prior)
            curvature = (design.T * (weights * probability * (1 - probability))) @ design + np.diag(precision)
            step = np.linalg.solve(curvature, gradient)
            current = current + step / max(1.0, float(np.abs(step).max()))
            if np.abs(step).max() < 1e-9:
                break
        return Calibration(float(max(current[0], 0.05)), float(current[1]))
