"""Errors of q as a whole: coverage of highest-density regions, and the symmetric divergence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation_core.diagnosis.questions.calibration.result import (
    DensityDivergence,
    DensityRegions,
    Histogram,
    LearnedDivergence,
    RegionRate,
    WeightedDivergence,
)
from validation_core.methods import SKL
from validation_core.rng import stream
from validation_core.scores import log_ratio
from validation_core.statistics import divergence_mean, divergence_rows, effects, region_coverage
from validation_core.tables import Upload
from validation_core.text import SMALLEST
from validation_core.types import Array, Interval

_BARS = 40


def density_regions(densities: Mapping[str, Array], seed: int) -> DensityRegions | None:
    """Expected coverage of q's highest-density regions, where log q is at hand."""
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return None
    log_q, draws = (np.asarray(densities[name]) for name in ("log_q", "log_q_draws"))
    mask = ~(np.isnan(log_q) | np.isnan(draws).any(-1))
    if mask.sum() < 2:
        return None
    log_q, draws = (log_q, draws) if mask.all() else (log_q[mask], draws[mask])
    expected = region_coverage.regions(log_q, draws, stream(seed, "size", "regions"))
    rates = zip(effects.LEVELS, *expected.rates, strict=True)
    return DensityRegions(
        coverage=tuple(RegionRate(level, Interval.of(*ends)) for level, *ends in rates),
        area=Interval.of(*map(float, expected.area)),
        pvalue=max(expected.pvalue, SMALLEST),
        rows=int(mask.sum()),
        nan_rows=int((~mask).sum()),
        curve=np.stack(region_coverage.curve(expected.needed)),
    )


def divergence_by_densities(upload: Upload, seed: int) -> DensityDivergence | None:
    """The symmetric divergence, where log p(theta, x) and log q(theta | x) are at hand.

    Where they are, the numbers are those of the record of `methods.SKL`, p-value included; then
    what is left of it when M draws of q are weighed by p / q.
    """
    log_ratios = log_ratio.of_densities(upload.densities)
    if log_ratios is None or log_ratio.obstacle(upload) is not None:
        return None
    method = SKL()
    outcome = method.test(log_ratios, stream(seed, "diagnose", method.label))
    truth, draws = log_ratios.truth[0], log_ratios.draws[0]
    finite = log_ratio.finite(log_ratios)
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


def _weighted(truth: Array, draws: Array) -> tuple[WeightedDivergence, ...]:
    """The divergence left with M > 1 draws of q weighed, for the M that the draws allow."""
    from validation_core.symmetric_divergence import MS

    most = (draws.shape[-1] + 1) // 2
    return tuple(
        WeightedDivergence(
            m, *map(float, divergence_mean.means(divergence_rows.weighted(truth, draws, m)))
        )
        for m in MS
        if 1 < m <= most
    )


def divergence_by_classifier(
    d: Array, seed: int, *, slope: float, auc: float, draws: int
) -> LearnedDivergence:
    """The divergence from its terms d (n,), calibrated logits of a classifier with that AUC."""
    divergence = divergence_mean.divergence(d, stream(seed, "size", "divergence"))
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


def _null(values: Array) -> Histogram:
    """Relabelled means, with room for the observed one, the last."""
    low, high = float(values.min()), float(values.max())
    pad = 0.03 * (high - low) or 0.5
    counts, edges = np.histogram(values[:-1], _BARS, (low - pad, high + pad))
    return Histogram(edges, counts.astype(np.float64))


def _bars(d: Array) -> tuple[Histogram, int]:
    """A histogram of terms, and how many extreme ones stand in the bars at the ends."""
    low, high = np.quantile(d, [0.005, 0.995])
    if not high > low:
        low, high = float(d.min()) - 0.5, float(d.max()) + 0.5
    edges = np.linspace(low, high, _BARS + 1)
    counts, _ = np.histogram(np.clip(d, low, high), edges)
    return Histogram(edges, counts.astype(np.float64)), int(((d < low) | (d > high)).sum())
