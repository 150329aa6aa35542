"""Ridge regressions of a witness: on columns, products, and a Gaussian kernel; nearest
neighbours.

scikit-learn's Ridge gives the same held-out R2 in 3 to 15 times as long, as it adds up the rows
again for every fold, and with its Nystroem 2.3 to 4.3 times; its KNeighborsRegressor weighs no
rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist

from validation_core.scores.witness_rows import FOLDS, MemberArrays, MemberFit, WitnessRegression
from validation_core.types import Array, Float

_PENALTIES = np.logspace(-6, 1, 15)  # times the mean variance of a feature
MOST_PRODUCTS = 496  # as many as 31 columns have; beyond, as many random quadratics
_LANDMARKS = 256
_WIDTHS = (0.35, 0.7, 1.4)  # bandwidths, in median distances between rows
_JITTER = 1e-10
_COUNTS = (5, 10, 20, 40, 80)  # of neighbours


def fit_linear_ridge(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """Ridge on the columns."""
    del rng
    return _fit_ridge(problem, problem.z, {})


def fit_quadratic_ridge(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """Ridge on the columns and their products, or random squares where there are too many."""
    d = problem.z.shape[1]
    most = d * (d + 1) // 2
    # Kar & Karnick (2012): products of random directions span the quadratics as they grow.
    size = (d, MOST_PRODUCTS) if most > MOST_PRODUCTS else (d, 0)
    directions = rng.standard_normal(size).astype(np.float32) / np.float32(np.sqrt(d))
    return _fit_ridge(problem, _products(problem.z, directions), {"directions": directions})


def fit_kernel_ridge(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """Ridge on a Gaussian kernel at random rows, of the best of three widths."""
    n = len(problem.z)
    marks = problem.z[rng.choice(n, min(n, _LANDMARKS), p=problem.weight, replace=False)]
    typical = float(np.median(pdist(marks))) or 1.0
    best: MemberFit | None = None
    for width in _WIDTHS:
        gamma = np.array([0.5 / (width * typical) ** 2])
        # Features whose ridge is the kernel's: whitened by the landmarks' own kernel matrix.
        values, vectors = np.linalg.eigh(_gaussian(marks, marks, gamma))
        whiten = vectors / np.sqrt(np.maximum(values, _JITTER * values[-1]))
        fit = _fit_ridge(
            problem,
            _gaussian(problem.z, marks, gamma) @ whiten,
            {"marks": marks, "gamma": gamma},
            back=whiten,
        )
        if best is None or fit.r2 > best.r2:
            best = fit
    assert best is not None
    return best


def predict_linear(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) of the linear ridge at rows z (n, d)."""
    return z @ arrays["coefficients"] - arrays["offset"]


def predict_quadratic(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) of the quadratic ridge at rows z (n, d)."""
    return _products(z, arrays["directions"]) @ arrays["coefficients"] - arrays["offset"]


def predict_kernel(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) of the kernel ridge at rows z (n, d)."""
    at_marks = _gaussian(z, arrays["marks"], arrays["gamma"])
    return at_marks @ arrays["coefficients"] - arrays["offset"]


def _products(z: Float, directions: Array) -> Float:
    if directions.shape[1]:
        return np.concatenate([z, (z @ directions) ** 2], axis=1)
    rows, columns = np.triu_indices(z.shape[1])
    return np.concatenate([z, z[:, rows] * z[:, columns]], axis=1)


def _gaussian(z: Float, marks: Array, gamma: Array) -> Float:
    return np.exp(-gamma * cdist(z, marks, "sqeuclidean"))


def _fit_ridge(
    problem: WitnessRegression, features: Float, arrays: MemberArrays, back: Float | None = None
) -> MemberFit:
    """Ridge with the penalty that predicts held-out folds best.

    Args:
        arrays: the other numbers that make the features of new rows.
        back: (stored, f), from coefficients of these features to those of the stored ones.
    """
    grams = [_RidgeMoments.of(problem, features, problem.fold == fold) for fold in range(FOLDS)]
    whole = _RidgeMoments(*(sum(parts) for parts in zip(*grams, strict=True)))
    predictions = np.empty((len(_PENALTIES), len(features)))
    for fold, own in enumerate(grams):
        others = _RidgeMoments(*(a - b for a, b in zip(whole, own, strict=True)))
        out = problem.fold == fold
        coefficients, offsets = others.solve(_PENALTIES)
        predictions[:, out] = (features[out] @ coefficients - offsets).T
    scores = [problem.r2(predicted) for predicted in predictions]
    best = int(np.argmax(scores))
    coefficients, offsets = whole.solve(_PENALTIES[best : best + 1])
    stored = coefficients[:, 0] if back is None else back @ coefficients[:, 0]
    return MemberFit(
        predictions[best], scores[best], {**arrays, "coefficients": stored, "offset": offsets}
    )


class _RidgeMoments(NamedTuple):
    """Weighted sums over rows; those of a union of folds are sums of the folds'."""

    total: Float
    features: Float  # (f,)
    labels: Float
    squares: Float  # (f, f)
    products: Float  # (f,)

    @classmethod
    def of(
        cls, problem: WitnessRegression, features: Float, rows: NDArray[np.bool_]
    ) -> _RidgeMoments:
        f, y, w = features[rows], problem.y[rows], problem.weight[rows]
        weighted = f * w[:, None]
        return cls(
            np.asarray(w.sum()), weighted.sum(0), np.asarray(w @ y), f.T @ weighted, y @ weighted
        )

    def solve(self, penalties: Float) -> tuple[Float, Float]:
        """Coefficients (f, penalties) and offsets to subtract (penalties,)."""
        mean = self.features / self.total
        covariance = self.squares / self.total - np.outer(mean, mean)
        sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        sd = np.where(sd > _JITTER, sd, np.inf)  # a constant column explains nothing
        middle = self.labels / self.total
        slope = (self.products / self.total - mean * middle) / sd
        values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
        shrunk = (vectors.T @ slope)[:, None] / (np.maximum(values, 0.0)[:, None] + penalties)
        coefficients = (vectors @ shrunk) / sd[:, None]
        return coefficients, mean @ coefficients - middle


def fit_neighbours(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """The mean label of the k nearest rows, of the k that predicts held-out folds best."""
    del rng
    n = len(problem.z)
    most = n - int(np.bincount(problem.fold).max())
    counts = [k for k in _COUNTS if k <= most]
    predictions = np.empty((len(counts), n))
    for fold in range(FOLDS):
        out = problem.fold == fold
        tree = cKDTree(problem.z[~out])
        near = np.asarray(tree.query(problem.z[out], counts[-1])[1])
        predictions[:, out] = _votes(problem.y[~out], problem.weight[~out], near, counts)
    scores = [problem.r2(predicted) for predicted in predictions]
    best = int(np.argmax(scores))
    arrays = {
        "rows": problem.z,
        "y": problem.y,
        "weight": problem.weight,
        "k": np.array([counts[best]]),
    }
    return MemberFit(predictions[best], scores[best], arrays)


def predict_neighbours(arrays: MemberArrays, z: Float) -> Float:
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
