"""Defects of a known size in nats: q's own draws play the truth, but not with equal chances.

Which draw of a row plays the truth is chosen with chance proportional to exp(tau g(theta)), g a
fixed direction standardised within x. The truth is then one of q's draws, never moved, and its
law differs from that of the others by exactly KL = mean_i sum_j pi_ij log(K pi_ij) nats, whatever
q is: no density is needed, and no shape of q is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from validation_core.diagnosis.questions.injections import (
    INJECTIONS,
    Injection,
    Nats,
    Pick,
    Pool,
    Which,
)
from validation_core.types import Array

_ROWS = 256  # worked on at a time
_TAUS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0)

Columns = tuple[int, ...]


@dataclass(frozen=True)
class Direction:
    """One g: a product of standardised parameters, its sign and the parameters (one or two)."""

    columns: Columns
    sign: float = 1.0

    def of(self, z: Array) -> Array:
        """g (n, K) of standardised draws (n, K, D), standardised within each row.

        A row in which g does not vary has g = 0: every draw is as likely as any other.
        """
        g = self.sign * z[..., list(self.columns)].prod(2)
        sd = g.std(1, keepdims=True)
        still = sd <= 1e-9 * np.maximum(np.abs(g).max(1, keepdims=True), 1.0)
        standard = (g - g.mean(1, keepdims=True)) / np.where(still, 1.0, sd)
        return np.asarray(np.where(still, 0.0, standard))


def chances(g: Array, tau: float) -> Array:
    """Chances (n, K) of each draw to play the truth: exp(tau g) over its sum."""
    weight = np.exp(tau * (g - g.max(1, keepdims=True)))
    return np.asarray(weight / weight.sum(1, keepdims=True))


def divergence(chance: Array) -> Array:
    """KL (n,) of a draw picked by these chances (n, K) from one picked evenly, in nats."""
    k = chance.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance > 0, chance * np.log(k * chance), 0.0).sum(1))


def _blocks(pool: Pool, direction: Direction) -> Iterator[tuple[slice, Array]]:
    """g of some rows at a time, in float64."""
    for start in range(0, len(pool.q), _ROWS):
        rows = slice(start, start + _ROWS)
        z = (np.asarray(pool.q[rows], np.float64) - pool.mean[rows, None]) / pool.sd[rows, None]
        yield rows, direction.of(z)


def chosen(pool: Pool, direction: Direction, tau: float, uniform: Array) -> Which:
    """Places (T, n) of draws chosen by one uniform number (T, n) each, along growing g.

    A stronger tilt moves every choice to a draw with the same or a larger g, so that the same
    numbers give powers that differ by the strength alone.
    """
    which = np.empty(uniform.shape, dtype=np.intp)
    for rows, g in _blocks(pool, direction):
        order = g.argsort(1, kind="stable")
        chance = chances(np.take_along_axis(g, order, axis=1), tau)
        n, k = chance.shape
        up = np.cumsum(chance, axis=1)
        up[:, -1] = 1.0
        row = np.arange(n)
        # All rows at once: each one's steps from 0 to 1 stand after those of the row before.
        at = np.searchsorted((up + row[:, None]).ravel(), uniform[:, rows] + row, side="right")
        which[:, rows] = order[row, np.clip(at - row * k, 0, k - 1)]
    return which


def nats(pool: Pool, direction: Direction, tau: float) -> float:
    """KL in nats, mean over rows."""
    return float(
        np.concatenate([divergence(chances(g, tau)) for _, g in _blocks(pool, direction)]).mean()
    )


def _drawn(d: int, rng: np.random.Generator) -> int:
    return int(rng.integers(d, size=1)[0])  # as `Pool.parameter` draws it


def _one(d: int, rng: np.random.Generator) -> Direction:
    """A parameter, up or down."""
    return Direction((_drawn(d, rng),), float(rng.choice([-1.0, 1.0])))


def _out(d: int, rng: np.random.Generator) -> Direction:
    """The square of a parameter: truths too far out, so that q is too narrow."""
    j = _drawn(d, rng)
    return Direction((j, j))


def _in(d: int, rng: np.random.Generator) -> Direction:
    """Truths too far in, so that q is too wide."""
    j = _drawn(d, rng)
    return Direction((j, j), -1.0)


def _two(d: int, rng: np.random.Generator) -> Direction:
    """The product of two parameters, up or down."""
    i = _drawn(d, rng)
    j = (i + 1 + int(rng.integers(d - 1))) % d
    return Direction((min(i, j), max(i, j)), float(rng.choice([-1.0, 1.0])))


Draw = Callable[[int, np.random.Generator], Direction]


def _pick(draw: Draw) -> Pick:
    """Trials that share a direction are chosen together."""

    def pick(pool: Pool, which: Which, strength: float, rng: np.random.Generator) -> Which:
        count, own = pool.ways(which, rng)
        directions = [draw(pool.q.shape[2], own) for _ in range(count)] * (len(which) // count)
        uniform, indices = rng.random(which.shape), np.empty(which.shape, np.intp)
        for direction in dict.fromkeys(directions):
            trials = [t for t, other in enumerate(directions) if other == direction]
            indices[trials] = chosen(pool, direction, strength, uniform[trials])
        return indices

    return pick


def _nats(draw: Draw, directions_of: Callable[[int], list[Direction]]) -> Nats:
    """Of the direction that all trials share, or the mean over all that they may have."""

    def size(pool: Pool, strength: float) -> float:
        d = pool.q.shape[2]
        if pool.way is None:
            return float(
                np.mean([nats(pool, direction, strength) for direction in directions_of(d)])
            )
        _, own = pool.ways(np.empty((1, len(pool.q)), np.intp), np.random.default_rng(0))
        return nats(pool, draw(d, own), strength)

    return size


def _each(d: int) -> list[Direction]:
    return [Direction((j,), sign) for j in range(d) for sign in (-1.0, 1.0)]


def _squares(sign: float) -> Callable[[int], list[Direction]]:
    return lambda d: [Direction((j, j), sign) for j in range(d)]


def _pairs(d: int) -> list[Direction]:
    return [
        Direction((i, j), sign) for i in range(d) for j in range(i + 1, d) for sign in (-1.0, 1.0)
    ]


def _tilt(
    name: str,
    cause: str,
    title: str,
    draw: Draw,
    directions_of: Callable[[int], list[Direction]],
    *,
    dims: int = 1,
) -> Injection:
    return Injection(
        name=name,
        cause=cause,
        title=title,
        unit="nats",
        strengths=_TAUS,
        pick=_pick(draw),
        spread="two" if dims == 2 else "one",
        nats=_nats(draw, directions_of),
        exact=True,
        least_dims=dims,
    )


TILTS: Mapping[str, Injection] = {
    tilt.name: tilt
    for tilt in (
        _tilt("tilt_bias", "bias", "tilted along one parameter", _one, _each),
        _tilt("tilt_narrow", "too_narrow", "tilted inwards in one parameter", _out, _squares(1.0)),
        _tilt("tilt_wide", "too_wide", "tilted outwards in one parameter", _in, _squares(-1.0)),
        _tilt(
            "tilt_correlation",
            "wrong_correlation",
            "tilted along two parameters' product",
            _two,
            _pairs,
            dims=2,
        ),
    )
}
"""Defects that choose the truth, each of exactly known nats."""

DEFECTS: Mapping[str, Injection] = {**INJECTIONS, **TILTS}
"""All that can be put into a table."""
