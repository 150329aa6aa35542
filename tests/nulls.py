"""Tables of which q is right, of every shape that relabelling must stay exact on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from validation_core.relabelling.table_statistics import LearnedScore, nearest, playing_draws
from validation_core.types import Array, PosteriorTable

Given = dict[str, Any]
"""What `relabelling.relabelled` is given beside the table."""
Null = Callable[[np.random.Generator, int, int], tuple[PosteriorTable, Given]]
"""Of rows n and draws k, which a kind about few rows or draws does not heed."""


def table(slots: Array, x: Array) -> PosteriorTable:
    """The first of slots (N, K + 1, D), alike given x, plays the truth."""
    return PosteriorTable(slots[:, 0], x, slots[:, 1:])


def law(noise: Array, x: Array) -> Array:
    """Slots (N, K + 1, D) around the first columns of x (N, M), D of them at most."""
    few = min(noise.shape[2], x.shape[1])
    out = np.array(noise)
    out[..., :few] += x[:, None, :few]
    return out


def gaussian(
    rng: np.random.Generator, n: int = 60, k: int = 12, d: int = 2, m: int = 1
) -> PosteriorTable:
    """theta ~ N(x, 1)."""
    x = rng.standard_normal((n, m))
    return table(law(rng.standard_normal((n, k + 1, d)), x), x)


def _plain(
    rows: int | None = None, draws: int | None = None, d: int = 2, m: int = 1,
    change: Callable[[Array], Array] = lambda theta: theta,
) -> Null:  # fmt: skip
    """Gaussian tables, all slots changed alike."""

    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        item = gaussian(rng, rows or n, draws or k, d, m)
        return PosteriorTable(change(item.theta), item.x, change(item.q)), {}

    return null


def _noisy(noise: Callable[[np.random.Generator, tuple[int, int, int]], Array]) -> Null:
    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        x = rng.standard_normal((n, 2))
        return table(law(noise(rng, (n, k + 1, 2)), x), x), {}

    return null


def _over(x: Callable[[np.random.Generator, int], Array]) -> Null:
    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        data = x(rng, n)
        return table(law(rng.standard_normal((n, k + 1, 2)), data), data), {}

    return null


def _correlated(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    common = rng.standard_normal((*shape[:2], 1))
    return np.sqrt(0.999) * common + np.sqrt(0.001) * rng.standard_normal(shape)


def _mixture(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return 4 * rng.integers(0, 2, (*shape[:2], 1)) + rng.standard_normal(shape)


def _point_masses(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
    """All slots of two rows in five are equal."""
    x = rng.standard_normal((n, 1))
    noise = rng.standard_normal((n, k + 1, 2)) * (rng.random(n) < 0.6)[:, None, None]
    return table(law(noise, x), x), {}


def _heteroscedastic(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
    x = rng.standard_normal((n, 1))
    return table(rng.standard_normal((n, k + 1, 2)) * np.exp(2 * x)[:, None], x), {}


def shared(shares: tuple[float, ...], d: int = 2, draws: int | None = None) -> Null:
    """Groups of these shares of the rows, of one x and one set of draws each."""

    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        sizes = np.diff(np.round(n * np.append(0, np.cumsum(shares))).astype(int))
        k = draws or k
        groups = np.repeat(np.arange(len(sizes)), sizes)
        x = rng.standard_normal((len(sizes), 1))[groups]
        q = rng.standard_normal((len(sizes), k, d))[groups]
        rows = np.concatenate([rng.standard_normal((len(groups), 1, d)), q], axis=1)
        item = table(law(rows, x), x)
        order = rng.permutation(len(groups))  # rows of a group need not stand together
        return PosteriorTable(item.theta[order], item.x[order], item.q[order]), {
            "groups": groups[order]
        }

    return null


def _some_alone(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
    """Two groups of half of the rows; the others have draws of their own."""
    first, _ = shared((1 / 3, 1 / 6, *[1 / n] * (n // 2)))(rng, n, k)
    _, groups = np.unique(first.x, return_inverse=True)
    return first, {"groups": groups.ravel()}


def _all_alone(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
    """Every row is a group, of more draws than may play the truth."""
    return gaussian(rng, n, max(k, 80)), {"groups": rng.permutation(n)}


def _of_slots(one: PosteriorTable, score: Callable[[Array, Array], Array]) -> Array:
    """A score (N, J + 1) of the truth and of the draws that may play it."""
    some = playing_draws(len(one), one.q.shape[1], one.theta.shape[1])
    slots = np.concatenate([one.theta[:, None], one.q[:, some]], axis=1)
    return score(slots, one.x[:, None])


def learned(digits: int | None = None, d: int = 2) -> Null:
    """Arbitrary functions as learned scores, of some rows each."""

    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        item = gaussian(rng, n, k, d)
        turn = rng.standard_normal((d, 3))
        values = _of_slots(item, lambda slots, x: np.sin(slots @ turn + x).sum(-1))
        values = values if digits is None else np.round(values, digits)
        rows = np.sort(rng.permutation(n)[: n // 2])
        some = rows[: n // 3]
        scores = [
            LearnedScore("classifier", rows, values[rows], ratio=True),
            LearnedScore("tarp", some, np.square(values[some]), ratio=False),
        ]
        return item, {"learned": scores, "training": np.setdiff1d(np.arange(n), rows)}

    return null


def densities(unknown: float = 0.0, outside: float = 0.0, joint: bool = True) -> Null:
    """log q, NaN in a share of the rows, and a log joint, -inf at a share of the slots."""

    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        item = gaussian(rng, n, k)
        missing = rng.random(n) < unknown
        edge = np.quantile(item.q[..., 0], outside)

        def log_q(theta: Array) -> Array:
            out = -0.4 * np.square(theta).sum(-1)
            out[missing] = np.nan
            return out

        def log_joint(theta: Array) -> Array:
            return np.where(theta[..., 0] >= edge, -np.abs(theta).sum(-1), -np.inf)

        value = {"log_q": log_q(item.theta), "log_q_draws": log_q(item.q)}
        if joint:
            value |= {"log_joint": log_joint(item.theta), "log_joint_draws": log_joint(item.q)}
        return item, {"densities": value}

    return null


def own(digits: int | None = None, unknown: float = 0.0, log_p: str = "") -> Null:
    """Two quantities of a user's own, rounded to digits, the second NaN in a share of the rows;
    and perhaps a log density of p alone."""

    def null(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
        item = gaussian(rng, n, k)
        energy = _of_slots(item, lambda slots, x: np.square(slots - x).sum(-1))
        other = _of_slots(item, lambda slots, x: np.sin(slots[..., 0] * 3) + x[..., 0])
        if digits is not None:
            energy, other = np.round(energy, digits), np.round(other, digits)
        other[rng.random(n) < unknown, rng.integers(k)] = np.nan
        more: Given = {"quantities": [(one[:, 0], one[:, 1:]) for one in (energy, other)]}
        if log_p:
            more["densities"] = {log_p: -energy[:, 0], f"{log_p}_draws": -energy[:, 1:]}
        return item, more

    return null


def near(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
    """Rows near an observation."""
    item = gaussian(rng, n, k)
    return item, {"near": nearest(np.abs(item.x[:, 0] - 0.5))}


def _many_shared(rng: np.random.Generator, n: int, k: int) -> tuple[PosteriorTable, Given]:
    """One group, and many more parameters than are looked at: those of half of the rows."""
    first, value = shared((1.0,), d=300, draws=16)(rng, n, k)
    return first, value | {"training": np.sort(rng.permutation(n)[: n // 2])}


NULLS: Mapping[str, Null] = {
    "gaussian": _plain(),
    "own quantities": own(),
    "own, rounded": own(digits=0),
    "own, unknown in some": own(unknown=0.3),
    "log_joint alone": own(log_p="log_joint"),
    "log_likelihood alone, rounded": own(digits=0, log_p="log_likelihood"),
    "one digit": _plain(change=lambda theta: np.round(theta, 1)),
    "two digits": _plain(change=lambda theta: np.round(theta, 2)),
    "binary": _plain(change=lambda theta: (theta > 0) * 1.0),
    "K = 1": _plain(draws=1),
    "K = 2": _plain(draws=2),
    "N = 5": _plain(rows=5),
    "N = 12": _plain(rows=12),
    "N = 50": _plain(rows=50, m=3),
    "Cauchy": _noisy(lambda rng, shape: rng.standard_cauchy(shape)),
    "t2": _noisy(lambda rng, shape: rng.standard_t(2, shape)),
    "correlation .999": _noisy(_correlated),
    "scales": _plain(change=lambda theta: theta * np.array([1e-12, 1e12])),
    "offsets": _plain(change=lambda theta: theta + 1e8),
    "float32": _plain(change=lambda theta: theta.astype(np.float32)),
    "mixture": _noisy(_mixture),
    "bounded": _plain(change=lambda theta: np.clip(theta, -0.5, 1)),
    "point masses": _point_masses,
    "heteroscedastic": _heteroscedastic,
    "repeated x": _over(lambda rng, n: rng.standard_normal((n // 3, 2))[np.arange(n) % (n // 3)]),
    "constant x": _over(lambda rng, n: np.ones((n, 1))),
    "discrete x": _over(lambda rng, n: rng.integers(0, 3, (n, 2)) * 1.0),
    "heavy-tailed x": _over(lambda rng, n: rng.standard_cauchy((n, 2))),
    "40 columns of x": _over(lambda rng, n: rng.standard_normal((n, 40))),
    "D = 30": _plain(d=30),
    "D = 60": _plain(d=60),
    "one group": shared((1.0,)),
    "ten groups": shared((0.03, 0.05, 0.05, 0.07, 0.08, 0.1, 0.12, 0.13, 0.17, 0.2)),
    "some groups": _some_alone,
    "no groups": _all_alone,
    "groups, D = 60": shared((0.5, 0.3, 0.2), d=60),
    "one group, D = 300": _many_shared,
    "learned": learned(),
    "learned, ties": learned(digits=0),
    "learned, D = 60": learned(d=60),
    "densities": densities(),
    "log q alone": densities(joint=False),
    "densities, NaN rows": densities(unknown=0.3),
    "log joint -inf": densities(outside=0.3),
    "near": near,
}
DISCRETE = {"binary", "K = 1", "N = 5", "point masses"}
"""Kinds of which the largest statistics of many labellings are equal at few rows and draws."""
