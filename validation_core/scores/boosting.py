"""Gradient boosting of small symmetric trees: one question per level.

scikit-learn's histogram boosting takes 1.5 to 2.5 times as long at up to 2,000 rows (0.4 at
20,000), explains as much, and has no public arrays to store; its GradientBoostingRegressor, which
has them, takes 4 to 5 times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.scores.witness_rows import FOLDS, MemberArrays, MemberFit, WitnessRegression
from validation_core.types import Float, Integers

Codes = Integers
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


def fit_boosted_trees(problem: WitnessRegression, rng: np.random.Generator) -> MemberFit:
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


def predict_trees(arrays: MemberArrays, z: Float) -> Float:
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
    """Value of each tree at each row: (trees, n)."""
    out = np.empty((len(grown.leaf), len(codes)))
    for t, (column, cut, leaf) in enumerate(zip(*grown, strict=True)):
        bits = codes[:, column] > cut  # (n, depth)
        out[t] = leaf[bits @ (1 << np.arange(_DEPTH))]
    return out


def _grow(
    codes: Codes, y: Float, weight: Float, rng: np.random.Generator, count: int = _TREES
) -> _Grown:
    """Boosted trees: each takes a small step towards the residuals."""
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
    """The (column, cut) that, applied to all nodes at once, explains most."""
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
