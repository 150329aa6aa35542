"""The log ratio log p - log q, where a benchmark or a table knows both densities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from validation_core.tables import Upload
from validation_core.text import share_text
from validation_core.types import Array, Benchmark, TableScores, Weighted

NAMES = ("log_joint", "log_joint_draws", "log_q", "log_q_draws")
INFINITE = 0.1
"""Share of rows without a finite ratio up to which the mean over the others is reported. Theirs is
infinite: with more of them, the others say too little about q."""


@dataclass(frozen=True)
class Ratio:
    """log p(theta, x) - log q(theta | x), up to a function of x, of one benchmark at one gamma."""

    benchmark: Benchmark
    gamma: float

    def __post_init__(self) -> None:
        if isinstance(self.benchmark, Weighted):
            return
        theta, x = (np.zeros((1, width)) for width in self.benchmark.dims)
        if self.benchmark.log_ratio(theta, x, self.gamma) is None:
            raise ValueError(
                f"The symmetric divergence reads log p(theta, x) - log q(theta | x); "
                f"{self.benchmark.label} does not know it at gamma = {self.gamma:g}. Choose a "
                f"benchmark with densities, or DC, which learns to tell p from q."
            )

    def __call__(self, theta: Array, x: Array) -> Array:
        """Log ratios (n,) of rows theta (n, D), x (n, M)."""
        if isinstance(self.benchmark, Weighted):
            return self.benchmark.log_weight(theta, x, self.gamma)
        log_ratio = self.benchmark.log_ratio(theta, x, self.gamma)
        assert log_ratio is not None
        return log_ratio


def of_densities(densities: Mapping[str, Array]) -> TableScores | None:
    """log p(theta, x) - log q(theta | x) at the truths (1, N) and at q's draws (1, N, K); None
    without all four log densities."""
    if not set(NAMES) <= densities.keys():
        return None
    joint, joint_draws, q, q_draws = (np.asarray(densities[name], np.float64) for name in NAMES)
    with np.errstate(invalid="ignore"):
        return TableScores((joint - q)[None], (joint_draws - q_draws)[None])


def obstacle(upload: Upload) -> str | None:
    """Reason why a table gives no symmetric divergence, or None."""
    densities = upload.densities
    log_ratios = of_densities(densities)
    if log_ratios is None:
        lacking = [name for name in NAMES if name not in densities]
        starts = tuple(f"{name} must " for name in lacking)
        unread = [warning for warning in upload.warnings if warning.startswith(starts)]
        return (
            "It needs log_joint, log_q (N,) and log_joint_draws, log_q_draws (N, K); this "
            f"table lacks {', '.join(lacking)}. Save log p(theta, x) and log q(theta | x) at "
            "the true values and at q's draws to run it."
            + "".join(f" {warning}" for warning in unread)
        )
    lost = int((~finite(log_ratios)).sum())
    rows = log_ratios.truth.shape[-1]
    if rows - lost < 2 or lost > INFINITE * rows:
        beyond = outside(log_ratios.draws)
        why = f" {leakage_text(beyond)}." if beyond else ""
        return (
            "It is a mean over rows whose log densities are finite, and leaves out up to "
            f"{INFINITE:.0%} of them; got {lost:,} of {rows:,} rows with NaN or infinite "
            f"values ({_describe_nonfinite(densities)}).{why} Where a draw of q lies outside the "
            "prior's support, or q has no density at the true value, the divergence is infinite: "
            "that is a finding by itself. Find out which, or keep q's draws within the support."
        )
    return None


def finite(found: TableScores) -> np.ndarray:
    """Which rows (N,) have a finite ratio at the truth and at every draw."""
    return np.isfinite(found.truth[0]) & np.isfinite(found.draws[0]).all(axis=-1)


def outside(draws: Array) -> float:
    """Share of q's draws where p has no mass: their log ratios are minus infinity."""
    return float(np.isneginf(draws).mean())


def leakage_text(share: float) -> str:
    """What it means that a share of q's draws lies where p has no mass."""
    return (
        f"{share_text(share)} of q's draws lie where p has no mass (leakage), which makes "
        "KL(q || p) infinite"
    )


def _describe_nonfinite(given: Mapping[str, Array]) -> str:
    """Places and number of values that are not finite."""
    lost = {name: int((~np.isfinite(given[name])).sum()) for name in NAMES}
    return ", ".join(f"{name}: {count:,}" for name, count in lost.items() if count)
