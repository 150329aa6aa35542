"""Symmetric divergence: log p - log q at the truth less that at q's draws, within each x."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core.statistics import divergence as nats
from validation_core.types import (
    Array,
    Budget,
    Layout,
    Outcome,
    Paper,
    Reads,
    Scores,
    TableScores,
)

_MOST = 100_000  # relabelings
_KEPT = 10_000
"""Rows whose d an outcome keeps for its histogram: bounds what a record of a large table holds."""


@dataclass(frozen=True, kw_only=True)
class SKL:
    """KL(p || q) + KL(q || p), averaged over x, in nats, and an exact test that it is 0.

    The score is log p(theta, x) - log q(theta | x), up to anything that depends on x alone. It
    is compared within an x only: pooled over x, log p(x) would swamp it.
    """

    name: ClassVar[str] = "skl"
    title: ClassVar[str] = "Symmetric divergence"
    paper: ClassVar[Paper] = Paper(
        "Domke", 2021,
        "An easy to interpret diagnostic for approximate inference: symmetric divergence over "
        "simulations", "Algorithm 1; tested by relabelling within x",
    )  # fmt: skip
    summary: ClassVar[str] = "How many nats lie between p and q, and could it be none?"
    statistic: ClassVar[str] = "mean within-x difference of log p - log q, in nats"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "ratio"
    version: ClassVar[int] = 1

    relabelings: int = field(
        default=nats.RELABELINGS,
        metadata={
            "label": "Relabelings",
            "min": 19,
            "max": _MOST,
            "help": "The smallest p-value is 1 / (relabelings + 1).",
        },
    )

    def __post_init__(self) -> None:
        if not 1 <= self.relabelings <= _MOST:
            raise ValueError(
                f"relabelings are 1 to {_MOST:,}; got {self.relabelings:,}. The default is "
                f"{nats.RELABELINGS:,}."
            )

    @property
    def label(self) -> str:
        return "Symmetric divergence"

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n * k)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: a large mean of d. Rows with a ratio that is not finite are left out.

        arrays: d (..., n), of the first rows of a large table; null (..., B), means with other
        truths; skl, ci_low, ci_high (...), the mean with its 95% normal interval. Without
        leading axes also boot_low, boot_high, median, largest, auc with auc_low and auc_high, and
        effect: k simulations averaged over, draws of q at each, rows left out as infinite, heavy,
        and tail where it can be told.

        Raises:
            ValueError: with fewer than two rows whose ratios are finite.
        """
        assert isinstance(scores, TableScores)
        truth, draws = (np.asarray(one, np.float64) for one in (scores.truth, scores.draws))
        truth, draws = truth[..., 0, :], draws[..., 0, :, :]
        found = nats.relabelled(truth, draws, rng, self.relabelings)
        with np.errstate(invalid="ignore"):
            d = truth - draws.mean(axis=-1)
        arrays: dict[str, Array] = {"null": found.null}
        statistic: Array = found.statistic
        effect: dict[str, float] = {}
        if d.ndim == 1:
            more, effect = _told(d, truth, draws, rng)
            arrays |= more
            statistic = more["skl"]  # to the last digit
            d = d[np.isfinite(d)]
        else:
            each = nats.means(d)
            arrays |= {"skl": each.estimate, "ci_low": each.low, "ci_high": each.high}
        return Outcome(
            statistic, found.pvalue, self.budget(*scores.draws.shape[-2:]),
            {**arrays, "d": d[..., :_KEPT]}, effect,
        )  # fmt: skip


def _told(
    d: Array, truth: Array, draws: Array, rng: np.random.Generator
) -> tuple[dict[str, Array], dict[str, float]]:
    """What one table's d (n,) say beyond their mean, as arrays of one number and as an effect."""
    found = nats.divergence(d, rng)
    shares = nats.paired(truth, draws)
    auc = nats.means(shares[~np.isnan(shares)])
    arrays = {
        "skl": found.estimate, "ci_low": found.low, "ci_high": found.high,
        "boot_low": found.boot_low, "boot_high": found.boot_high, "median": found.median,
        "largest": found.largest, "auc": auc.estimate,
        "auc_low": np.maximum(auc.low, 0.0), "auc_high": np.minimum(auc.high, 1.0),
    }  # fmt: skip
    effect: dict[str, float] = {
        "k": d.size - found.infinite, "draws": draws.shape[-1], "infinite": found.infinite,
        "heavy": found.heavy,
    }  # fmt: skip
    if np.isfinite(found.tail):
        effect["tail"] = found.tail
    return {name: np.asarray(value) for name, value in arrays.items()}, effect
