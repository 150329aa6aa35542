"""The law of a battery's largest statistic: the observed labelling among others.

Within a family the largest |z| counts; families are made comparable by an approximate -log p,
Bonferroni over an effective number and a share of the level. That only orders: the p-value is the
rank of the observed labelling's largest among those of B others, any of which is as likely if q is
right. Exact however the statistics depend on one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, log_ndtr, ndtri

from validation_core.relabelling.battery import Battery, Cell
from validation_core.relabelling.families import SHARES, SUMS
from validation_core.statistics.permutation import step_down
from validation_core.types import Array, Integers

_TINY = 1e-9
_USUAL = 0.99  # quantile of a sum of squares beyond which its size is not counted
_TAIL = 0.9  # quantile of the largest of a family by which families are compared


@dataclass(frozen=True, eq=False)
class LogPScale:
    """Scales that make the z of families comparable, as approximate -log p."""

    offset: NDArray[np.float64]
    """(C,) log of each cell's effective number, less that of its family's share of the level."""
    sums: Integers
    """Cells that are sums of squares."""
    unit: NDArray[np.float64]
    """c of each sum of squares, which is about c times chi-squared,"""
    freedom: NDArray[np.float64]
    """with so many degrees of freedom (Satterthwaite, 1946)."""

    def normal(self, z: Array) -> NDArray[np.float32]:
        """Statistics (..., C) with sums of squares as the |z| of equal probability."""
        out = np.array(z, np.float32)
        chance = gammaincc(self.freedom / 2, z[..., self.sums] / (2 * self.unit))
        out[..., self.sums] = -ndtri(np.clip(chance, 1e-300, 1.0) / 2)
        return out

    def minus_log_p(self, z: Array) -> NDArray[np.float32]:
        """Approximate -log p (..., C) of the output of `normal`, comparable over families."""
        return np.asarray(
            -(np.log(2) + log_ndtr(-np.asarray(z, np.float64)) + self.offset), np.float32
        )


def log_p_scale(z: Array, cells: Sequence[Cell]) -> LogPScale:
    """Effective numbers from the statistics (B, C) of labellings: symmetric in them.

    Of m independent normal |z|, the quantile of the largest at t has P(|Z| < quantile)^m = t. It
    is read in the tail: many statistics over few rows reach farther there than normal ones.
    """
    families = tuple(dict.fromkeys(cell.family for cell in cells))
    index = np.array([families.index(cell.family) for cell in cells])
    total = sum(SHARES[family] for family in families)
    sums = np.flatnonzero([cell.family in SUMS for cell in cells])
    # One labelling far beyond all others does not inform about their law.
    usual = np.minimum(z[:, sums], np.quantile(z[:, sums], _USUAL, axis=0)).astype(np.float64)
    mean, variance = (np.maximum(m, _TINY) for m in (usual.mean(axis=0), usual.var(axis=0)))
    comparable = LogPScale(
        np.zeros(len(cells)), sums, variance / (2 * mean), 2 * mean**2 / variance
    )
    z = comparable.normal(z)
    offset = np.zeros(len(families))
    for i, family in enumerate(families):
        high = max(float(np.quantile(z[:, index == i].max(axis=1), _TAIL)), 1e-3)
        tail = np.exp(np.log(2) + log_ndtr(-high))
        count = max(1.0, np.log(_TAIL) / np.log1p(-min(tail, 1 - 1e-12)))
        offset[i] = np.log(count) - np.log(SHARES[family] / total)
    return replace(comparable, offset=offset[index])


@dataclass(frozen=True, eq=False)
class CalibratedTest:
    """The observed labelling among B others."""

    z: Array
    """(C,) the largest |z| of each cell."""
    minus_log_p: Array
    """(C,) comparable -log p."""
    nulls: Array
    """(B, C) the same of each labelling."""
    adjusted: Array
    """(C,) p, adjusted for all cells."""
    scale: LogPScale

    @property
    def null(self) -> Array:
        """(B,) the largest -log p of each labelling."""
        return np.asarray(self.nulls.max(axis=1))

    @property
    def pvalue(self) -> float:
        """Exact p-value of the largest of all."""
        return float(self.adjusted.min())


def calibrated(
    every: Battery, count: int, rng: np.random.Generator, progress: Callable[[float], None]
) -> CalibratedTest:
    """The observed labelling against `count` others."""
    slots = every.pools.labellings(count, rng)
    observed = every.statistics(every.pools.observed[None])
    raw = np.concatenate([observed, every.statistics_in_pieces(slots, progress)])
    comparable = log_p_scale(raw, every.cells)
    z = comparable.normal(raw)
    minus_log_p = comparable.minus_log_p(z)
    adjusted = step_down(minus_log_p[0], minus_log_p[1:])
    return CalibratedTest(z[0], minus_log_p[0], minus_log_p[1:], adjusted, comparable)
