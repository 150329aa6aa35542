"""Defects that choose which draw plays the truth, each of exactly known nats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool, S, draw_parameter
from validation_core.diagnosis.injections.injection import Injection, NatsOfStrength, Pick, Spread
from validation_core.diagnosis.injections.modes import ModeDirection
from validation_core.types import Array

_TAUS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0)
Columns = tuple[int, ...]


@dataclass(frozen=True)
class TiltDirection:
    """One g: a product of standardised parameters, its sign and the parameters (one or two).

    Which draw of a row plays the truth is chosen with chance proportional to exp(tau g(theta)), g
    standardised within x. The truth is then one of q's draws, never moved, and its law differs
    from that of the others by exactly KL = mean_i sum_j pi_ij log(K pi_ij) nats, whatever q is:
    no density is needed, and no shape of q is assumed.
    """

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


Direction = TiltDirection | ModeDirection


def _chances(g: Array, tau: float) -> Array:
    """Chances (n, K) of each draw to play the truth: exp(tau g) over its sum."""
    weight = np.exp(tau * (g - g.max(1, keepdims=True)))
    return np.asarray(weight / weight.sum(1, keepdims=True))


def divergence(chance: Array) -> Array:
    """KL (n,) of a draw picked by these chances (n, K) from one picked evenly, in nats."""
    k = chance.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance > 0, chance * np.log(k * chance), 0.0).sum(1))


def _by_rows(
    pool: DrawPool, direction: Direction, of: Callable[[slice, Array], NDArray[S]]
) -> NDArray[S]:
    """A function of rows and their g (m, K), of some rows at a time."""
    return pool.by_rows(lambda rows: of(rows, direction.of(pool.standard_draws(rows))))


def choose_tilted_draws(
    pool: DrawPool, direction: Direction, tau: float, uniform: Array
) -> DrawIndices:
    """Places (T, n) of draws chosen by one uniform number (T, n) each, along growing g.

    A stronger tilt moves every choice to a draw with the same or a larger g, so that the same
    numbers give powers that differ by the strength alone.
    """

    def chosen(rows: slice, g: Array) -> DrawIndices:
        return pick_by_chance(_chances(g, tau), g, uniform[:, rows])

    return np.ascontiguousarray(_by_rows(pool, direction, chosen).T)


def pick_by_chance(chance: Array, lean: Array, uniform: Array) -> DrawIndices:
    """Places (n, T) of draws with these chances (n, K), along growing `lean` (n, K), by a uniform
    number (T, n) each."""
    order = lean.argsort(1, kind="stable")
    up = np.cumsum(np.take_along_axis(chance, order, axis=1), axis=1)
    up[:, -1] = 1.0
    n, k = chance.shape
    row = np.arange(n)
    # All rows at once: each one's steps from 0 to 1 stand after those of the row before.
    at = np.searchsorted((up + row[:, None]).ravel(), uniform + row, side="right")
    return np.asarray(order[row, np.clip(at - row * k, 0, k - 1)].T)


def tilt_nats(pool: DrawPool, direction: Direction, tau: float) -> float:
    """KL in nats, mean over rows."""
    return float(_by_rows(pool, direction, lambda _, g: divergence(_chances(g, tau))).mean())


def one_parameter_direction(places: DrawIndices, rng: np.random.Generator) -> TiltDirection:
    """A parameter at one of these places, up or down."""
    return TiltDirection((draw_parameter(places, rng),), float(rng.choice([-1.0, 1.0])))


def outward_direction(places: DrawIndices, rng: np.random.Generator) -> TiltDirection:
    """The square of a parameter: truths too far out, so that q is too narrow."""
    j = draw_parameter(places, rng)
    return TiltDirection((j, j))


def inward_direction(places: DrawIndices, rng: np.random.Generator) -> TiltDirection:
    """Truths too far in, so that q is too wide."""
    j = draw_parameter(places, rng)
    return TiltDirection((j, j), -1.0)


def mode_direction(places: DrawIndices, rng: np.random.Generator) -> ModeDirection:
    """The upper or the lower of two modes."""
    del places
    return ModeDirection(float(rng.choice([-1.0, 1.0])))


def two_parameter_direction(places: DrawIndices, rng: np.random.Generator) -> TiltDirection:
    """The product of two parameters, up or down; of only one, its square."""
    d = len(places)
    i = draw_parameter(np.arange(d), rng)
    j = (i + 1 + int(rng.integers(max(d - 1, 1)))) % d
    low, high = sorted((int(places[i]), int(places[j])))
    return TiltDirection((low, high), float(rng.choice([-1.0, 1.0])))


_Draw = Callable[[DrawIndices, np.random.Generator], Direction]
_Directions = Callable[[DrawIndices], Sequence[Direction]]


def _pick(draw: _Draw) -> Pick:
    """Trials that share a direction are chosen together."""

    def pick(
        pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
    ) -> DrawIndices:
        count, own = pool.directions(which, rng)
        directions = [draw(pool.moving, own) for _ in range(count)] * (len(which) // count)
        uniform, indices = rng.random(which.shape), np.empty(which.shape, np.intp)
        for direction in dict.fromkeys(directions):
            trials = [t for t, other in enumerate(directions) if other == direction]
            indices[trials] = choose_tilted_draws(pool, direction, strength, uniform[trials])
        return indices

    return pick


def _nats(draw: _Draw, directions_of: _Directions) -> NatsOfStrength:
    """Nats of the direction that all trials share, or their mean over all directions."""

    def size(pool: DrawPool, strength: float) -> float:
        if pool.direction_seed is None:
            each = directions_of(pool.moving)
            return float(np.mean([tilt_nats(pool, direction, strength) for direction in each]))
        _, own = pool.directions(np.empty((1, len(pool.q)), np.intp), np.random.default_rng(0))
        return tilt_nats(pool, draw(pool.moving, own), strength)

    return size


def _each(places: DrawIndices) -> list[TiltDirection]:
    return [TiltDirection((j,), sign) for j in places.tolist() for sign in (-1.0, 1.0)]


def _squares(sign: float) -> _Directions:
    return lambda places: [TiltDirection((j, j), sign) for j in places.tolist()]


def _pairs(places: DrawIndices) -> list[TiltDirection]:
    pairs = list(combinations(places.tolist(), 2)) or [(j, j) for j in places.tolist()]
    return [TiltDirection(pair, sign) for pair in pairs for sign in (-1.0, 1.0)]


def _tilt(
    name: str,
    cause: str,
    title: str,
    draw: _Draw,
    directions_of: _Directions,
    *,
    dims: int = 1,
    spread: Spread | None = None,
) -> Injection:
    return Injection(
        name=name,
        cause=cause,
        title=title,
        unit="nats",
        strengths=_TAUS,
        pick=_pick(draw),
        spread=("two" if dims == 2 else "one") if spread is None else spread,
        nats=_nats(draw, directions_of),
        exact=True,
        least_dims=dims,
    )


TILTS: Mapping[str, Injection] = keys.by_name(
    _tilt("tilt_bias", "bias", "tilted along one parameter", one_parameter_direction, _each),
    _tilt(
        "tilt_narrow",
        "too_narrow",
        "tilted inwards in one parameter",
        outward_direction,
        _squares(1.0),
    ),
    _tilt(
        "tilt_wide",
        "too_wide",
        "tilted outwards in one parameter",
        inward_direction,
        _squares(-1.0),
    ),
    _tilt(
        "tilt_correlation",
        "wrong_correlation",
        "tilted along two parameters' product",
        two_parameter_direction,
        _pairs,
        dims=2,
    ),
)
"""Defects that choose the truth, each of exactly known nats."""

MODE_TILT = _tilt(
    "tilt_mode",
    "missing_mode",
    "tilted towards one of the modes",
    mode_direction,
    lambda places: [ModeDirection(sign) for sign in (-1.0, 1.0)],
    spread="",
)
"""The same between modes: it changes nothing where q has one mode."""
