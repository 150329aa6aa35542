"""The witness as an ensemble: its members in order of cost, stacked on what they predict of
held-out folds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist

from validation_core.keys import Arrays
from validation_core.learn import StoredNetwork, training
from validation_core.learn.training import Adam
from validation_core.rng import stream
from validation_core.scores.witness import (
    FOLDS,
    MemberArrays,
    MemberFit,
    WitnessRegression,
    WitnessRows,
    build_regression,
    robust_scaling,
    standardise_rows,
    summarise_members,
)
from validation_core.types import Array, Float

if TYPE_CHECKING:
    from validation_core.learn.training import Report


# ---- Ridge regression on three sets of features (rows, products, a Gaussian kernel), and
# neighbours. The kernel is Nystroem's approximation (Williams & Seeger, 2001): its values at a
# few landmarks. ----


_PENALTIES = np.logspace(-6, 1, 15)  # times the mean variance of a feature
MOST_PRODUCTS = 496  # as many as 31 columns have; beyond, as many random quadratics
_LANDMARKS = 256
_WIDTHS = (0.35, 0.7, 1.4)  # bandwidths, in median distances between rows
_JITTER = 1e-10
_COUNTS = (5, 10, 20, 40, 80)  # of neighbours


def _fit_linear_ridge(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
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


def _fit_kernel_ridge(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
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


def _predict_linear(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) of the linear ridge at rows z (n, d)."""
    return z @ arrays["coefficients"] - arrays["offset"]


def _predict_quadratic(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) of the quadratic ridge at rows z (n, d)."""
    return _products(z, arrays["directions"]) @ arrays["coefficients"] - arrays["offset"]


def _predict_kernel(arrays: MemberArrays, z: Float) -> Float:
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
        arrays: what else makes the features of new rows.
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
    """Weighted sums over rows, of which any union of folds has its own by adding."""

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
        """Coefficients (f, penalties) and what is to be taken off (penalties,)."""
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


def _fit_neighbours(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
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


def _predict_neighbours(arrays: MemberArrays, z: Float) -> Float:
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


# ---- Gradient boosting of small symmetric trees: one question per level, the same for every
# node. Friedman (2001) for the boosting, with shrinkage and random rows; CatBoost's symmetric
# trees (Prokhorenkova et al., 2018), which are a table look-up each. ----


Codes = NDArray[np.int64]

_TREES = 160
_STAGES = (40, 80, 160)  # numbers of trees to choose from: few, as a choice is noise too
_DEPTH = 3
_SHRINKAGE = 0.08
_BINS = 24
_PULL_ROWS = 20.0  # rows' worth of weight that pull every leaf towards 0
_COLUMNS = 16  # at most that many columns are asked at a level: bounds the time in high dimension


class _Grown(NamedTuple):
    column: NDArray[np.int32]  # (trees, depth)
    cut: NDArray[np.int32]  # (trees, depth): bins above it answer 1
    leaf: Float  # (trees, 2 ** depth)


def _fit_boosted_trees(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """Boosted trees, as many as predict held-out folds best."""
    edges = _edges(problem.z)
    codes = _codes(problem.z, edges)
    n = len(codes)
    own = rng.spawn(FOLDS + 1)
    staged = np.empty((_TREES, n))
    for fold in range(FOLDS):
        out = problem.fold == fold
        weight = np.where(out, 0.0, problem.weight)
        grown = _grow(codes, problem.y, weight, own[fold])
        staged[:, out] = np.cumsum(_answers(grown, codes[out]), axis=0)
    scores = [problem.r2(staged[count - 1]) for count in _STAGES]
    best = _STAGES[int(np.argmax(scores))]
    whole = _grow(codes, problem.y, problem.weight, own[-1], best)
    cuts = edges[whole.column, whole.cut]
    return MemberFit(
        staged[best - 1], max(scores), {"column": whole.column, "cut": cuts, "leaf": whole.leaf}
    )


def _predict_trees(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) at rows z (n, d)."""
    out = np.zeros(len(z))
    columns = np.ascontiguousarray(z.T)
    for column, cut, leaf in zip(arrays["column"], arrays["cut"], arrays["leaf"], strict=True):
        node = np.zeros(len(z), dtype=np.int64)
        for level, (c, at) in enumerate(zip(column, cut, strict=True)):
            node += (columns[c] > at).astype(np.int64) << level
        out += leaf[node]
    return out


def _edges(z: Float) -> Float:
    """Cuts (d, bins - 1) at the quantiles of each column."""
    return np.quantile(z, np.linspace(0, 1, _BINS + 1)[1:-1], axis=0).T


def _codes(z: Float, edges: Float) -> Codes:
    """Bins (n, d): how many cuts lie below each number."""
    return np.stack([np.searchsorted(e, c) for e, c in zip(edges, z.T, strict=True)], axis=1)


def _answers(grown: _Grown, codes: Codes) -> Float:
    """What each tree adds to each row: (trees, n)."""
    out = np.empty((len(grown.leaf), len(codes)))
    for t, (column, cut, leaf) in enumerate(zip(*grown, strict=True)):
        bits = codes[:, column] > cut  # (n, depth)
        out[t] = leaf[bits @ (1 << np.arange(_DEPTH))]
    return out


def _grow(
    codes: Codes, y: Float, weight: Float, rng: np.random.Generator, count: int = _TREES
) -> _Grown:
    """Trees that each step a little towards what is left to explain."""
    residual = y.copy()
    learnt = np.flatnonzero(weight)
    n, d = len(learnt), codes.shape[1]
    column = np.empty((count, _DEPTH), np.int32)
    cut = np.empty((count, _DEPTH), np.int32)
    leaf = np.empty((count, 2**_DEPTH))
    for t in range(count):
        # Half of the rows to each tree (stochastic boosting): half the time, less overfitting.
        rows = learnt[rng.random(n) < 0.5]
        candidates = rng.permutation(d)[:_COLUMNS]
        w = weight[rows]
        pull = _PULL_ROWS * w.mean() if len(rows) else 1.0
        wr = w * residual[rows]
        node = np.zeros(len(rows), dtype=np.int64)
        for level in range(_DEPTH):
            which, at = _best_split(codes[np.ix_(rows, candidates)], node, w, wr, 1 << level, pull)
            column[t, level], cut[t, level] = candidates[which], at
            node += (codes[rows, candidates[which]] > at).astype(np.int64) << level
        size = 2**_DEPTH
        above, total = np.bincount(node, wr, size), np.bincount(node, w, size)
        leaf[t] = _SHRINKAGE * above / (total + pull)
        bits = codes[:, column[t]] > cut[t]
        residual -= leaf[t][bits @ (1 << np.arange(_DEPTH))]
    return _Grown(column, cut, leaf)


def _best_split(
    codes: Codes, node: Codes, w: Float, wr: Float, nodes: int, pull: float
) -> tuple[int, int]:
    """The (column, cut) that, asked of all nodes at once, explains most."""
    d = codes.shape[1]
    place = (np.arange(d) * nodes + node[:, None]) * _BINS + codes  # (n, d)
    size = d * nodes * _BINS
    shape = (d, nodes, _BINS)
    flat = place.ravel()
    above = np.bincount(flat, np.repeat(wr, d), size).reshape(shape).cumsum(axis=-1)
    total = np.bincount(flat, np.repeat(w, d), size).reshape(shape).cumsum(axis=-1)
    rest_above, rest_total = above[..., -1:] - above, total[..., -1:] - total
    gain = above**2 / (total + pull) + rest_above**2 / (rest_total + pull)
    which, at = np.unravel_index(int(gain.sum(axis=1)[:, :-1].argmax()), (d, _BINS - 1))
    return int(which), int(at)


# ---- A neural network: one for each fold and one of all rows, as one batch ----


_HIDDEN, _LAYERS = 64, 3
NETWORK_STEPS = 600
_BATCH = 256
_RATE = 3e-3
_DECAY = 1e-2
_CHECKS = 8
_ROWS = 4096  # rows per pass


def _fit_network(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
    """A network with squared error, stopped where held-out folds are predicted best.

    A fold's network sees the batches of all others with its own rows' weights at 0, so that the
    held-out curve of the folds is that of the network of all rows too.
    """
    device = training.pick_device()
    start = training.perceptron(rng, [problem.z.shape[1], *[_HIDDEN] * _LAYERS, 1])
    tensors = training.learnable(training.stack([start] * (FOLDS + 1)), device)
    adam = Adam([(tensors.values(), _RATE)], over=NETWORK_STEPS, decay=_DECAY, fused=False)
    z = torch.from_numpy(problem.z.astype(np.float32)).to(device)
    y = torch.from_numpy(problem.y.astype(np.float32)).to(device)
    # (folds + 1, n): 0 for the rows that a network does not learn from; the last takes all.
    use = np.stack([problem.fold != fold for fold in range(FOLDS + 1)])
    learnt = torch.from_numpy(use.astype(np.float32)).to(device)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        inputs = z[rows].expand(FOLDS + 1, -1, -1)
        error = (training.logits(tensors, inputs) - y[rows]) ** 2
        return (error * learnt[:, rows]).mean(1)

    best, best_tensors, best_predictions = -np.inf, tensors, np.zeros(len(problem.y))
    batches = ([torch.from_numpy(_batch(problem, rng)).to(device)] for _ in range(NETWORK_STEPS))
    for step, _ in enumerate(training.descend(adam, batches, loss), 1):
        if step % (NETWORK_STEPS // _CHECKS) == 0:
            predicted = _held(tensors, z, problem.fold)
            r2 = problem.r2(predicted)
            if r2 > best:
                best, best_predictions = r2, predicted
                best_tensors = {name: t.detach()[-1:].clone() for name, t in tensors.items()}
    return MemberFit(best_predictions, best, training.unstack(training.arrays(best_tensors))[0])


def _predict_network(arrays: MemberArrays, z: Float) -> Float:
    """Predictions (n,) at rows z (n, d)."""
    device = training.pick_device()
    tensors = training.tensors(training.stack([arrays]), device)
    inputs = torch.from_numpy(z.astype(np.float32)).to(device)
    with torch.inference_mode():
        parts = [
            training.logits(tensors, part.unsqueeze(0))[0] for part in torch.split(inputs, _ROWS)
        ]
        out: Float = torch.cat(parts).cpu().numpy().astype(np.float64)
    return out


def _batch(problem: WitnessRegression, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of a step, as many of p as of q."""
    n_p = int((problem.y > 0).sum())
    half = _BATCH // 2
    return np.concatenate([rng.integers(0, n_p, half), rng.integers(n_p, len(problem.y), half)])


def _held(tensors: Mapping[str, torch.Tensor], z: torch.Tensor, fold: NDArray[np.int64]) -> Float:
    """Predictions (n,) of each row by the network that did not learn from it."""
    out = np.empty(len(fold))
    with torch.no_grad():
        for index in range(FOLDS):
            rows = np.flatnonzero(fold == index)
            own = {name: tensor[index : index + 1] for name, tensor in tensors.items()}
            out[rows] = (
                training.logits(own, z[torch.from_numpy(rows)].unsqueeze(0))[0].cpu().numpy()
            )
    return out


# ---- The ensemble ----


_PULL = 0.1  # ridge of the stacking: alike members share a weight that noise would give to one
_LEAST = 0.02  # a smaller share of the ensemble is not worth the time of its predictions
_ALWAYS = 2  # members fitted whatever the time


class EnsembleMember(NamedTuple):
    """How one member is fitted, and what it predicts from its stored arrays."""

    fit: Callable[[WitnessRegression, np.random.Generator], MemberFit]
    predict: Callable[[MemberArrays, Float], Float]


MEMBERS: Mapping[str, EnsembleMember] = {
    "linear": EnsembleMember(_fit_linear_ridge, _predict_linear),
    "quadratic": EnsembleMember(fit_quadratic_ridge, _predict_quadratic),
    "neighbours": EnsembleMember(_fit_neighbours, _predict_neighbours),
    "kernel": EnsembleMember(_fit_kernel_ridge, _predict_kernel),
    "trees": EnsembleMember(_fit_boosted_trees, _predict_trees),
    "network": EnsembleMember(_fit_network, _predict_network),
}
"""The members, cheapest first."""


@dataclass(frozen=True, eq=False)
class TrainedEnsemble(StoredNetwork):
    """Members as plain arrays, their weights (of sum 1) and what each explains held out."""

    hoisted: ClassVar[str] = "members"

    members: Mapping[str, MemberArrays]
    """Arrays of those that have a weight."""
    spreads: Mapping[str, float]
    """Standard deviation of their held-out predictions: weights are of members of spread 1."""
    weights: Mapping[str, float]
    """Share of each member that was fitted, of sum 1."""
    r2: Mapping[str, float]
    """Held-out R2 of each, and of `ensemble`."""
    shift: Array  # (D + M,)
    scale: Array  # (D + M,)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out R2 of the ensemble; `weight NAME` and `r2 NAME` of each member."""
        return summarise_members(self.weights, self.r2)

    def at(self, beta: float = 0.0) -> _WeightedMembers:
        """The witness. A mixture has no initial parameters to go back to: beta changes nothing."""
        del beta
        return _WeightedMembers(self)

    @classmethod
    def read(cls, arrays: Arrays, **given: object) -> TrainedEnsemble:
        """What `arrays` gave, in the order of fitting: sums of floats depend on theirs."""
        trained = super().read(arrays, **given)
        members = {name: trained.members[name] for name in MEMBERS if name in trained.members}
        weights = {name: trained.weights[name] for name in MEMBERS if name in trained.weights}
        return replace(trained, members=members, weights=weights)


@dataclass(frozen=True, eq=False)
class _WeightedMembers:
    """The weighted sum of the members' predictions: high where a row looks like p."""

    trained: TrainedEnsemble

    def __call__(self, theta: Array, x: Array) -> Array:
        z = standardise_rows(theta, x, self.trained.shift, self.trained.scale)
        out = np.zeros(len(z))
        for name, arrays in self.trained.members.items():
            share = self.trained.weights[name] / self.trained.spreads[name]
            out += share * MEMBERS[name].predict(arrays, z)
        return out


def train_ensemble(
    rows: WitnessRows, seconds: float, seed: int, report: Report | None = None
) -> TrainedEnsemble:
    """Fit the members, none begun after `seconds` but the ridges, and stack them.

    At a budget that all members keep to the result depends on the rows and the seed alone.
    """
    start = time.perf_counter()
    shift, scale = robust_scaling(rows)
    regression = build_regression(rows, shift, scale, stream(seed, "folds"))
    fits: dict[str, MemberFit] = {}
    for i, (name, member) in enumerate(MEMBERS.items()):
        if i >= _ALWAYS and time.perf_counter() - start >= seconds:
            break
        fits[name] = member.fit(regression, stream(seed, "member", name))
        if report:
            report((i + 1) / len(MEMBERS), {f"r2 {name}": fits[name].r2})
    weights = stacking_weights(regression, {name: fit.held for name, fit in fits.items()})
    chosen = [name for name in fits if weights[name] > 0]
    spreads = {name: regression.spread(fits[name].held) or 1.0 for name in chosen}
    predictions = np.sum([weights[n] / spreads[n] * fits[n].held for n in chosen], axis=0)
    r2 = {name: fit.r2 for name, fit in fits.items()}
    return TrainedEnsemble(
        {name: fits[name].arrays for name in chosen},
        spreads,
        weights,
        {**r2, "ensemble": regression.r2(predictions)},
        shift,
        scale,
        time.perf_counter() - start,
        _device(fits),
    )


def stacking_weights(problem: WitnessRegression, held: Mapping[str, Float]) -> dict[str, float]:
    """Weights (of sum 1) of members brought to spread 1, none of them negative.

    Breiman (1996): least squares on held-out predictions, of which none may count against another.
    Where no member points the right way, the one that errs least is the witness.
    """
    names = list(held)
    spreads = np.array([problem.spread(held[name]) for name in names])
    # A member that says nothing is a column of zeros, which gets no weight.
    columns = np.stack(list(held.values()), axis=1) / np.where(spreads > 0, spreads, np.inf)
    weights = _least_squares(columns, problem)
    if weights.any():
        weights = _least_squares(np.where(weights < _LEAST * weights.sum(), 0.0, columns), problem)
    else:
        weights[int(np.argmax([problem.r2(held[name]) for name in names]))] = 1.0
    return dict(zip(names, map(float, weights / weights.sum()), strict=True))


def _least_squares(columns: Float, problem: WitnessRegression) -> Float:
    """Ridge regression of the labels on the columns, with coefficients that are not negative."""
    from scipy.optimize import nnls  # 20 MB that most diagnoses do without

    root = np.sqrt(problem.weight)
    centred = columns - problem.weight @ columns
    rows = np.concatenate([centred * root[:, None], np.sqrt(_PULL) * np.eye(columns.shape[1])])
    labels = np.concatenate([problem.y * root, np.zeros(columns.shape[1])])
    weights: Float = nnls(rows, labels)[0]
    return weights


def _device(fits: Mapping[str, MemberFit]) -> str:
    return training.pick_device() if "network" in fits else "cpu"
