"""Whether a table shows a defect by that defect's own null, whatever else is wrong with it.

The likeness to injected tables says which defect a table resembles most; it always resembles one.
A cause is named only if what the cause says of q is itself seen: a bias after nothing else, a
width beside any bias, tails and skew beside any bias and width, a correlation beside all three.
Beside other defects no slot is exchangeable with the truth: these nulls are z tests of ranks, not
relabelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from validation_core.diagnosis.questions.cause.findings import (
    binomial_pvalue,
    least_pvalue_over_x,
    reach_beside,
)
from validation_core.diagnosis.questions.cause.prepared_table import PreparedTable
from validation_core.diagnosis.questions.cause.ranked_rows import two_groups
from validation_core.rng import stream
from validation_core.types import Array

LEVEL = 0.01
"""Level of a cause's own null."""
_COLUMNS = 50  # of x
_SEPARATE = 0.9  # chance that x ranks a row of one group before one of the other: they lie apart
_EDGE, _CROWD, _FEWEST = 0.02, 0.4, 4  # of the true values' range; of what a flat end holds; rows
_LEAST_LEAK = 0.01  # share of draws
_CENTRED, _WIDE = 0.15, 0.12  # how far mean and sd of normal scores may be from the usual
_NEVER = 0.25  # of q's share of a mode, that true values there reach at most
_FAR_GROUP = 2.5  # distance of two groups by their sds
_SLOTS, _STEPS = 40, 12
_FAR_SHARE, _FAR_TIMES = 0.04, 1.3  # of rows beyond all draws, and how far they lie
_CLIPPED = 4.0
_TOLERATED = 6.0  # of twice the log likelihood, that one more freedom may gain by chance


def supports_cause(cause: str, table: PreparedTable) -> bool:
    """Whether what a cause says is seen under its own null."""
    return _SHOWN[cause](table)


def _scores(table: PreparedTable) -> Array:
    """Normal scores of the truth's ranks in every parameter: (n, D)."""
    d = table.errors.shape[1]
    return np.asarray(ndtri(np.clip(table.ranks[:, :d], 1e-4, 1 - 1e-4)))


def _left(table: PreparedTable) -> Array:
    """Scores without their mean and what linear functions and products of x predict: (n, D)."""
    score = _scores(table)
    left = score - score.mean(0)
    for basis in (table.features.linear, table.features.bent):
        if basis.shape[1] < len(left) / 4:
            left = left - basis @ (basis.T @ left)
    return np.asarray(left)


def _sure(z: Array) -> bool:
    """Whether the largest of standard normal numbers is beyond chance."""
    return bool(2 * ndtr(-np.max(z)) * z.size <= LEVEL)


def _mean_z(values: Array, right: float) -> Array:
    """Distance of column means (n, c) from what they should be, in their own standard errors."""
    error = np.maximum(values.std(0), 1e-12) / np.sqrt(len(values))
    return np.asarray((values.mean(0) - right) / error)


def _biased(table: PreparedTable) -> bool:
    return _sure(np.abs(_mean_z(_scores(table), 0.0))) or follows(table, _scores(table))


def follows(table: PreparedTable, score: Array) -> bool:
    """Whether functions of x predict scores (n, c), by an F test."""
    return least_pvalue_over_x(table, score) * score.shape[1] <= LEVEL


def _width_z(table: PreparedTable) -> Array:
    """z of the variance of scores beside any bias, each parameter's and that of all: (D + 1,)."""
    left, n = _left(table), len(table.errors)
    lost = (
        1
        + table.features.linear.shape[1]
        + table.features.bent.shape[1] * (table.features.bent.shape[1] < n / 4)
    )
    square = np.square(left) * n / max(n - lost, 1)
    together = square.mean(1, keepdims=True)
    return _mean_z(np.concatenate([square, together], axis=1), 1.0)


def _too_wide(table: PreparedTable) -> bool:
    return _sure(-_width_z(table)) or _central(table, "greater")


def _too_narrow(table: PreparedTable) -> bool:
    return _sure(_width_z(table))


def _central(table: PreparedTable, side: str) -> bool:
    """Whether more, or fewer, than half of true values lie within the inner half of q's draws."""
    inside = table.radius < 0.5
    more = inside.mean() > 0.5
    return (side == "greater") == more and binomial_pvalue(inside, 0.5) <= LEVEL


def _standard(table: PreparedTable) -> Array:
    left = _left(table)
    return np.asarray(left / np.maximum(left.std(0), 1e-6))


def tails_z(table: PreparedTable) -> Array:
    """z of tails beside any bias and width, positive where q's are too light: (D + 1,)."""
    apart, error = reach_beside(table)
    return np.asarray(apart / error)


def _heavy(table: PreparedTable) -> bool:
    return _sure(-tails_z(table))


def _light(table: PreparedTable) -> bool:
    return _sure(tails_z(table))


def clearly_tailed(table: PreparedTable) -> str | None:
    """The cause that tails beside any width are, where they leave no doubt; None otherwise."""
    z = tails_z(table)
    p = 2 * ndtr(-np.abs(z).max()) * z.size
    if p > LEVEL / 10:
        return None
    return "light_tails" if z[np.abs(z).argmax()] > 0 else "heavy_tails"


def shapes(table: PreparedTable) -> tuple[str, ...]:
    """Skew and tails that are seen beside any bias and width."""
    return tuple(
        name
        for name in ("wrong_skew", "light_tails", "heavy_tails")
        if supports_cause(name, table)
    )


def _skewed(table: PreparedTable) -> bool:
    standard = _standard(table)
    # The mean is taken out: what is left of a third moment varies as z^3 - 3 z does.
    return _sure(np.abs(_mean_z(standard**3 - 3 * standard, 0.0)))


def _correlated(table: PreparedTable) -> bool:
    d = table.errors.shape[1]
    if d < 2:
        return False
    i, j = np.triu_indices(d, 1)
    standard = _standard(table)
    usual = np.clip(table.features.usual[i, j], -0.999, 0.999)
    products = standard[:, i] * standard[:, j]
    # A correlation's own error: that of a product beside the squares that it is measured by.
    beside = (np.square(standard[:, i]) + np.square(standard[:, j])) / 2
    return _sure(np.abs(_mean_z(products - usual * beside, 0.0))) or _turned(table)


def _turned(table: PreparedTable) -> bool:
    """Whether along directions of q's own coordinates, chosen on other rows, widths differ.

    Nothing is said of a table whose widths are off in the parameters themselves.
    """
    if _sure(np.abs(_width_z(table))):
        return False
    choose, quote = table.halves
    white = np.clip(table.pool.white(table.ranked.points[None, :, 0])[0], -10, 10)
    values, vectors = np.linalg.eigh(np.cov(white[choose].T))
    ends = vectors[:, [0, -1]]
    square = np.square(white[quote] @ ends)
    level = np.square(white[quote]).mean(1, keepdims=True)
    z = _mean_z(square - level, 0.0)
    del values
    return _sure(np.array([-z[0], z[1]]))


def apart_over_x(table: PreparedTable, group: NDArray[np.bool_]) -> bool:
    """Whether x tells which rows belong to a group: then it lies at some x, and is no mode.

    By functions of x on rows not learned from, or by the nearest rows.
    """
    if not 5 <= group.sum() <= len(group) - 5:
        return False
    basis = np.concatenate([table.features.linear, table.features.bent], axis=1)
    basis = np.concatenate([np.ones((len(basis), 1)), basis * np.sqrt(len(basis))], axis=1)
    fold = stream(table.seed, "cause", "groups").integers(5, size=len(group))
    forecast = np.empty(len(group))
    for k in range(5):
        out = fold == k
        gram = basis[~out].T @ basis[~out] + 1e-1 * len(group) * np.eye(basis.shape[1]) / 10
        forecast[out] = basis[out] @ np.linalg.solve(gram, basis[~out].T @ group[~out])
    columns = [table.features.x[:, j] for j in range(min(table.features.x.shape[1], _COLUMNS))]
    alone = [_order(np.asarray(way * a), group) for a in columns for way in (1, -1)]
    together = (_order(forecast, group), _order(_nearby(table, group), group))
    return max(*together, *alone) > _SEPARATE


def bias_over_x(table: PreparedTable) -> str | None:
    """The name of a bias that depends on x: `part` where x tells which true values lie beyond all
    draws on one side, `over_x` where it predicts ranks; None where it does neither."""
    d, size = table.errors.shape[1], table.ranked.ranks.shape[2]
    ranks = table.ranked.ranks[:, :d, 0]
    for beyond in (ranks == 0, ranks == size - 1):
        j = int(beyond.mean(0).argmax())
        if 0.05 <= beyond[:, j].mean() <= 0.6 and apart_over_x(table, beyond[:, j]):
            return "part"
    return "over_x" if follows(table, _scores(table)) else None


def _nearby(table: PreparedTable, group: NDArray[np.bool_]) -> Array:
    """The share of a group among each row's ten nearest others in x."""
    from scipy.spatial import cKDTree

    at = table.features.directions[0]
    if not at.shape[1]:
        return np.zeros(len(group))
    near = np.asarray(cKDTree(at).query(at, k=min(11, len(at)))[1])[:, 1:]
    return np.asarray(group[near].mean(1))


def _order(forecast: Array, group: NDArray[np.bool_]) -> float:
    """The chance that a row of the group is forecast above one that is not in it."""
    rank = (forecast[:, None] > forecast).sum(1) + 0.5 * ((forecast[:, None] == forecast).sum(1))
    many = group.sum()
    rest = len(group) - many
    return float((rank[group].sum() - many * many / 2) / max(many * rest, 1))


def _missed(table: PreparedTable) -> bool:
    """More true values beyond all draws than chance, and not at some x alone."""
    size = table.ranked.ranks.shape[2]
    beyond = table.ranked.ranks[:, -1, 0] == size - 1
    many = beyond.mean() > 1 / size + _FAR_SHARE and binomial_pvalue(beyond, 1 / size) <= LEVEL
    radius = table.ranked.coordinates[beyond, -1]
    far = many and np.median(radius[:, 0] - radius[:, 1:].max(1)) > np.log(_FAR_TIMES)
    return bool(far and not apart_over_x(table, beyond))


class Group(NamedTuple):
    """A mode of q in one parameter that true values are never in."""

    parameter: int
    rows: float
    """Share of rows with two modes."""
    there: NDArray[np.bool_]
    """Whether the true value is in the smaller mode, of those rows."""
    share: float
    """Share of q's draws there."""


def spurious_group(table: PreparedTable) -> Group | None:
    """The parameter in which q's rows have two modes, of which true values are never in one.

    Which of a row's points are in it treats all alike: a true value of a correct q is there as
    often as the draws are.
    """
    best: tuple[float, Group] | None = None
    points = table.ranked.points
    middle, scale = table.ranked.scale
    for j in range(points.shape[2]):
        column = np.clip((points[..., j] - middle[..., j]) / scale[..., j], -20, 20)
        groups = two_groups(column[..., None].copy())
        rows = (groups.apart > _FAR_GROUP) & (groups.share >= 0.05)
        if rows.mean() < 0.2:
            continue
        to = np.abs(column[:, :1] - groups.centres[..., 0])
        there = (to[:, 1] < to[:, 0])[rows]
        share = groups.share[rows]
        z = float((there - share).sum() / np.sqrt((share * (1 - share)).sum()))
        if there.mean() >= _NEVER * share.mean() or ndtr(z) * points.shape[2] > LEVEL:
            continue
        if best is None or z < best[0]:
            best = z, Group(j, float(rows.mean()), there, float(share.mean()))
    return None if best is None else best[1]


def _spurious(table: PreparedTable) -> bool:
    if spurious_group(table) is not None:
        return True
    choose, quote = table.halves
    truth = np.clip(table.pool.white(table.ranked.points[None, :, 0])[0], -10, 10)
    way = -truth[choose].mean(0)
    way = way / max(float(np.linalg.norm(way)), 1e-12)
    q = (table.pool.q[quote] - table.pool.mean[quote, None]) / table.pool.sd[quote, None]
    at = np.einsum("nkd,d->nk", q @ np.swapaxes(table.pool.inverse[quote], 1, 2), way)
    beyond = truth[quote] @ way > np.quantile(at, 0.9, axis=1)
    few = beyond.mean() < 0.1 and binomial_pvalue(beyond, 0.1) <= LEVEL
    return bool(few) or _central(table, "less")


class Leak(NamedTuple):
    """q's draws beyond where true values end sharply."""

    parameter: int
    share: float
    """Share of the draws beyond the range of true values."""


def leak(table: PreparedTable, pvalue: float) -> Leak | None:
    """Draws beyond a sharp end of the true values, in the parameter that has most of them.

    Args:
        table: the rows.
        pvalue: that so many lie outside, from relabelling.
    """
    theta, q = table.ranked.points[:, 0], table.pool.q
    if pvalue > LEVEL:
        return None
    low, high = theta.min(0), theta.max(0)
    room = _EDGE * (high - low)
    best: Leak | None = None
    for j in range(theta.shape[1]):
        sides = ((q[..., j] < low[j]).mean(), (q[..., j] > high[j]).mean())
        crowds = (
            int((theta[:, j] < low[j] + room[j]).sum()),
            int((theta[:, j] > high[j] - room[j]).sum()),
        )
        there = [k for k in (0, 1) if sides[k] >= _LEAST_LEAK / 2]
        share = float(sum(sides[k] for k in there))
        crowd = sum(crowds[k] for k in there)
        flat = _CROWD * _EDGE * len(theta) * len(there)
        if share < _LEAST_LEAK or crowd < max(_FEWEST * len(there), flat):
            continue
        if not _right_inside(theta[:, j], q[..., j], float(low[j]), float(high[j])):
            continue
        if best is None or share > best.share:
            best = Leak(j, share)
    return best


def _right_inside(theta: Array, q: Array, low: float, high: float) -> bool:
    """Whether true values rank among the draws (n, K) within their range as usual, at rows with
    draws outside: where q is biased or too wide they do not."""
    inside = (q >= low) & (q <= high)
    rows = ~inside.all(1) & (inside.sum(1) >= 5)
    if rows.sum() < 10:
        return False
    below = ((q < theta[:, None]) & inside).sum(1) + 0.5
    score = ndtri(below[rows] / (inside.sum(1)[rows] + 1))
    error = 1 / np.sqrt(rows.sum())
    usual = 1 - 1 / np.sqrt(q.shape[1])  # of K draws the outermost ranks reach less far
    return bool(
        abs(score.mean()) < _CENTRED + 2 * error and abs(score.std() - usual) < _WIDE + 2 * error
    )


def from_proposal(table: PreparedTable, pvalue: float) -> bool:
    """Whether true values are q's draws weighed by a function of theta that is alike at every x.

    That is what a proposal narrower than the prior does: log weights quadratic in theta, whose
    shift towards the proposal's centre and whose narrowing have one cause. Both must be there,
    and a weight free to shift and to narrow by itself must not fit better. Which slot of a row
    is the true value is a conditional logit in each.

    Args:
        table: the rows.
        pvalue: that true values spread so little beside all draws, from relabelling.
    """
    if pvalue > LEVEL:
        return False
    points = table.ranked.points[:, : _SLOTS + 1]
    spread = table.ranked.points.reshape(-1, points.shape[2]).std(0)
    middle = table.ranked.points.reshape(-1, points.shape[2]).mean(0)
    j = int(np.argmin(table.ranked.points[:, 0].std(0) / np.maximum(spread, 1e-300)))
    theta = (points[..., j] - middle[j]) / max(spread[j], 1e-300)
    centre, width = table.ranked.scale
    own = (centre[:, 0, j] - middle[j]) / spread[j]
    z = np.clip((points[..., j] - centre[..., j]) / width[..., j], -_CLIPPED, _CLIPPED)
    one = _gain(np.stack([theta, np.square(theta)], axis=2))
    free = np.stack([z, z * own[:, None], np.square(z)], axis=2)
    shift, narrowing = _gain(free[..., :2]), _gain(free[..., [0, 2]])
    both = _gain(free)
    needed = min(both - shift, both - narrowing) > 2 * _TOLERATED
    return bool(needed and both - one <= _TOLERATED)


def _gain(features: Array) -> float:
    """Twice the log likelihood that a conditional logit (n, J, f) gains: slot 0 is chosen."""
    n, slots, many = features.shape
    beta = np.zeros(many)
    off = features - features.mean(1, keepdims=True)
    for _ in range(_STEPS):
        u = off @ beta
        weight = np.exp(u - u.max(1, keepdims=True))
        weight /= weight.sum(1, keepdims=True)
        mean = np.einsum("nj,njf->nf", weight, off)
        slope = (off[:, 0] - mean).sum(0)
        curve = np.einsum("nj,njf,njg->fg", weight, off, off) - mean.T @ mean
        beta = beta + np.linalg.solve(curve + 1e-6 * n * np.eye(many), slope)
    u = off @ beta
    top = u.max(1)
    log = u[:, 0] - top - np.log(np.exp(u - top[:, None]).sum(1))
    return 2 * float(log.sum() + n * np.log(slots))


def _follows_x(table: PreparedTable) -> bool:
    return follows(table, _scores(table))


_SHOWN: Mapping[str, Callable[[PreparedTable], bool]] = {
    "bias": _biased,
    "too_wide": _too_wide,
    "too_narrow": _too_narrow,
    "wrong_correlation": _correlated,
    "heavy_tails": _heavy,
    "light_tails": _light,
    "wrong_skew": _skewed,
    "missing_mode": _missed,
    "spurious_mode": _spurious,
    "ignores_x": _follows_x,
}
