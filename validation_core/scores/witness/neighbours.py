"""k nearest neighbours: the balanced vote of the training rows around a row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from validation_core.scores.witness.member import Fit
from validation_core.scores.witness.problem import FOLDS, Problem
from validation_core.types import Array

Float = NDArray[np.float64]

_COUNTS = (5, 10, 20, 40, 80)


def neighbours(problem: Problem, rng: np.random.Generator) -> Fit:
    """The mean label of the k nearest rows, of the k that predicts held-out folds best."""
    del rng
    n = len(problem.z)
    most = n - int(np.bincount(problem.fold).max())
    counts = [k for k in _COUNTS if k <= most]
    held = np.empty((len(counts), n))
    for fold in range(FOLDS):
        out = problem.fold == fold
        tree = cKDTree(problem.z[~out])
        near = np.asarray(tree.query(problem.z[out], counts[-1])[1])
        held[:, out] = _votes(problem.y[~out], problem.weight[~out], near, counts)
    scores = [problem.r2(predicted) for predicted in held]
    best = int(np.argmax(scores))
    arrays = {"rows": problem.z, "y": problem.y, "weight": problem.weight,
              "k": np.array([counts[best]])}  # fmt: skip
    return Fit(held[best], scores[best], arrays)


def predict_neighbours(arrays: Mapping[str, Array], z: Float) -> Float:
    """Predictions (n,) at rows z (n, d)."""
    k = int(arrays["k"][0])
    near = np.asarray(cKDTree(arrays["rows"]).query(z, k)[1])
    return _votes(arrays["y"], arrays["weight"], near, [k])[0]


def _votes(y: Array, weight: Array, near: NDArray[np.intp], counts: list[int]) -> Float:
    """Weighted mean labels (counts, n) of each row's neighbours (n, k), nearest first."""
    near = near.reshape(len(near), -1)
    w = weight[near]
    above, total = np.cumsum(w * y[near], axis=1), np.cumsum(w, axis=1)
    at = np.array(counts) - 1
    return (above[:, at] / total[:, at]).T
