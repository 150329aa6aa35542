"""Relabelling within x: exact on any null table, its statistics by plain loops, and its power."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from validation_core.omnibus import Learned, columns, nearest, relabelled
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.types import Array, Draws

TABLES = 200
RELABELINGS = 99
ALPHAS = (0.05, 0.2)
CONFIDENCE = 1 - 1e-4
"""Of each bound: some hundred of them are looked at together."""

Null = Callable[[np.random.Generator], tuple[Draws, dict[str, Any]]]


def table(slots: Array, x: Array) -> Draws:
    """The first of slots (N, K + 1, D), alike given x, plays the truth."""
    return Draws(slots[:, 0], x, slots[:, 1:])


def law(noise: Array, x: Array) -> Array:
    """Slots (N, K + 1, D) around the first columns of x (N, M), D of them at most."""
    shared = min(noise.shape[2], x.shape[1])
    out = np.array(noise)
    out[..., :shared] += x[:, None, :shared]
    return out


def gaussian(rng: np.random.Generator, n: int = 60, k: int = 12, d: int = 2, m: int = 1) -> Draws:
    x = rng.standard_normal((n, m))
    return table(law(rng.standard_normal((n, k + 1, d)), x), x)


def sized(n: int = 60, k: int = 12, d: int = 2, m: int = 1) -> Null:
    return lambda rng: (gaussian(rng, n, k, d, m), {})


def shaped(change: Callable[[Array], Array]) -> Null:
    """All slots changed alike."""

    def null(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
        one = gaussian(rng)
        return Draws(change(one.theta), one.x, change(one.q)), {}

    return null


def noisy(noise: Callable[[np.random.Generator, tuple[int, ...]], Array]) -> Null:
    def null(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
        x = rng.standard_normal((60, 2))
        return table(law(noise(rng, (60, 13, 2)), x), x), {}

    return null


def over(x: Callable[[np.random.Generator], Array]) -> Null:
    def null(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
        data = x(rng)
        return table(law(rng.standard_normal((len(data), 13, 2)), data), data), {}

    return null


def correlated(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    common = rng.standard_normal((*shape[:2], 1))
    return np.sqrt(0.999) * common + np.sqrt(0.001) * rng.standard_normal(shape)


def mixture(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return 4 * rng.integers(0, 2, (*shape[:2], 1)) + rng.standard_normal(shape)


def point_masses(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
    x = rng.standard_normal((60, 1))
    noise = rng.standard_normal((60, 13, 2)) * (rng.random(60) < 0.6)[:, None, None]
    return table(law(noise, x), x), {}


def heteroscedastic(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
    x = rng.standard_normal((60, 1))
    return table(rng.standard_normal((60, 13, 2)) * np.exp(2 * x)[:, None], x), {}


def shared(sizes: tuple[int, ...], k: int = 12, d: int = 2) -> Null:
    """Groups of rows of one x and one set of draws."""

    def null(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
        groups = np.repeat(np.arange(len(sizes)), sizes)
        n = len(groups)
        x = rng.standard_normal((len(sizes), 1))[groups]
        draws = rng.standard_normal((len(sizes), k, d))[groups]
        order = rng.permutation(n)  # rows of a group need not stand together
        one = table(law(np.concatenate([rng.standard_normal((n, 1, d)), draws], axis=1), x), x)
        return Draws(one.theta[order], one.x[order], one.q[order]), {"groups": groups[order]}

    return null


def of_slots(one: Draws, score: Callable[[Array, Array], Array]) -> Array:
    """A score (N, J + 1) of the truth and of the draws that may play it."""
    some = columns(len(one), one.q.shape[1], one.theta.shape[1])
    slots = np.concatenate([one.theta[:, None], one.q[:, some]], axis=1)
    return score(slots, one.x[:, None])


def learned(digits: int | None = None, d: int = 2) -> Null:
    """Arbitrary functions as learned scores, of some rows each."""

    def null(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
        one = gaussian(rng, d=d)
        turn = rng.standard_normal((d, 3))
        values = of_slots(one, lambda slots, x: np.sin(slots @ turn + x).sum(-1))
        values = values if digits is None else np.round(values, digits)
        rows = np.sort(rng.permutation(60)[:30])
        scores = [
            Learned("classifier", rows, values[rows], ratio=True),
            Learned("tarp", rows[:20], np.square(values[rows[:20]]), ratio=False),
        ]
        return one, {"learned": scores, "training": np.setdiff1d(np.arange(60), rows)}

    return null


def densities(unknown: float = 0.0, outside: float = 0.0, joint: bool = True, d: int = 2) -> Null:
    """log q that is known of most rows, and a log joint that is -inf outside of its support."""

    def null(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
        one = gaussian(rng, d=d)

        def log_q(theta: Array) -> Array:
            out = -0.4 * np.square(theta).sum(-1)
            out[rng_unknown] = np.nan
            return out

        def log_joint(theta: Array) -> Array:
            inside = theta[..., 0] > np.quantile(one.q[..., 0], outside)
            return np.where(inside, -np.abs(theta).sum(-1), -np.inf)

        rng_unknown = rng.random(60) < unknown
        given = {"log_q": log_q(one.theta), "log_q_draws": log_q(one.q)}
        if joint:
            given |= {"log_joint": log_joint(one.theta), "log_joint_draws": log_joint(one.q)}
        return one, {"densities": given}

    return null


def near(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
    one = gaussian(rng)
    return one, {"near": nearest(np.abs(one.x[:, 0] - 0.5))}


def shared_with_training(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
    """One group, and many more parameters than are looked at: those of half of the rows."""
    one, more = shared((80,), k=16, d=300)(rng)
    return one, more | {"training": np.sort(rng.permutation(80)[:40])}


def groups_of_many(rng: np.random.Generator) -> tuple[Draws, dict[str, Any]]:
    """Groups, and more parameters than are looked at."""
    return shared((30, 20, 10), d=60)(rng)


NULLS: dict[str, Null] = {
    "gaussian": sized(),
    "one digit": shaped(lambda theta: np.round(theta, 1)),
    "two digits": shaped(lambda theta: np.round(theta, 2)),
    "binary": shaped(lambda theta: (theta > 0) * 1.0),
    "K = 1": sized(k=1),
    "K = 2": sized(k=2),
    "N = 5": sized(n=5),
    "N = 12": sized(n=12),
    "N = 50": sized(n=50, m=3),
    "Cauchy": noisy(lambda rng, shape: rng.standard_cauchy(shape)),
    "t2": noisy(lambda rng, shape: rng.standard_t(2, shape)),
    "correlation .999": noisy(correlated),
    "scales": shaped(lambda theta: theta * np.array([1e-12, 1e12])),
    "offsets": shaped(lambda theta: theta + 1e8),
    "float32": shaped(lambda theta: theta.astype(np.float32)),
    "mixture": noisy(mixture),
    "bounded": shaped(lambda theta: np.clip(theta, -0.5, 1)),
    "point masses": point_masses,
    "heteroscedastic": heteroscedastic,
    "repeated x": over(lambda rng: np.repeat(rng.standard_normal((20, 2)), 3, axis=0)),
    "constant x": over(lambda rng: np.ones((60, 1))),
    "discrete x": over(lambda rng: rng.integers(0, 3, (60, 2)) * 1.0),
    "heavy-tailed x": over(lambda rng: rng.standard_cauchy((60, 2))),
    "40 columns": over(lambda rng: rng.standard_normal((40, 40))),
    "D = 30": sized(k=8, d=30),
    "D = 60": sized(k=8, d=60),
    "one group": shared((60,)),
    "ten groups": shared((2, 3, 3, 4, 5, 6, 7, 8, 10, 12)),
    "some singletons": shared((20, 10, *[1] * 30)),
    "only singletons": shared((1,) * 60, k=80),
    "groups, D = 60": groups_of_many,
    "one group, D = 300": shared_with_training,
    "learned": learned(),
    "learned, ties": learned(digits=0),
    "learned, D = 60": learned(d=60),
    "densities": densities(),
    "densities, ties": densities(joint=False),
    "densities, NaN rows": densities(unknown=0.3),
    "densities, D = 60": densities(unknown=0.3, d=60),
    "joint -inf": densities(outside=0.3),
    "near": near,
}
DISCRETE = {"binary", "K = 1", "N = 5", "point masses"}
"""Kinds of which the largest statistics of many labellings are equal."""


@cache
def null_pvalues(kind: str) -> Array:
    """Of fresh tables: (TABLES,)."""
    out = []
    for trial in range(TABLES):
        one, more = NULLS[kind](stream(trial, "omnibus", kind))
        out.append(relabelled(one, trial, relabelings=RELABELINGS, **more).pvalue)
    return np.array(out)


@pytest.mark.parametrize("kind", NULLS)
def test_the_level_is_exact(kind):
    p = null_pvalues(kind)
    assert not np.isnan(p).any()
    for alpha in ALPHAS:
        low, high = binomial_bounds(TABLES, alpha, CONFIDENCE)
        assert (p <= alpha).sum() <= high
        assert kind in DISCRETE or (p <= alpha).sum() >= low


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_level_is_exact_over_all_kinds_together(alpha):
    count = {kind: int((null_pvalues(kind) <= alpha).sum()) for kind in NULLS}
    _, high = binomial_bounds(TABLES * len(NULLS), alpha, CONFIDENCE)
    assert sum(count.values()) <= high
    rest = [count[kind] for kind in NULLS if kind not in DISCRETE]
    low, _ = binomial_bounds(TABLES * len(rest), alpha, CONFIDENCE)
    assert sum(rest) >= low
