"""Variants of an injection: its inverse, in one parameter, at some of the rows."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool
from validation_core.diagnosis.injections.injection import Apply
from validation_core.types import Array


def inverse(apply: Apply) -> Apply:
    """Too wide by s is too narrow by 1 / s."""

    def back(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        return apply(pool, which, 1 / s, rng)

    return back


def in_one(apply: Apply) -> Apply:
    """In one parameter of each trial."""

    def one(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        mark = np.eye(pool.q.shape[2], dtype=bool)[rng.integers(pool.q.shape[2], size=len(which))]
        return np.where(mark[:, None], apply(pool, which, s, rng), pool.take(which))

    return one


def in_part(apply: Apply) -> Apply:
    """At the rows beyond a quantile of a direction of x alone: a tenth to six tenths of them."""

    def part(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        x, theta = pool.followed, pool.take(which)
        moved = apply(pool, which, s, rng)
        for t in range(len(which)):
            along = x @ (
                np.eye(x.shape[1])[rng.integers(x.shape[1])]
                if rng.random() < 0.5
                else rng.standard_normal(x.shape[1])
            )
            here = along * rng.choice([-1.0, 1.0]) > np.quantile(along, 1 - rng.uniform(0.1, 0.6))
            theta[t, here] = moved[t, here]
        return theta

    return part
