"""Errors of each parameter by the ranks and z-scores of its true values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from validation_core import statistics
from validation_core.diagnosis.questions.base import LEVEL
from validation_core.diagnosis.questions.calibration.result import (
    CoverageRate,
    ParameterErrors,
    ShapeErrors,
)
from validation_core.methods import SBC
from validation_core.rng import stream
from validation_core.statistics import contraction, effects
from validation_core.text import SMALLEST
from validation_core.types import Array, Interval, PosteriorTable

_BLOCK = 500  # parameters worked out at a time: bounds what thousands of them take


def sbc_ranks(table: PosteriorTable, seed: int) -> Array:
    """Ranks (D, N) in (0, 1) of the true values among q's draws, ties broken as in SBC."""
    return statistics.randomised_ranks(*_counts(table), table.q.shape[1], _tie_breakers(seed))


def _counts(table: PosteriorTable) -> tuple[Array, Array]:
    """Draws below and equal to each true value (D, N)."""
    return statistics.count(table.theta.T, table.q.transpose(2, 0, 1))


def _tie_breakers(seed: int) -> np.random.Generator:
    """Those of SBC's own record, so that both tell of the same ranks."""
    return stream(seed, "diagnose", SBC().label)


def marginal_errors(table: PosteriorTable, seed: int) -> tuple[ParameterErrors, ...]:
    """Errors of each parameter, the worst first.

    Worst is what is off after Holm's correction, then by `severity`: the largest distance of a
    nominal rate from the exact interval of the true one, over the three central intervals and
    the half below q's median, on which a bias shows. It is negative where all lie inside.
    """
    below, equal = _counts(table)
    k = table.q.shape[1]
    u = statistics.randomised_ranks(below, equal, k, _tie_breakers(seed))
    outside = ((below == 0) & (equal == 0) | (below == k)).mean(-1)
    moments = contraction.moments(table.q)
    z = contraction.zscores(moments, table.theta).T
    contracted = contraction.contraction(moments, table.theta)
    wider = contraction.wider_pvalue(table.q, table.theta, stream(seed, "size", "pairs of truths"))
    errors: list[ParameterErrors] = []
    for start in range(0, len(u), _BLOCK):
        part = slice(start, start + _BLOCK)
        errors += _block(u[part], z[part], outside[part], k, start)
    adjusted = statistics.holm([parameter.pvalue for parameter in errors])
    complete = [
        replace(
            parameter,
            pvalue_adjusted=max(float(adjusted[i]), SMALLEST),
            constant=bool(np.ptp(table.theta[:, i]) == 0),
            contraction=Interval.of(*(end[i] for end in contracted)),
            wider_pvalue=float(wider[i]),
        )
        for i, parameter in enumerate(errors)
    ]
    return tuple(
        sorted(complete, key=lambda errors: (errors.pvalue_adjusted > LEVEL, -errors.severity))
    )


def _block(u: Array, z: Array, outside: Array, k: int, first: int) -> list[ParameterErrors]:
    """Errors of some parameters from ranks and z-scores (P, N)."""
    cover, half = effects.covered(u), effects.lower_half(u)
    pvalue = effects.off_pvalue(u)
    over = np.column_stack([effects.excess(cover, effects.LEVELS), effects.excess(half, 0.5)])
    sizes, shape = effects.sizes(u, z, k), effects.shape(u, k)
    z_rows = (~np.isnan(z)).sum(-1)
    mean, sd = _mean_sd(z)
    errors = []
    for i in range(len(u)):
        errors.append(
            ParameterErrors(
                pvalue=max(float(pvalue[i]), SMALLEST),
                severity=float(over[i].max()),
                coverage=tuple(
                    CoverageRate(
                        level, float(over[i, j]), Interval.of(*(end[i, j] for end in cover))
                    )
                    for j, level in enumerate(effects.LEVELS)
                ),
                below_median=Interval.of(*(end[i] for end in half)),
                bias=Interval.of(*(end[i] for end in sizes.bias)),
                ratio=Interval.of(*(end[i] for end in sizes.ratio)),
                by="moments" if sizes.by_moments[i] else "ranks",
                open=bool(sizes.open[i]),
                outside=float(outside[i]),
                outside_expected=2 / (k + 1),
                z_mean=_finite(mean[i]),
                z_sd=_finite(sd[i]),
                z_rows=int(z_rows[i]),
                index=first + i,
                shape=ShapeErrors(*(_finite(one[i]) for one in shape)),
            )
        )
    return errors


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else math.nan


def _mean_sd(z: Array) -> tuple[Array, Array]:
    """Over the rows that have a z-score; NaN where fewer than two have."""
    there = ~np.isnan(z)
    n = there.sum(-1)
    count = np.maximum(n, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(there, z, 0.0).sum(-1) / count
        sd = np.sqrt(np.where(there, (z - mean[:, None]) ** 2, 0.0).sum(-1) / (count - 1))
    return np.where(n >= 2, mean, np.nan), np.where(n >= 2, sd, np.nan)
