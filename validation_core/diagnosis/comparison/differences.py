"""Measures of several tables, and their differences from one of them, row by row.

Distances of ranks are those of the tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from validation_core import keys, statistics
from validation_core.diagnosis import Record
from validation_core.diagnosis.comparison.comparable import known_log_q
from validation_core.diagnosis.comparison.pairwise_intervals import (
    count_pairs,
    half_lengths,
    intervals_about,
    mean_differences,
    standard_errors,
)
from validation_core.diagnosis.comparison.proper_scores import RowScores, is_weighted
from validation_core.methods import METHODS
from validation_core.methods.base import Method
from validation_core.rng import stream
from validation_core.shared_arrays import read_only
from validation_core.tables import Upload
from validation_core.types import Array, Interval

_BOOTSTRAPS = 1000
_FROM_UNIFORM = "distance from uniform (Kolmogorov) of"
RANKED: Mapping[str, tuple[str, str]] = {
    "colt": ("CoLT's d~", f"{_FROM_UNIFORM} true values' ranks in CoLT's learned region"),
    "within_x": ("distance within x", f"{_FROM_UNIFORM} true values' ranks by the classifier"),
    "tarp": ("distance of coverage", f"{_FROM_UNIFORM} TARP's coverage values"),
    "sbc": ("distance of ranks", f"{_FROM_UNIFORM} the ranks of the worst parameter"),
}
"""Methods whose ranks are compared: name and what it is; a correct posterior has 0."""


class Measure(NamedTuple):
    """One measure of all tables: the values, and the differences from the reference table."""

    name: str
    title: str
    about: str
    values: tuple[Interval, ...]
    differences: tuple[Interval, ...]
    """Each table less the reference; its interval is 95% for all pairs of tables together."""
    higher_is_better: bool = False
    from_uniform: bool = False
    """Whether it is a distance of ranks from uniform, of which a correct posterior has 0."""

    def closer(self, table: int) -> bool | None:
        """Whether this table is better than the reference; None if that cannot be told."""
        difference = self.differences[table]
        if difference.low <= 0 <= difference.high:
            return None
        return (difference.estimate > 0) == self.higher_is_better


def methods() -> tuple[Method, ...]:
    """The tests whose ranks are compared."""
    return tuple(METHODS[name]() for name in ("sbc", "tarp", "within_x", "colt"))


def measures(
    uploads: Sequence[Upload],
    records: Sequence[Sequence[Record]],
    scores: Sequence[RowScores | None],
    reference: int = 0,
) -> tuple[Measure, ...]:
    """Every measure that all of these tables have, of tables whose simulations are the same.

    Args:
        uploads: the tables (T).
        records: what the tests found on each, with the same seed.
        scores: the scores of their rows.
        reference: the table that differences are taken from.
    """
    metrics: list[Measure] = []
    energies = [score.energy for score in scores if score is not None]
    if len(energies) == len(uploads):
        metrics.append(
            _mean(
                energies,
                reference,
                "energy",
                "energy score",
                "mean distance of q's draws from the true value, less half of their distance from "
                "one another; lowest for the true posterior",
            )
        )
    densities = known_log_q(uploads)
    if densities and not np.isinf(densities).any():
        about = "mean log density of the true values under q; highest for the true posterior"
        metrics.append(_mean(densities, reference, "log_q", "log score", about, higher=True))
    # Weighted draws are drawn anew with the true value among them, which shrinks distances.
    ranked = {} if any(map(is_weighted, uploads)) else RANKED
    for name, (title, about) in ranked.items():
        ranks = [_ranks(each, name) for each in records]
        if all(u is not None for u in ranks):
            metrics.append(
                _distance([u for u in ranks if u is not None], reference, name, title, about)
            )
    return tuple(metrics)


def parameters(scores: Sequence[RowScores | None], reference: int = 0) -> Array:
    """Differences in CRPS from the reference, by parameter: estimate, low, high (T, D, 3).

    Intervals are 95% for all pairs of tables and parameters together; empty where a table has no
    scores.
    """
    crps = [score.crps for score in scores if score is not None]
    if len(crps) < len(scores) or not crps:
        return np.zeros((len(scores), 0, 3))
    off = np.stack(crps).astype(np.float64) - crps[reference]  # (T, N, D)
    off = off[:, np.isfinite(off).all((0, 2))]
    reach = half_lengths(off, count_pairs(crps) * off.shape[2])
    mean = off.mean(1)
    return np.stack([mean, mean - reach, mean + reach], axis=-1)


def _ranks(records: Sequence[Record], name: str) -> Array | None:
    """Ranks (S, n) of a method that ran."""
    ran = {record.name: record for record in records if record.status == "ran"}
    return np.atleast_2d(ran[name].arrays["u"]) if name in ran else None


def _mean(
    rows: Sequence[Array],
    reference: int,
    name: str,
    title: str,
    about: str,
    *,
    higher: bool = False,
) -> Measure:
    stacked = np.stack(rows).astype(np.float64)  # (T, N)
    stacked = stacked[:, np.isfinite(stacked).all(0)]  # NaN where one is not known
    return Measure(
        name,
        title,
        about,
        intervals_about(stacked.mean(1), half_lengths(stacked, 1)),
        mean_differences(stacked - stacked[reference]),
        higher,
    )


def _distance(
    ranks: Sequence[Array], reference: int, name: str, title: str, about: str
) -> Measure:
    u = np.stack(ranks)  # (T, S, n)
    worst = statistics.kolmogorov(u)
    at = worst.estimate.argmax(-1)[:, None]
    values = [np.take_along_axis(part, at, -1)[:, 0] for part in worst]
    estimate = values[0]
    again = _again(_Ranks(u, keys.digest(u=u)), name)
    off = again - again[:, [reference]]
    reach = standard_errors(count_pairs(u), u.shape[-1]) * off.std(0, ddof=1)
    difference = estimate - estimate[reference]
    return Measure(
        name,
        title,
        about,
        tuple(Interval(*map(float, distance)) for distance in zip(*values, strict=True)),
        intervals_about(difference, reach),
        from_uniform=True,
    )


class _Ranks(NamedTuple):
    """Ranks (T, S, n) that are told from others by their digest."""

    u: Array
    digest: str

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ranks) and self.digest == other.digest


@lru_cache(maxsize=16)  # whichever table the others are compared with
@read_only
def _again(ranks: _Ranks, name: str) -> Array:
    """One bootstrap of rows for all tables: what a row does to two of them it does at once."""
    rng, n = stream(0, "posteriors", name), ranks.u.shape[-1]
    return np.stack([_sup(ranks.u[..., rng.integers(n, size=n)]) for _ in range(_BOOTSTRAPS)])


def _sup(u: Array) -> Array:
    """Largest distance of the ranks (T, S, n) from uniform, over the quantities: (T,)."""
    ranks = np.sort(u, axis=-1)
    n = u.shape[-1]
    steps = np.arange(n) / n
    apart = np.maximum((ranks - steps).max(-1), (steps + 1 / n - ranks).max(-1))
    return np.asarray(apart.max(-1))
