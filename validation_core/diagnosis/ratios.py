"""The log ratios of an upload, from the log densities that it holds, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation_core.types import Array, TableScores
from validation_core.uploads import Upload

NAMES = ("log_joint", "log_joint_draws", "log_q", "log_q_draws")

INFINITE = 0.1
"""Share of rows without a finite ratio up to which the mean over the others is told. Theirs is
infinite: with more of them, what is left says too little of q."""


def ratios(densities: Mapping[str, Array]) -> TableScores | None:
    """log p(theta, x) - log q(theta | x) at the truths (1, N) and at q's draws (1, N, K); None
    without all four log densities."""
    if not set(NAMES) <= densities.keys():
        return None
    joint, joint_draws, q, q_draws = (np.asarray(densities[one], np.float64) for one in NAMES)
    with np.errstate(invalid="ignore"):
        return TableScores((joint - q)[None], (joint_draws - q_draws)[None])


def obstacle(upload: Upload) -> str | None:
    """Why no symmetric divergence can be told of a table, or None."""
    given = upload.densities
    found = ratios(given)
    if found is None:
        lacking = [name for name in NAMES if name not in given]
        starts = tuple(f"{name} must " for name in lacking)
        unread = [one for one in upload.warnings if one.startswith(starts)]
        return (
            f"It needs log_joint, log_q (N,) and log_joint_draws, log_q_draws (N, K); this table "
            f"lacks {', '.join(lacking)}. Save log p(theta, x) and log q(theta | x) at the truths "
            f"and at q's draws to run it." + "".join(f" {one}" for one in unread)
        )
    lost = int((~finite(found)).sum())
    rows = found.truth.shape[-1]
    if rows - lost < 2 or lost > INFINITE * rows:
        return (
            f"It is a mean over rows whose log densities are finite, and leaves out up to "
            f"{INFINITE:.0%} of them; got {lost:,} of {rows:,} rows with NaN or infinite values "
            f"({_told(given)}). Where a draw of q lies outside the prior's support, or q has no "
            f"density at the truth, the divergence is infinite: that is a finding by itself. "
            f"Find out which, or keep q's draws within the support."
        )
    return None


def finite(found: TableScores) -> np.ndarray:
    """Which rows (N,) have a finite ratio at the truth and at every draw."""
    return np.isfinite(found.truth[0]) & np.isfinite(found.draws[0]).all(axis=-1)


def _told(given: Mapping[str, Array]) -> str:
    """Where values are not finite, and how many."""
    lost = {name: int((~np.isfinite(given[name])).sum()) for name in NAMES}
    return ", ".join(f"{name}: {count:,}" for name, count in lost.items() if count)
