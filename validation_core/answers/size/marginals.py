"""Each parameter's sizes of error, from all rows: coverage, bias, width, contraction, z-score."""

from __future__ import annotations

from typing import Any

import numpy as np

from validation_core import statistics
from validation_core.diagnosis.records import SMALLEST
from validation_core.methods import SBC
from validation_core.rng import stream
from validation_core.statistics import contraction, effects
from validation_core.types import Array, Draws

ALPHA = 0.05
"""Level of "this parameter is off", corrected over parameters."""

MOST_OUTSIDE = 0.5
"""Share of truths outside all draws, beyond that of a right q, from which ranks are saturated."""

_BLOCK = 500  # parameters worked out at a time: bounds what thousands of them take

Numbers = dict[str, Any]


def marginals(table: Draws, seed: int) -> list[Numbers]:
    """Numbers of each parameter, the worst first.

    Worst is what is off after Holm's correction, then by `severity`: the largest distance of a
    nominal rate from the exact interval of the true one, over the three central intervals and
    the half below q's median, on which a bias shows. It is negative where all lie inside.
    """
    below, equal = statistics.count(table.theta.T, table.q.transpose(2, 0, 1))  # (D, N)
    k = table.q.shape[1]
    # The tie-breakers of SBC's own record, so that both tell of the same ranks.
    rng = stream(seed, "diagnose", SBC().label)
    u = statistics.randomised_ranks(below, equal, k, rng)
    outside = ((below == 0) & (equal == 0) | (below == k)).mean(-1)
    found = contraction.moments(table.q)
    z = contraction.zscores(found, table.theta).T
    shrunk = contraction.contraction(found, table.theta)
    numbers: list[Numbers] = []
    for start in range(0, len(u), _BLOCK):
        part = slice(start, start + _BLOCK)
        numbers += _block(u[part], z[part], outside[part], k)
    adjusted = np.maximum(statistics.holm([one["pvalue"] for one in numbers]), SMALLEST)
    for i, one in enumerate(numbers):
        one |= {
            "index": i,
            "pvalue_adjusted": float(adjusted[i]),
            "constant": bool(np.ptp(table.theta[:, i]) == 0),
            **_rate("contraction", effects.Rate(*(end[i] for end in shrunk))),
        }
    return sorted(numbers, key=lambda one: (one["pvalue_adjusted"] > ALPHA, -one["severity"]))


def _block(u: Array, z: Array, outside: Array, k: int) -> list[Numbers]:
    """Numbers of some parameters from ranks and z-scores (P, N)."""
    cover, half = effects.covered(u), effects.lower_half(u)
    pvalue = effects.off_pvalue(u)
    over = np.column_stack([effects.excess(cover, effects.LEVELS), effects.excess(half, 0.5)])
    by_rank, by_moments = effects.misfit(u, k), effects.by_moments(z, k)
    told = (~np.isnan(z)).sum(-1)
    mean, sd = _mean_sd(z)
    numbers = []
    for i in range(len(u)):
        saturated = bool(outside[i] - 2 / (k + 1) > MOST_OUTSIDE)
        moments = saturated and bool(np.isfinite(by_moments.ratio.estimate[i]))
        used = by_moments if moments else by_rank
        numbers.append({
            "pvalue": max(float(pvalue[i]), SMALLEST),
            "severity": float(over[i].max()),
            "coverage": [
                {"level": level, "excess": float(over[i, j]),
                 **_rate("covers", effects.Rate(*(end[i, j] for end in cover)))}
                for j, level in enumerate(effects.LEVELS)
            ],
            **_rate("below_median", effects.Rate(*(end[i] for end in half))),
            **_rate("bias", effects.Rate(*(end[i] for end in used.bias))),
            **_rate("ratio", effects.Rate(*(end[i] for end in used.ratio))),
            "by": "moments" if moments else "ranks",
            "saturated": saturated,
            "outside": float(outside[i]),
            "outside_expected": 2 / (k + 1),
            "z_mean": _number(mean[i]),
            "z_sd": _number(sd[i]),
            "z_rows": int(told[i]),
        })  # fmt: skip
    return numbers


def _mean_sd(z: Array) -> tuple[Array, Array]:
    """Over the rows that have a z-score; NaN where fewer than two have."""
    there = ~np.isnan(z)
    n = there.sum(-1)
    kept = np.maximum(n, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(there, z, 0.0).sum(-1) / kept
        sd = np.sqrt(np.where(there, (z - mean[:, None]) ** 2, 0.0).sum(-1) / (kept - 1))
    return np.where(n >= 2, mean, np.nan), np.where(n >= 2, sd, np.nan)


def _rate(name: str, rate: effects.Rate) -> Numbers:
    """An estimate and the ends of its interval, as JSON holds them."""
    ends = (name, f"{name}_low", f"{name}_high")
    return {end: _number(value) for end, value in zip(ends, rate, strict=True)}


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
