"""A q that ignores part of x: true values are chosen to follow functions of x within q's draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool
from validation_core.diagnosis.injections.tilts import divergence, pick_by_chance
from validation_core.types import Array


@dataclass(frozen=True, eq=False)
class _Followed:
    """Directions (D, r) of whitened draws and the normal scores (n, r) of x that each follows."""

    directions: Array
    x: Array

    @classmethod
    def of(cls, pool: DrawPool, rng: np.random.Generator) -> _Followed:
        """As many directions as parameters and x allow, drawn at random."""
        d, x = pool.q.shape[2], pool.followed
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
        mixed = np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0]
        target = (x @ mixed)[:, :d]
        ranks = target.argsort(axis=0, kind="stable").argsort(axis=0)
        return cls(turn[:, : target.shape[1]], ndtri((ranks + 0.5) / max(len(x), 1)))

    def chances(self, pool: DrawPool, rows: slice, correlation: float) -> tuple[Array, Array]:
        """Chances (m, K) that some rows' draws play the truth, and how far each goes with x.

        Of a normal q's draws those with these chances are normal about `correlation` times x.
        """
        white = pool.standard_draws(rows) @ np.swapaxes(pool.inverse[rows], 1, 2)
        z, x = white @ self.directions, self.x[rows, None]
        lean = (z * x).sum(2)
        log_w = correlation * lean - correlation**2 * np.square(z).sum(2) / 2
        log_w /= 1 - correlation**2
        weight = np.exp(log_w - log_w.max(1, keepdims=True))
        return weight / weight.sum(1, keepdims=True), lean


def follow_x(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> DrawIndices:
    """Draws (T, n) whose whitened residuals have this correlation with functions of x.

    Residuals that are handed on between rows of few draws would fit none of them.
    """
    count, own = pool.directions(which, rng)
    followed = [_Followed.of(pool, own) for _ in range(count)]
    uniform, places = rng.random(which.shape), np.empty(which.shape, np.intp)
    for trial, one in enumerate(followed):
        trials = slice(None) if count == 1 else slice(trial, trial + 1)

        def chosen(rows: slice, one: _Followed = one, trials: slice = trials) -> DrawIndices:
            return pick_by_chance(*one.chances(pool, rows, strength), uniform[trials, rows])

        places[trials] = pool.by_rows(chosen).T
    return places


def followed_x_nats(pool: DrawPool, strength: float) -> float:
    """KL in nats, mean over rows, of the truth that is chosen so."""
    _, own = pool.directions(np.empty((1, len(pool.q)), np.intp), np.random.default_rng(0))
    one = _Followed.of(pool, own)
    return float(
        pool.by_rows(lambda rows: divergence(one.chances(pool, rows, strength)[0])).mean()
    )
