"""The course of an epidemic of a million people (SIR), by Runge and Kutta's fourth order."""

from __future__ import annotations

import numpy as np

from validation_core.pieces import slices
from validation_core.types import Array

DAYS = tuple(range(16, 161, 16))
"""When infected people are counted."""
_POPULATION = 1_000_000
_STEPS = 4  # of the solver, a day
_ROWS = 4096  # of rates that are solved together: their numbers stay near the processor


def infected_share(theta: Array) -> Array:
    """Share of the population that is infected on each day (n, 10), from one infected person.

    Args:
        theta: infection rate beta and recovery rate gamma, a day: (n, 2).
    """
    rates = np.asarray(theta, dtype=np.float64)
    out = np.empty((len(rates), len(DAYS)))
    for rows in slices(len(rates), _ROWS):
        out[rows] = _solved(*rates[rows].T)
    return out


def _solved(beta: Array, gamma: Array) -> Array:
    """The share of a few rows of rates."""
    susceptible = np.full_like(beta, 1 - 1 / _POPULATION)
    infected = np.full_like(beta, 1 / _POPULATION)
    step = 1 / _STEPS

    def slopes(s: Array, i: Array) -> tuple[Array, Array]:
        infections = beta * s * i
        return -infections, infections - gamma * i

    shares = []
    for day in range(1, DAYS[-1] + 1):
        for _ in range(_STEPS):
            s1, i1 = slopes(susceptible, infected)
            s2, i2 = slopes(susceptible + step / 2 * s1, infected + step / 2 * i1)
            s3, i3 = slopes(susceptible + step / 2 * s2, infected + step / 2 * i2)
            s4, i4 = slopes(susceptible + step * s3, infected + step * i3)
            susceptible = susceptible + step / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
            infected = infected + step / 6 * (i1 + 2 * i2 + 2 * i3 + i4)
        if day in DAYS:
            shares.append(infected)
    return np.stack(shares, axis=1)
