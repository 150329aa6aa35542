"""The grid in theta behind a map, and the difference of densities on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.scores.localizer import MapPlaces
from validation_core.scores.trained_scores import Simulated
from validation_core.types import Array

FILM_GRID = 30
"""Steps a side of the film's grid, which every map's grid divides into."""
_GRID_TAIL = 0.004  # of all draws shown, left outside at either end
_MARGIN = 0.12  # of the width, beyond that
_ROWS = 4096  # of the grid whose densities are computed at a time
_PROBES = 31  # grid points that tell two laws apart


def grid_axes(places: MapPlaces, points: int) -> tuple[Array, Array]:
    """Axes (G,), (G,) of G = points over p's and q's draws at all places; empty beyond D = 2."""
    d = places.q.shape[2]
    if d > 2:
        return np.zeros(0), np.zeros(0)
    samples = np.concatenate([places.q.reshape(-1, d), places.truth.reshape(-1, d)])
    low, high = np.quantile(samples, [_GRID_TAIL, 1 - _GRID_TAIL], axis=0)
    width = np.where(high > low, high - low, 1.0)
    low, high = low - _MARGIN * width, high + _MARGIN * width
    lines = [np.linspace(*ends, points) for ends in zip(low, high, strict=True)]
    return lines[0], lines[1] if d == 2 else np.zeros(0)


def grid_points(grid_x: Array, grid_y: Array) -> Array:
    """The grid's places: (G G, 2) with x running fastest, (G, 1) on a line."""
    if not grid_y.size:
        return np.asarray(grid_x[:, None])
    across, up = np.meshgrid(grid_x, grid_y)
    return np.stack([across.ravel(), up.ravel()], axis=1)


def reshape_to_grid(values: Array, grid_x: Array, grid_y: Array) -> Array:
    """Values (..., G G) at `grid_points` as rows y, columns x: (..., G, G); (..., G) on a line."""
    sides = (grid_y.size, grid_x.size) if grid_y.size else (grid_x.size,)
    return values.reshape(*values.shape[:-1], *sides)


def density_difference_on_grid(source: Simulated, x: Array, axes: tuple[Array, Array]) -> Array:
    """p - q as densities at each x (V, M) on a grid: (V, H, G), (V, G), or (0,) where unknown."""
    if not axes[0].size:
        return np.zeros(0)
    values = density_difference(source, x, grid_points(*axes))
    return np.zeros(0) if values is None else reshape_to_grid(values, *axes)


def density_difference(source: Simulated, x: Array, grid: Array) -> Array | None:
    """p - q as densities at grid places (G, D) for each x (V, M): (V, G), or None."""
    benchmark, gamma = source.benchmark, source.gamma

    def log_p(theta: Array, at: Array) -> Array | None:
        return benchmark.log_p(theta, at, gamma)

    def log_q(theta: Array, at: Array) -> Array | None:
        of_p, ratio = log_p(theta, at), benchmark.log_ratio(theta, at, gamma)
        if of_p is None or ratio is None:
            return None
        with np.errstate(invalid="ignore"):
            nowhere = np.isneginf(of_p) & np.isneginf(ratio)
            return np.where(nowhere, -np.inf, of_p - ratio)

    p, q = (_at_each(law, x, grid) for law in (log_p, log_q))
    return None if p is None or q is None else np.exp(p) - np.exp(q)


def _at_each(
    law: Callable[[Array, Array], Array | None], x: Array, grid: Array
) -> NDArray[np.float64] | None:
    """A log density on the grid (G, D) at each x (V, M): (V, G).

    Places at which it says the same on a few points of the grid share its values: a law may
    ignore x, or know only its sign, and be dear.
    """
    few = grid[stream(0, "probes").permutation(len(grid))[:_PROBES]]  # in no line or symmetry
    probed = law(np.tile(few, (len(x), 1)), np.repeat(x, len(few), axis=0))
    if probed is None:
        return None
    probed = probed.reshape(len(x), len(few))
    out = np.empty((len(x), len(grid)))
    for place, observation in enumerate(x):
        same = np.flatnonzero(np.isclose(probed[:place], probed[place], 1e-9, 1e-9).all(1))
        if same.size and np.isfinite(probed[place]).sum() > _PROBES // 2:
            out[place] = out[same[0]]
            continue
        for part in slices(len(grid), _ROWS):
            rows = grid[part]
            log_density = law(rows, np.broadcast_to(observation, (len(rows), len(observation))))
            assert log_density is not None
            out[place, part] = log_density
    return out
