"""Sizes of error of q as a whole: highest-density regions and the symmetric divergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from validation_core.diagnosis.records import SMALLEST
from validation_core.rng import stream
from validation_core.statistics import divergence as nats
from validation_core.statistics import effects, hpd
from validation_core.types import Array

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


def by_densities(
    densities: Mapping[str, Array], seed: int
) -> tuple[Numbers | None, dict[str, Array]]:
    """The symmetric divergence, where log p(theta, x) and log q(theta | x) are at hand."""
    names = ("log_joint", "log_joint_draws", "log_q", "log_q_draws")
    if not set(names) <= densities.keys():
        return None, {}
    d = nats.differences(*(densities[name] for name in names))
    if np.isfinite(d).sum() < 2:
        return None, {}
    return told(d, seed, source="densities")


def told(d: Array, seed: int, **more: Any) -> tuple[Numbers, dict[str, Array]]:
    """Numbers of a divergence from its terms d (n,), and bars of their histogram."""
    found = nats.divergence(d, stream(seed, "size", "divergence"))
    tail = found.tail if np.isfinite(found.tail) else None
    numbers = {**found._asdict(), "tail": tail, "heavy": found.heavy, "rows": int(d.size), **more}
    edges, counts, beyond = _bars(d[np.isfinite(d)])
    return {**numbers, "beyond": beyond}, {"d_edges": edges, "d_counts": counts}


def _bars(d: Array) -> tuple[Array, Array, int]:
    """Edges, counts, and how many of the most extreme stand in the bars at the ends."""
    low, high = np.quantile(d, [0.005, 0.995])
    if not high > low:
        low, high = float(d.min()) - 0.5, float(d.max()) + 0.5
    edges = np.linspace(low, high, _BARS + 1)
    counts, _ = np.histogram(np.clip(d, low, high), edges)
    return edges, counts.astype(np.float64), int(((d < low) | (d > high)).sum())
