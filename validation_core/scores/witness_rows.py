"""Training rows of a witness, and the output of a member of the ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.learn.scaling import Standardizer, robust
from validation_core.types import Array, Float, Integers, Joint, PosteriorTable, TwoSamples

MemberArrays = Mapping[str, NDArray[Any]]  # floats, and the columns of a tree
FOLDS = 5
"""Parts in which the inner cross-validation cuts the training rows."""
FEWEST = 2 * FOLDS
"""Rows of p, and of q, below which a fold could not tell one witness from another."""
_CLIP = 10.0  # robust sds: heavy tails reach the members as "far out", not as 1e6
_TINY = 1e-10  # of labels +-1/2: a smaller spread is rounding
MOST_ROWS = 20_000  # rows of q that a table offers: bounds memory and time


@dataclass(frozen=True, eq=False)
class WitnessRows:
    """Training rows of p and of q; rows of one group share an x and never part between folds."""

    p: Joint
    q: Joint
    group_p: Integers  # (n_p,)
    group_q: Integers  # (n_q,)


@dataclass(frozen=True, eq=False)
class WitnessRegression:
    """A regression: z (n, d) in robust sds, y (n,) = +-1/2, weight (n,) of sum 1, fold (n,)."""

    z: Float
    y: Float
    weight: Float
    fold: Integers

    def r2(self, predicted: Array) -> float:
        """Share of the labels' variance that predictions explain at their best scale.

        Negative where they point the wrong way. It grows with the signal-to-noise ratio (Kuebler
        et al., Section 3), and so with the power; squared error at the predictions' own scale
        would prefer a member that says nothing to one that is right but too loud.
        """
        slope = (self.weight * self.y * predicted).sum()
        variance = self.spread(predicted) ** 2
        return float(4 * slope * abs(slope) / variance) if variance > 0 else 0.0

    def spread(self, predicted: Array) -> float:
        """Standard deviation of predictions; 0 for constants, whatever rounding leaves of them."""
        centred = predicted - (self.weight * predicted).sum()
        sd = float(np.sqrt((self.weight * centred**2).sum()))
        return sd if sd > _TINY else 0.0


class MemberFit(NamedTuple):
    """One member: its held-out predictions, and its model as arrays."""

    held: NDArray[np.float64]
    """(n,) predictions of each row by the model of the other folds."""
    r2: float
    """Share of the labels' variance that they explain, at their best scale."""
    arrays: MemberArrays
    """The model of all rows."""


def rows_of_blocks(blocks: TwoSamples) -> WitnessRows:
    """Rows of two independent samples: each its own group.

    Raises:
        ValueError: when a sample has too few rows for the inner folds.
    """
    n_p, n_q = len(blocks.p), len(blocks.q)
    if min(n_p, n_q) < FEWEST:
        raise ValueError(
            f"A witness learns from at least {FEWEST} rows of p and of q, which its "
            f"{FOLDS} inner folds share; got {n_p} and {n_q}. Bring more."
        )
    groups = np.arange(n_p + n_q)
    return WitnessRows(blocks.p, blocks.q, groups[:n_p], groups[n_p:])


def rows_of_table(draws: PosteriorTable) -> WitnessRows:
    """A table's rows: the truths, and all draws of q (fewer of each x in very long tables).

    Learning may share x between the classes; a fold held out shares none with those learnt from.

    Raises:
        ValueError: when there are too few simulations for the inner folds.
    """
    n, k, d = draws.q.shape
    if n < FEWEST:
        raise ValueError(
            f"A witness learns from at least {FEWEST} simulations, which its {FOLDS} inner "
            f"folds share; got {n}. Bring more."
        )
    count = min(k, max(1, MOST_ROWS // n))
    groups = np.arange(n)
    return WitnessRows(
        p=Joint(draws.theta, draws.x),
        q=Joint(draws.q[:, :count].reshape(-1, d), np.repeat(draws.x, count, axis=0)),
        group_p=groups,
        group_q=np.repeat(groups, count),
    )


def build_regression(
    rows: WitnessRows, shift: Array, scale: Array, rng: np.random.Generator
) -> WitnessRegression:
    """The regression of these rows; `rng` deals the groups into folds."""
    z = np.concatenate(
        [standardise_rows(part.theta, part.x, shift, scale) for part in (rows.p, rows.q)]
    )
    n_p, n_q = len(rows.p), len(rows.q)
    y = np.repeat([0.5, -0.5], [n_p, n_q])
    # Kuebler et al., Section 3.2: weights that make the classes count alike.
    weight = np.repeat([0.5 / n_p, 0.5 / n_q], [n_p, n_q])
    return WitnessRegression(z, y, weight, _folds(rows, rng))


def _folds(rows: WitnessRows, rng: np.random.Generator) -> Integers:
    """Fold (n,) of each row: as many groups of p in every fold, and as many of q's own."""
    fold = np.empty(1 + max(int(rows.group_p.max()), int(rows.group_q.max())), dtype=np.int64)
    for groups in (rows.group_p, np.setdiff1d(rows.group_q, rows.group_p)):
        fold[groups] = rng.permutation(np.arange(len(groups)) % FOLDS)
    return np.concatenate([fold[rows.group_p], fold[rows.group_q]])


def robust_scaling(rows: WitnessRows) -> tuple[Array, Array]:
    """Median and robust sd of the columns.

    Raises:
        ValueError: when a number is missing or infinite.
    """
    # A table's q rows come many to an x: a stride takes every x, as p does.
    stride = max(1, len(rows.q) // len(rows.p))
    pooled = np.concatenate([_joined(rows.p), _joined(rows.q)[::stride]])
    bad = ~np.isfinite(pooled).all(axis=1)
    if bad.any():
        raise ValueError(
            f"A witness learns from finite numbers; got NaN or infinity in {int(bad.sum())} of "
            f"{len(pooled)} rows. Drop these rows."
        )
    return robust(pooled, by_sd=False)


def standardise_rows(theta: Array, x: Array, shift: Array, scale: Array) -> Float:
    """Inputs z (n, D + M) of the members: robustly standardised and clipped."""
    z = np.concatenate([theta, x], axis=1, dtype=np.float64)
    return Standardizer(shift, scale, _CLIP)(z)


def _joined(joint: Joint) -> Array:
    return np.concatenate([joint.theta, joint.x], axis=1)


def summarise_members(
    weights: Mapping[str, float], r2: Mapping[str, float]
) -> Mapping[str, float]:
    """`r2` of the whole; `weight NAME` and `r2 NAME` of each member."""
    numbers = {"r2": r2["ensemble"]}
    for name in weights:
        numbers |= {f"weight {name}": weights[name], f"r2 {name}": r2[name]}
    return numbers
