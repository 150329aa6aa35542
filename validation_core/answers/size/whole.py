"""Sizes of error of q as a whole: highest-density regions and the symmetric divergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from validation_core.diagnosis import ratios
from validation_core.diagnosis.records import SMALLEST
from validation_core.methods import SKL
from validation_core.rng import stream
from validation_core.simulations import MS
from validation_core.statistics import divergence as nats
from validation_core.statistics import effects, hpd
from validation_core.types import Array
from validation_core.uploads import Upload

_BARS = 40

Numbers = dict[str, Any]


def regions(densities: Mapping[str, Array], seed: int) -> tuple[Numbers | None, dict[str, Array]]:
    """Expected coverage of q's highest-density regions, where log q is at hand."""
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return None, {}
    log_q, draws = (np.asarray(densities[name]) for name in ("log_q", "log_q_draws"))
    kept = ~(np.isnan(log_q) | np.isnan(draws).any(-1))
    if kept.sum() < 2:
        return None, {}
    log_q, draws = (log_q, draws) if kept.all() else (log_q[kept], draws[kept])
    found = hpd.regions(log_q, draws, stream(seed, "size", "regions"))
    rates = zip(effects.LEVELS, *found.rates, strict=True)
    return {
        "coverage": [
            {"level": level, "covers": float(rate), "covers_low": float(low),
             "covers_high": float(high)}
            for level, rate, low, high in rates
        ],
        "area": float(found.area.estimate),
        "area_low": float(found.area.low),
        "area_high": float(found.area.high),
        "pvalue": max(found.pvalue, SMALLEST),
        "rows": int(kept.sum()),
        "nan_rows": int((~kept).sum()),
    }, {"regions": np.stack(hpd.curve(found.needed))}  # fmt: skip


def by_densities(upload: Upload, seed: int) -> tuple[Numbers | None, dict[str, Array]]:
    """The symmetric divergence, where log p(theta, x) and log q(theta | x) are at hand.

    Where they are, the numbers are those of the record of `methods.SKL`, p-value included; then
    what is left of it when M draws of q are weighed by p / q.
    """
    found = ratios.ratios(upload.densities)
    if found is None or ratios.obstacle(upload) is not None:
        return None, {}
    method = SKL()
    outcome = method.test(found, stream(seed, "diagnose", method.label))
    truth, draws = found.truth[0], found.draws[0]
    kept = ratios.finite(found)
    with np.errstate(invalid="ignore"):
        d = truth - draws.mean(-1)
    read = {name: float(one) for name, one in outcome.arrays.items() if np.ndim(one) == 0}
    numbers = {
        "estimate": read.pop("skl"), "low": read.pop("ci_low"), "high": read.pop("ci_high"),
        **read, **outcome.effect, "tail": outcome.effect.get("tail"), "rows": int(d.size),
        "sd": float(d[kept].std(ddof=1)), "positive": float((d[kept] > 0).mean()),
        "pvalue": float(outcome.pvalue), "relabelings": method.relabelings,
        "weighted": _weighted(truth[kept], draws[kept]), "source": "densities",
    }  # fmt: skip
    bars = _drawn(d[kept])
    null, counts = _null(np.append(outcome.arrays["null"], outcome.statistic))
    return {**numbers, "beyond": bars.beyond}, {
        "d_edges": bars.edges, "d_counts": bars.counts, "d_null_edges": null,
        "d_null_counts": counts,
    }  # fmt: skip


def _weighted(truth: Array, draws: Array) -> list[Numbers]:
    """The divergence left with M > 1 draws of q weighed, for the M that the draws allow."""
    most = (draws.shape[-1] + 1) // 2
    found = []
    for m in (m for m in MS if 1 < m <= most):
        mean, low, high = nats.means(nats.weighted(truth, draws, m))
        found.append({"m": m, "estimate": float(mean), "low": float(low), "high": float(high)})
    return found


def told(d: Array, seed: int, **more: Any) -> tuple[Numbers, dict[str, Array]]:
    """Numbers of a divergence from its terms d (n,), and bars of their histogram."""
    found = nats.divergence(d, stream(seed, "size", "divergence"))
    tail = found.tail if np.isfinite(found.tail) else None
    numbers = {**found._asdict(), "tail": tail, "heavy": found.heavy, "rows": int(d.size), **more}
    bars = _drawn(d[np.isfinite(d)])
    return {**numbers, "beyond": bars.beyond}, {"d_edges": bars.edges, "d_counts": bars.counts}


def _null(values: Array) -> tuple[Array, Array]:
    """Edges and counts of relabelled means, with room for the observed one, the last."""
    low, high = float(values.min()), float(values.max())
    pad = 0.03 * (high - low) or 0.5
    counts, edges = np.histogram(values[:-1], _BARS, (low - pad, high + pad))
    return edges, counts.astype(np.float64)


class _Bars(NamedTuple):
    edges: Array
    counts: Array
    beyond: int
    """Extreme terms that stand in the bars at the ends."""


def _drawn(d: Array) -> _Bars:
    low, high = np.quantile(d, [0.005, 0.995])
    if not high > low:
        low, high = float(d.min()) - 0.5, float(d.max()) + 0.5
    edges = np.linspace(low, high, _BARS + 1)
    counts, _ = np.histogram(np.clip(d, low, high), edges)
    return _Bars(edges, counts.astype(np.float64), int(((d < low) | (d > high)).sum()))
