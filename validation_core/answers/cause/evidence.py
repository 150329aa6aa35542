"""Numbers with 95% intervals that speak for each cause, from the table itself.

Where a place is chosen because it looks worst, one half of the rows chooses and the other is
quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.answers.cause.features import Features
from validation_core.answers.cause.ranks import Ranked
from validation_core.answers.injections import Pool
from validation_core.rng import stream
from validation_core.statistics import wilson
from validation_core.types import Array

Told = dict[str, Any]
Places = NDArray[np.integer]

_BOOTSTRAP = 400
_TAIL, _OUTER = 0.05, 0.01
_EDGE = 0.02
_Z = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Table:
    """A table as evidence reads it."""

    ranked: Ranked
    pool: Pool
    features: Features
    seed: int

    @cached_property
    def errors(self) -> Array:
        """(q's mean - theta) / q's sd: (n, D)."""
        return np.asarray((self.pool.mean - self.ranked.points[:, 0]) / self.pool.sd)

    @cached_property
    def ranks(self) -> Array:
        """Randomised ranks of the truth in each coordinate: (n, C)."""
        size = self.ranked.ranks.shape[2]
        noise = stream(self.seed, "cause", "ranks").random(self.ranked.ranks.shape[:2])
        return np.asarray((self.ranked.ranks[..., 0] + noise) / size)

    @property
    def radius(self) -> Array:
        """Ranks of the radius: (n,)."""
        return np.asarray(self.ranks[:, -1])

    @cached_property
    def halves(self) -> tuple[Places, Places]:
        """Places of the rows that choose and of those that are quoted."""
        order = stream(self.seed, "cause", "halves").permutation(len(self.errors))
        return order[: len(order) // 2], order[len(order) // 2 :]

    @cached_property
    def widths(self) -> Array:
        """ln of q's sd by the spread of its errors: (D,)."""
        return -np.log(np.maximum(self.errors.std(0), 1e-6))

    def sd_ratio(self, errors: Array) -> tuple[float, float, float]:
        """How many times q is too wide for standardised errors (n,), by bootstrap."""
        n = len(errors)
        rng = stream(self.seed, "cause", "bootstrap")
        again = errors[rng.integers(n, size=(_BOOTSTRAP, n))].std(1)
        low, high = np.quantile(1 / np.maximum(again, 1e-6), [0.025, 0.975])
        return float(1 / max(errors.std(), 1e-6)), float(low), float(high)


def told(
    what: str, numbers: tuple[float, float, float], right: float | None,
    at: tuple[int, ...] = (), **more: float,
) -> Told:  # fmt: skip
    """One piece: its kind, its value with interval, what it would be if q were right."""
    value, low, high = numbers
    return {"what": what, "value": value, "low": low, "high": high, "right": right,
            "at": list(at), **more}  # fmt: skip


def of(cause: str, table: Table) -> list[Told]:
    """Two to four pieces of evidence for a cause, as plain numbers."""
    return _FOR[cause](table)


def share(inside: NDArray[np.bool_]) -> tuple[float, float, float]:
    low, high = wilson(inside.sum(), inside.size)
    return float(inside.mean()), float(low), float(high)


def correlated(a: Array, b: Array) -> tuple[float, float, float]:
    """Correlation of two columns with Fisher's interval; 0 with no interval for a constant."""
    if not (a.std() > 0 and b.std() > 0):
        return 0.0, -1.0, 1.0
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -0.999999, 0.999999))
    reach = _Z / np.sqrt(max(len(a) - 3, 1))
    return r, float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))


def follows(table: Table, score: Array | None = None) -> Told:
    """How well errors of some rows are foretold from x and q's mean by the others.

    Args:
        table: the rows.
        score: normal scores (n, c) of the ranks to foretell; those in each parameter unless given.
    """
    if score is None:
        u = np.clip(table.ranks[:, : table.errors.shape[1]], 1e-4, 1 - 1e-4)
        score = ndtri(u)
    basis = np.concatenate([table.features.linear, table.features.bent], 1)
    basis = np.concatenate([np.ones((len(basis), 1)), basis * np.sqrt(len(basis))], axis=1)
    fold = stream(table.seed, "cause", "folds").integers(5, size=len(score))
    foretold = np.empty_like(score)
    for k in range(5):
        out = fold == k
        gram = basis[~out].T @ basis[~out] + 1e-2 * len(score) * np.eye(basis.shape[1])
        foretold[out] = basis[out] @ np.linalg.solve(gram, basis[~out].T @ score[~out])
    every = [correlated(foretold[:, j], score[:, j]) for j in range(score.shape[1])]
    j = int(np.argmax([one[0] for one in every]))
    return told("follows_x", every[j], 0.0, (j,))


def _bias(table: Table) -> list[Told]:
    mean, se = table.errors.mean(0), table.errors.std(0) / np.sqrt(len(table.errors))
    j = int(np.argmax(np.abs(mean) / np.maximum(se, 1e-12)))
    numbers = (float(mean[j]), float(mean[j] - _Z * se[j]), float(mean[j] + _Z * se[j]))
    return [told("bias", numbers, 0.0, (j,)), follows(table)]


def _width(table: Table, way: int) -> list[Told]:
    j = int(np.argmax(way * table.widths))
    u = table.ranks[:, j]
    inside = np.abs(u - 0.5) < 0.4
    return [
        told("width", table.sd_ratio(table.errors[:, j]), 1.0, (j,)),
        told("covered", share(inside), 0.8, (j,), level=0.8),
        told("inner_half", share(table.radius < 0.5), 0.5),
    ]


def _correlation(table: Table) -> list[Told]:
    choose, quote = table.halves
    d = table.errors.shape[1]
    if d < 2:
        return []
    i, j = np.triu_indices(d, 1)
    r = table.pool.chol @ np.swapaxes(table.pool.chol, 1, 2)
    own = np.asarray(r.mean(0))[i, j]
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.asarray(np.nan_to_num(np.corrcoef(table.errors[choose].T)))[i, j] - own
    k = int(np.argmax(np.abs(off)))
    pair = (int(i[k]), int(j[k]))
    found = correlated(*(table.errors[quote][:, one] for one in pair))
    white = table.pool.white(table.ranked.points[None, :, 0])[0]
    values, vectors = np.linalg.eigh(np.cov(np.clip(white[choose], -10, 10).T))
    worst = vectors[:, int(np.argmax(np.abs(np.log(np.maximum(values, 1e-6)))))]
    return [
        told("pair", found, float(own[k]), pair),
        told("along", table.sd_ratio(white[quote] @ worst), 1.0),
    ]


def _tails(table: Table) -> list[Told]:
    u = table.radius
    return [
        told("tail", share(u > 1 - _TAIL), _TAIL, share=_TAIL),
        told("tail", share(u > 1 - _OUTER), _OUTER, share=_OUTER),
        told("inner_half", share(u < 0.5), 0.5),
    ]


def _missing(table: Table) -> list[Told]:
    size = table.ranked.ranks.shape[2]
    beyond = table.ranked.ranks[:, -1, 0] == size - 1
    pieces = [told("beyond_all", share(beyond), 1 / size)]
    if beyond.sum() >= 5:
        edge = np.quantile(table.ranked.coordinates[:, -1, 1:], 0.95, axis=1)
        times = np.sort(np.exp(np.minimum(table.ranked.coordinates[:, -1, 0] - edge, 20))[beyond])
        m, reach = len(times), _Z * np.sqrt(len(times)) / 2
        ends = (max(int(m / 2 - reach), 0), min(int(np.ceil(m / 2 + reach)), m - 1))
        median = (float(np.median(times)), float(times[ends[0]]), float(times[ends[1]]))
        pieces.append(told("how_far", median, None))
    if not beyond.all():
        pieces.append(told("inner_half", share(table.radius[~beyond] < 0.5), 0.5))
    return pieces


def _spurious(table: Table) -> list[Told]:
    groups = table.ranked.groups
    rows = groups.clear
    pieces = []
    if rows.mean() > 0.02:
        minor = table.ranked.minor(table.ranked.points[None, :, 0])[0]
        pieces.append(
            told("minor", share(minor[rows]), float(groups.share[rows].mean()),
                 rows=float(rows.mean()))
        )  # fmt: skip
    choose, quote = table.halves
    truth = np.clip(table.pool.white(table.ranked.points[None, :, 0])[0], -10, 10)
    way = -truth[choose].mean(0)
    way = way / max(float(np.linalg.norm(way)), 1e-12)
    at = np.einsum("nkd,d->nk", _white_rows(table, quote), way)
    beyond = truth[quote] @ way > np.quantile(at, 0.9, axis=1)
    pieces.append(told("outer_tenth", share(beyond), 0.1))
    pieces.append(told("inner_half", share(table.radius < 0.5), 0.5))
    # A gap that q fills leaves more truths elsewhere: what lies above speaks for something else.
    return [one for one in pieces if one["value"] <= one["right"]] or pieces


def _white_rows(table: Table, rows: Places) -> Array:
    u = (table.pool.q[rows] - table.pool.mean[rows, None]) / table.pool.sd[rows, None]
    return np.asarray(u @ np.swapaxes(table.pool.inverse[rows], 1, 2))


def _blind(table: Table) -> list[Told]:
    n = len(table.errors)
    rng = stream(table.seed, "cause", "contraction")
    k = table.pool.q.shape[1]
    within, mean = np.square(table.pool.sd), table.pool.mean

    def contraction(rows: Places) -> Array:
        inner = np.median(within[rows], axis=0)
        outer = np.maximum(mean[rows].var(0) - within[rows].mean(0) / k, 0)
        return np.asarray(outer / np.maximum(outer + inner, 1e-300))

    own = contraction(np.arange(n))
    j = int(np.argmin(own))
    again = [contraction(rng.integers(n, size=n))[j] for _ in range(100)]
    low, high = np.quantile(again, [0.025, 0.975])
    agrees = correlated(table.ranked.points[:, 0, j], mean[:, j])
    return [
        told("contraction", (float(own[j]), float(low), float(high)), None, (j,)),
        told("agrees", agrees, float(np.sqrt(own[j])), (j,)),
        follows(table),
    ]


def _leak(table: Table) -> list[Told]:
    theta, q = table.ranked.points[:, 0], table.pool.q
    low, high = theta.min(0), theta.max(0)
    outside = ((q < low) | (q > high)).mean(1)  # (n, D)
    j = int(np.argmax(outside.mean(0)))
    rng = stream(table.seed, "cause", "leak")
    n = len(outside)
    again = outside[:, j][rng.integers(n, size=(_BOOTSTRAP, n))].mean(1)
    ends = np.quantile(again, [0.025, 0.975])
    room = _EDGE * (high - low)
    crowd = (theta[:, j] < (low + room)[j]) | (theta[:, j] > (high - room)[j])
    numbers = (float(outside[:, j].mean()), float(ends[0]), float(ends[1]))
    return [
        told("leak", numbers, 2 / (n + 1), (j,)),
        told("edge", share(crowd), None, (j,), room=_EDGE),
    ]


_FOR: Mapping[str, Callable[[Table], list[Told]]] = {
    "bias": _bias,
    "too_wide": lambda table: _width(table, 1),
    "too_narrow": lambda table: _width(table, -1),
    "wrong_correlation": _correlation,
    "heavy_tails": _tails,
    "light_tails": _tails,
    "missing_mode": _missing,
    "spurious_mode": _spurious,
    "ignores_x": _blind,
    "support_leak": _leak,
}
