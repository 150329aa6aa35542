"""Sizes of q's errors: of each parameter by its ranks and moments, and of q as a whole.

A parameter's are coverage, bias, width, contraction and z-score, from all rows; the whole's are
its highest-density regions and the symmetric divergence, where log densities are at hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.diagnosis.questions.base import Interval
from validation_core.diagnosis.records import SMALLEST
from validation_core.methods import SBC, SKL
from validation_core.rng import stream
from validation_core.scores import ratio
from validation_core.simulations import MS
from validation_core.statistics import coverage, effects
from validation_core.statistics import divergence as nats
from validation_core.tables import Upload
from validation_core.types import Array, PosteriorTable

ALPHA = 0.05
"""Level of "this parameter is off", corrected over parameters."""

MOST_OUTSIDE = 0.5
"""Share of truths outside all draws, beyond that of a right q, from which ranks are saturated."""

_BLOCK = 500  # parameters worked out at a time: bounds what thousands of them take
_BARS = 40


@dataclass(frozen=True)
class CoverageRate:
    """How often a central interval of q holds the truth."""

    level: float
    """Nominal mass of the interval."""
    excess: float
    """Distance of the level from the exact interval of the true rate; negative inside it."""
    covers: Interval


@dataclass(frozen=True)
class ParameterErrors:
    """How wrong q is in one parameter; intervals and means are NaN where they cannot be told."""

    pvalue: float
    severity: float
    """The largest `excess` over the intervals and the half below q's median."""
    coverage: tuple[CoverageRate, ...]
    below_median: Interval
    """Share of truths below q's median."""
    bias: Interval
    """In q's own posterior sd; positive where q sits too high."""
    ratio: Interval
    """q's width by the width it needs; below 1 it is over-confident."""
    by: Literal["moments", "ranks"]
    """What bias and width are told by."""
    saturated: bool
    """Whether so many truths lie outside all draws that ranks say little."""
    outside: float
    outside_expected: float
    z_mean: float
    z_sd: float
    z_rows: int
    index: int
    pvalue_adjusted: float = 1.0
    """By Holm over the parameters."""
    constant: bool = False
    contraction: Interval = Interval(math.nan, math.nan, math.nan)  # noqa: RUF009
    """1 - posterior variance / prior variance."""


@dataclass(frozen=True)
class RegionRate:
    """How often a highest-density region of q holds the truth."""

    level: float
    covers: Interval


@dataclass(frozen=True, eq=False)
class Regions:
    """Expected coverage of q's highest-density regions."""

    coverage: tuple[RegionRate, ...]
    area: Interval
    """Between coverage and level."""
    pvalue: float
    rows: int
    nan_rows: int
    """Rows without a log q, which are left out."""
    curve: Array
    """Levels, coverage and the ends of its 95% band (4, L)."""


class Bars(NamedTuple):
    """A histogram: edges (B + 1,), counts (B,)."""

    edges: Array
    counts: Array


@dataclass(frozen=True)
class Weighted:
    """The divergence left when m draws of q are weighed by p / q, in nats."""

    m: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class DensityDivergence:
    """The symmetric divergence by log densities, in nats: the numbers of the record of `SKL`."""

    estimate: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    median: float
    largest: float
    auc: float
    auc_low: float
    auc_high: float
    k: int
    draws: int
    infinite: int
    heavy: bool
    tail: float | None
    rows: int
    sd: float
    positive: float
    pvalue: float
    relabelings: int
    weighted: tuple[Weighted, ...]
    source: Literal["densities"]
    beyond: int
    """Extreme terms that stand in the bars at the ends."""
    bars: Bars
    """Of its terms."""
    null: Bars
    """Of the means of relabelled tables."""


@dataclass(frozen=True, eq=False)
class LearnedDivergence:
    """The symmetric divergence as far as a classifier sees it, in nats."""

    estimate: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    sd: float
    median: float
    largest: float
    positive: float
    tail: float | None
    infinite: int
    heavy: bool
    rows: int
    source: Literal["classifier"]
    slope: float
    """What logits were multiplied by, so that they are log ratios."""
    auc: float
    draws: int
    beyond: int
    """Extreme terms that stand in the bars at the ends."""
    bars: Bars
    """Of its terms."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """How wrong q is, as far as it has been worked out."""

    n: int = 0
    k: int = 0
    parameters: tuple[ParameterErrors, ...] = ()
    """The worst first."""
    regions: Regions | None = None
    divergence: DensityDivergence | LearnedDivergence | None = None
    """By densities where they are there, else as far as the classifier sees."""
    estimate: LearnedDivergence | None = None
    """The classifier's, beside that of the densities."""


def marginals(table: PosteriorTable, seed: int) -> tuple[ParameterErrors, ...]:
    """Errors of each parameter, the worst first.

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
    moments = effects.moments(table.q)
    z = effects.zscores(moments, table.theta).T
    contracted = effects.contraction(moments, table.theta)
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
        )
        for i, parameter in enumerate(errors)
    ]
    return tuple(
        sorted(complete, key=lambda errors: (errors.pvalue_adjusted > ALPHA, -errors.severity))
    )


def _block(u: Array, z: Array, outside: Array, k: int, first: int) -> list[ParameterErrors]:
    """Errors of some parameters from ranks and z-scores (P, N)."""
    cover, half = effects.covered(u), effects.lower_half(u)
    pvalue = effects.off_pvalue(u)
    over = np.column_stack([effects.excess(cover, effects.LEVELS), effects.excess(half, 0.5)])
    by_rank, by_moments = effects.misfit(u, k), effects.by_moments(z, k)
    z_rows = (~np.isnan(z)).sum(-1)
    mean, sd = _mean_sd(z)
    errors = []
    for i in range(len(u)):
        saturated = bool(outside[i] - 2 / (k + 1) > MOST_OUTSIDE)
        moments = saturated and bool(np.isfinite(by_moments.ratio.estimate[i]))
        used = by_moments if moments else by_rank
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
                bias=Interval.of(*(end[i] for end in used.bias)),
                ratio=Interval.of(*(end[i] for end in used.ratio)),
                by="moments" if moments else "ranks",
                saturated=saturated,
                outside=float(outside[i]),
                outside_expected=2 / (k + 1),
                z_mean=_finite(mean[i]),
                z_sd=_finite(sd[i]),
                z_rows=int(z_rows[i]),
                index=first + i,
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


def regions(densities: Mapping[str, Array], seed: int) -> Regions | None:
    """Expected coverage of q's highest-density regions, where log q is at hand."""
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return None
    log_q, draws = (np.asarray(densities[name]) for name in ("log_q", "log_q_draws"))
    mask = ~(np.isnan(log_q) | np.isnan(draws).any(-1))
    if mask.sum() < 2:
        return None
    log_q, draws = (log_q, draws) if mask.all() else (log_q[mask], draws[mask])
    expected = coverage.regions(log_q, draws, stream(seed, "size", "regions"))
    rates = zip(effects.LEVELS, *expected.rates, strict=True)
    return Regions(
        coverage=tuple(RegionRate(level, Interval.of(*ends)) for level, *ends in rates),
        area=Interval.of(*map(float, expected.area)),
        pvalue=max(expected.pvalue, SMALLEST),
        rows=int(mask.sum()),
        nan_rows=int((~mask).sum()),
        curve=np.stack(coverage.curve(expected.needed)),
    )


def by_densities(upload: Upload, seed: int) -> DensityDivergence | None:
    """The symmetric divergence, where log p(theta, x) and log q(theta | x) are at hand.

    Where they are, the numbers are those of the record of `methods.SKL`, p-value included; then
    what is left of it when M draws of q are weighed by p / q.
    """
    log_ratios = ratio.of_densities(upload.densities)
    if log_ratios is None or ratio.obstacle(upload) is not None:
        return None
    method = SKL()
    outcome = method.test(log_ratios, stream(seed, "diagnose", method.label))
    truth, draws = log_ratios.truth[0], log_ratios.draws[0]
    finite = ratio.finite(log_ratios)
    with np.errstate(invalid="ignore"):
        d = truth - draws.mean(-1)
    bars, beyond = _bars(d[finite])
    single = {name: array for name, array in outcome.arrays.items() if array.ndim == 0}
    number = {
        name: np.asarray(value).item() for name, value in {**single, **outcome.effect}.items()
    }
    return DensityDivergence(
        estimate=float(number["skl"]),
        low=float(number["ci_low"]),
        high=float(number["ci_high"]),
        boot_low=float(number["boot_low"]),
        boot_high=float(number["boot_high"]),
        median=float(number["median"]),
        largest=float(number["largest"]),
        auc=float(number["auc"]),
        auc_low=float(number["auc_low"]),
        auc_high=float(number["auc_high"]),
        k=int(number["k"]),
        draws=int(number["draws"]),
        infinite=int(number["infinite"]),
        heavy=bool(number["heavy"]),
        tail=number.get("tail"),
        rows=int(d.size),
        sd=float(d[finite].std(ddof=1)),
        positive=float((d[finite] > 0).mean()),
        pvalue=float(outcome.pvalue),
        relabelings=method.relabelings,
        weighted=_weighted(truth[finite], draws[finite]),
        source="densities",
        beyond=beyond,
        bars=bars,
        null=_null(np.append(outcome.arrays["null"], outcome.statistic)),
    )


def _weighted(truth: Array, draws: Array) -> tuple[Weighted, ...]:
    """The divergence left with M > 1 draws of q weighed, for the M that the draws allow."""
    most = (draws.shape[-1] + 1) // 2
    return tuple(
        Weighted(m, *map(float, nats.means(nats.weighted(truth, draws, m))))
        for m in MS
        if 1 < m <= most
    )


def by_classifier(
    d: Array, seed: int, *, slope: float, auc: float, draws: int
) -> LearnedDivergence:
    """The divergence from its terms d (n,), calibrated logits of a classifier with that AUC."""
    divergence = nats.divergence(d, stream(seed, "size", "divergence"))
    bars, beyond = _bars(d[np.isfinite(d)])
    numbers = {
        **divergence._asdict(),
        "low": float(divergence.low),
        "high": float(divergence.high),
    }
    return LearnedDivergence(
        **{**numbers, "tail": divergence.tail if np.isfinite(divergence.tail) else None},
        heavy=divergence.heavy,
        rows=int(d.size),
        source="classifier",
        slope=slope,
        auc=auc,
        draws=draws,
        beyond=beyond,
        bars=bars,
    )


def _null(values: Array) -> Bars:
    """Relabelled means, with room for the observed one, the last."""
    low, high = float(values.min()), float(values.max())
    pad = 0.03 * (high - low) or 0.5
    counts, edges = np.histogram(values[:-1], _BARS, (low - pad, high + pad))
    return Bars(edges, counts.astype(np.float64))


def _bars(d: Array) -> tuple[Bars, int]:
    """A histogram of terms, and how many extreme ones stand in the bars at the ends."""
    low, high = np.quantile(d, [0.005, 0.995])
    if not high > low:
        low, high = float(d.min()) - 0.5, float(d.max()) + 0.5
    edges = np.linspace(low, high, _BARS + 1)
    counts, _ = np.histogram(np.clip(d, low, high), edges)
    return Bars(edges, counts.astype(np.float64)), int(((d < low) | (d > high)).sum())
