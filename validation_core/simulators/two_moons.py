"""Two moons: x lies on a crescent that theta shifts, and two theta give the same shift.

P = (r cos a + 1/4, r sin a) with a ~ U(-pi/2, pi/2), r ~ N(0.1, 0.01^2), and
x = P + (-|theta1 + theta2|, -theta1 + theta2) / sqrt 2. Given x, P determines theta up to the sign
of theta1 + theta2, and exists only where P1 >= x1: of the crescent's law that part is left, and of
that the part whose theta lies in the prior's box. The reference sampler of Lueckmann et al. (2021)
drops the condition, which is wrong for 8.8% of all x, and its density the factor 1 / r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from validation_core.pieces import find_equal_runs, slices
from validation_core.simulators.box_prior import BoxPrior
from validation_core.simulators.sources import LUECKMANN
from validation_core.types import Array, Paper

_RADIUS, _WIDTH, _OFFSET = 0.1, 0.01, 0.25
_ROOT = math.sqrt(2)
_ANGLES = 128  # of each of three sectors over which the box's mass is summed
MOST_TRIES = 10_000
"""Of drawing P at an x."""
_ROWS = 512  # whose masses are summed at a time


@dataclass(frozen=True, kw_only=True)
class TwoMoons(BoxPrior):
    """theta ~ U[-1, 1]^2; the posterior is two crescents, mirrored at theta1 = -theta2."""

    name: ClassVar[str] = "two_moons"
    title: ClassVar[str] = "Two moons"
    paper: ClassVar[Paper] = LUECKMANN
    edge: ClassVar[float] = 1.0

    @property
    def summary(self) -> str:
        return "a point on a crescent, shifted by theta so that two crescents of theta explain it"

    @property
    def dims(self) -> tuple[int, int]:
        return 2, 2

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        total, difference = theta[:, 0] + theta[:, 1], theta[:, 1] - theta[:, 0]
        return _crescent(len(theta), rng) + np.stack([-np.abs(total), difference], axis=1) / _ROOT

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        """Draw P until theta exists and lies in the box.

        Raises:
            ValueError: at an x that no theta of the box could have made.
        """
        theta, left = np.empty((len(x), 2)), np.arange(len(x))
        for _ in range(MOST_TRIES):
            at = x[left]
            point = _crescent(len(left), rng)
            sign = rng.choice([-1.0, 1.0], len(left))
            shift = point[:, 0] - at[:, 0]  # |theta1 + theta2| / sqrt 2
            drawn = _from_shift(sign * shift, at[:, 1] - point[:, 1])
            good = (shift >= 0) & self.inside(drawn)
            theta[left[good]] = drawn[good]
            left = left[~good]
            if not len(left):
                return theta
        raise _unreachable(x[left[0]])

    def log_posterior(self, theta: Array, x: Array) -> Array:
        """log p(theta | x).

        Raises:
            ValueError: at an x that no theta of the box could have made.
        """
        total, difference = theta[:, 0] + theta[:, 1], theta[:, 1] - theta[:, 0]
        first = x[:, 0] + np.abs(total) / _ROOT - _OFFSET
        second = x[:, 1] - difference / _ROOT
        # theta -> (s, d) keeps areas, and both signs of theta1 + theta2 are equally likely.
        density = _log_crescent(first, second) - math.log(2)
        inside = np.where(self.inside(theta), density, -np.inf)
        starts, counts = find_equal_runs(x)
        masses = _masses(x[starts])
        if not masses.all():
            raise _unreachable(x[starts][masses == 0][0])
        return np.asarray(inside - np.repeat(np.log(masses), counts))


def _unreachable(x: Array) -> ValueError:
    return ValueError(
        f"x of two moons lies where theta in [-1, 1]^2 can put it; got {x.tolist()}. Take x from "
        "the simulator."
    )


def _masses(x: Array) -> Array:
    """Share of P's law that theta of the box could have made at each x (n, 2): (n,).

    |theta1 + theta2| = sqrt 2 s and theta2 - theta1 = sqrt 2 d have a theta of the box if s >= 0
    and s + |d| <= sqrt 2: a triangle of P with a corner at x + (sqrt 2, 0). A ray from the
    crescent's centre cuts it in one interval of radii, whose mass is known; over angles that is
    summed by Gauss and Legendre.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_ANGLES)
    centres, halves = np.array([[-3, 0, 3], [1, 2, 1]])[..., None] * math.pi / 8
    angles = (centres + halves * nodes).ravel()
    shares = (halves * weights).ravel() / math.pi
    cosine, sine = np.cos(angles), np.sin(angles)
    masses = np.empty(len(x))
    for rows in slices(len(x), _ROWS):
        along, across = x[rows, :1] - _OFFSET, x[rows, 1:]
        low = along / cosine
        high = np.full_like(low, np.inf)
        for side in (-1.0, 1.0):  # r (cos + side sin) <= along + side across + sqrt 2
            slope, most = cosine + side * sine, along + side * across + _ROOT
            bound = most / slope
            high = np.where(slope > 0, np.minimum(high, bound), high)
            low = np.where(slope < 0, np.maximum(low, bound), low)
        inner, outer = ((end - _RADIUS) / _WIDTH for end in (low, np.maximum(low, high)))
        masses[rows] = (ndtr(outer) - ndtr(inner)) @ shares
    return masses


def _crescent(n: int, rng: np.random.Generator) -> Array:
    """Draw points P: (n, 2)."""
    angle = rng.uniform(-math.pi / 2, math.pi / 2, n)
    radius = _RADIUS + _WIDTH * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle) + _OFFSET, radius * np.sin(angle)], axis=1)


def _log_crescent(first: Array, second: Array) -> Array:
    """Log density of P less its offset, r > 0 and |angle| <= pi / 2: (n,)."""
    radius = np.hypot(first, second)
    off = (radius - _RADIUS) / _WIDTH
    with np.errstate(divide="ignore"):
        log = -(off**2) / 2 - math.log(math.sqrt(2 * math.pi) * _WIDTH * math.pi) - np.log(radius)
    return np.where(first >= 0, log, -np.inf)


def _from_shift(along: Array, across: Array) -> Array:
    """theta (n, 2) of (theta1 + theta2) / sqrt 2 and (theta2 - theta1) / sqrt 2."""
    return np.stack([along - across, along + across], axis=1) / _ROOT
