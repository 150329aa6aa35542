"""Proper scores of each row of a table, and the studies that work them out.

The energy score and the continuous ranked probability score are proper (Gneiting, Raftery 2007,
Section 4): their mean is least for the true posterior, whatever the draws look like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core.diagnosis.questions.base import TableStudy
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.tables.draw_order import draws_at, random_columns
from validation_core.tables.weights import shares
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

NUMBERS_AT_ONCE = 2_000_000  # numbers of draws read at a time
_TINY = np.finfo(float).tiny  # pairs of draws without weight divide by it, not by 0
_LAGS = 100  # places between weighted draws whose pairs are read: few would leave a bias


class RowScores(NamedTuple):
    """Proper scores of each row: lower is nearer to the true posterior."""

    energy: Array
    """(N,)."""
    crps: Array
    """Continuous ranked probability score of each parameter (N, D)."""


@dataclass(frozen=True, kw_only=True)
class _RowScoreStudy(TableStudy[RowScores], spec="posteriors"):
    """How well q's draws predict the true value of each row, by proper scores."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Scores of each row"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> RowScores:
        del store
        return row_scores(upload.as_came)


@dataclass(frozen=True, kw_only=True)
class _WeightedScoreStudy(TableStudy[RowScores], spec="posteriors of weighted draws"):
    """The same of draws that count by their weights, as they came."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Scores of each row"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> RowScores:
        del store
        assert upload.weighting is not None, "asked of weighted draws alone"
        return row_scores(upload.as_came, upload.weighting.arrays["log_w_draws"])


def studies(
    upload: Upload, seed: int = 0
) -> tuple[_RowScoreStudy, ...] | tuple[_WeightedScoreStudy, ...]:
    """The scores of a table's rows, where it has two draws at each x."""
    if upload.drawn[0] < 2:
        return ()
    if is_weighted(upload):
        return (_WeightedScoreStudy(digest=upload.digest, seed=seed),)
    return (_RowScoreStudy(digest=upload.digest, seed=seed),)


def is_weighted(upload: Upload) -> bool:
    """Whether a table's draws count by weights."""
    return isinstance(upload, TableUpload) and upload.weighting is not None


def row_scores(draws: PosteriorTable, log_w: Array | None = None) -> RowScores:
    """Energy score and continuous ranked probability score of each row.

    Parameters are measured in standard deviations of the truths. Both are unbiased at any K: the
    spread of q is estimated from pairs of distinct draws, picked at random: in what order they
    came does not matter. Weighted draws count by their weights
    w_k of sum 1, pairs by w_k w_l; these are ratios of means, whose bias falls with the number
    of effective draws (prior draws with 15 effective ones: less than .5% of the score).

    Args:
        draws: the table.
        log_w: log weights of its draws (N, K), up to one number at each x; None for equal ones.

    Raises:
        ValueError: for fewer than two draws at each x.
    """
    n, k, d = draws.q.shape
    if k < 2:
        raise ValueError(
            f"A proper score needs at least two draws of q at each x, to know q's spread; got "
            f"{k}. Upload more draws."
        )
    scale = np.asarray(draws.theta.std(0), dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    energy, crps = np.empty(n), np.empty((n, d))
    step, rng = max(1, NUMBERS_AT_ONCE // (k * d)), stream(0, "posteriors", "pairs")
    for part in slices(n, step):
        weight = np.full((1, k), 1 / k) if log_w is None else shares(log_w[part]) + _TINY
        q = np.asarray(draws.q[part], dtype=np.float64) / scale
        off = q - (np.asarray(draws.theta[part], dtype=np.float64) / scale)[:, None]
        near = (weight * np.linalg.norm(off, axis=-1)).sum(-1)
        columns = random_columns(len(q), k, k, rng)
        shuffled = np.take_along_axis(np.broadcast_to(weight, columns.shape), columns, axis=1)
        lags = 1 if log_w is None else _LAGS
        energy[part] = near - _distance_apart(draws_at(q, columns), shuffled, lags) / 2
        crps[part] = (weight[..., None] * np.abs(off)).sum(1) - _half_spread(q, weight)
    return RowScores(energy, crps)


def _distance_apart(q: Array, weight: Array, lags: int) -> Array:
    """Mean distance (n,) between two different draws (n, K, D) in no order, from pairs a few
    places apart.

    Neighbours, K - 1 of the K (K - 1) / 2 pairs, serve where draws count equally: no matrix of
    all pairs is held.
    """
    most = max(1, q.shape[1] // 2)
    total, weights = np.zeros(len(q)), np.zeros(len(q))
    for lag in np.unique(np.linspace(1, most, min(lags, most)).astype(int)):
        both = weight[:, lag:] * weight[:, :-lag]
        total += (both * np.linalg.norm(q[:, lag:] - q[:, :-lag], axis=-1)).sum(-1)
        weights += both.sum(-1)
    return total / weights


def _half_spread(q: Array, weight: Array) -> Array:
    """Half of the mean distance (n, D) between two different draws (n, K, D) by weight."""
    order = np.argsort(q, axis=1)
    w = np.take_along_axis(np.broadcast_to(weight[..., None], q.shape), order, axis=1)
    below = np.cumsum(w, axis=1)
    signed = w * (2 * below - w - 1)  # the weight below a draw, less that above it
    pairs = 1 - np.square(weight).sum(-1, keepdims=True)
    return np.asarray((signed * np.take_along_axis(q, order, axis=1)).sum(1) / pairs)
