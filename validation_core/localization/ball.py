"""The ball of a localizer at places x, for the kept parameters and for every frame of its film."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.localization.scene import Places
from validation_core.models import Simulated
from validation_core.narrow import narrow
from validation_core.rng import stream
from validation_core.scores.localizer import STARTS
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.scores.localizer.trained import Distance, TrainedLocalizer


FILM_MEASURED = 300
"""Draws of q at a place that give a frame's radius."""
_EQUAL = 1e-5  # relative: what ties may differ by where a matrix product rounds


class Ranks(NamedTuple):
    """Randomised ranks (n,) of the truth's distance, and which truths tie with a draw (n,)."""

    u: Array
    tied: NDArray[np.bool_]


class AtPlaces(NamedTuple):
    """The ball of q-mass u_star at V places; flags are 1 inside."""

    centre: Array  # (V, D)
    radius: Array  # (V,)
    q_inside: Array  # (V, S)
    truth_inside: Array  # (V, T)


def ranks(distance: Distance, draws: PosteriorTable, rng: np.random.Generator) -> Ranks:
    """The truths' ranks by their distance from the centre."""
    scored = distance.table(draws)
    below, equal = statistics.count(scored.truth[0], scored.draws[0])
    u = statistics.randomised_ranks(below, equal, draws.q.shape[1], rng)
    return Ranks(u, equal > 0)


def at_places(distance: Distance, places: Places, u_star: float) -> AtPlaces:
    """The ball at every place."""
    radius, q_inside, truth_inside = [], [], []
    draws, truths = places.q.shape[1], places.truth.shape[1]
    for place in range(len(places.x)):
        part = slice(place, place + 1)
        groups = (places.q[part], places.truth[part], places.measured[part])
        far = distance.field(np.concatenate(groups, axis=1), places.x[part])[0]
        radius.append(np.quantile(far[draws + truths :], u_star))
        reach = radius[-1] * (1 + _EQUAL)
        q_inside.append(far[:draws] <= reach)
        truth_inside.append(far[draws : draws + truths] <= reach)
    return AtPlaces(
        distance.centre(places.x), np.array(radius), np.array(q_inside), np.array(truth_inside)
    )


def film(
    localizer: TrainedLocalizer,
    places: Places,
    u_star: float,
    axes: tuple[Array, Array],
    progress: Callable[[float], None],
) -> dict[str, Array]:
    """The ball of q-mass u_star at every check of the training: the film's arrays by name."""
    few = Places(places.x, places.q, places.truth[:, :0], places.measured[:, :FILM_MEASURED])
    coarse = tuple(axis[:: max(1, (len(axis) - 1) // FILM)] for axis in axes)
    balls, fields = [], []
    for index in range(localizer.checks):
        distance = localizer.at_checkpoint(index)
        balls.append(at_places(distance, few, u_star))
        fields.append(field(distance, places.x, *coarse))
        progress((index + 1) / localizer.checks)
    history = localizer.history
    return {
        "film_step": history["step"],
        "film_train": history["train"],
        "film_held": history["held"],
        "film_centre": narrow([ball.centre for ball in balls]),
        "film_radius": np.array([ball.radius for ball in balls], dtype=np.float32),
        "film_inside": np.array([ball.q_inside for ball in balls], dtype=np.uint8),
        "film_field": np.array(fields, dtype=np.float16),
        "kept": np.array(localizer.kept % localizer.checks),
        "starts": np.concatenate([history[f"start_{name}"] for name in STARTS]),
    }


def field(distance: Distance, x: Array, grid_x: Array, grid_y: Array) -> Array:
    """Distances of the grid's places from each centre: (V, G, G), (V, G), or (0,) beyond D = 2."""
    if not grid_x.size:
        return np.zeros(0, dtype=np.float32)
    return shaped(distance.field(points(grid_x, grid_y), x), grid_x, grid_y)


# ---- The places in theta at which a map's background is computed, and the densities there ----


FILM = 30
"""Steps a side of the film's grid, which every map's grid divides into."""
_TAIL = 0.004  # of all draws shown, left outside at either end
_MARGIN = 0.12  # of the width, beyond that
_ROWS = 4096  # of the grid whose densities are computed at a time
_PROBES = 31  # grid points that tell two laws apart


def axes(places: Places, points: int) -> tuple[Array, Array]:
    """Axes (G,), (G,) of G = points over p's and q's draws at all places; empty beyond D = 2."""
    d = places.q.shape[2]
    if d > 2:
        return np.zeros(0), np.zeros(0)
    samples = np.concatenate([places.q.reshape(-1, d), places.truth.reshape(-1, d)])
    low, high = np.quantile(samples, [_TAIL, 1 - _TAIL], axis=0)
    width = np.where(high > low, high - low, 1.0)
    low, high = low - _MARGIN * width, high + _MARGIN * width
    lines = [np.linspace(*ends, points) for ends in zip(low, high, strict=True)]
    return lines[0], lines[1] if d == 2 else np.zeros(0)


def points(grid_x: Array, grid_y: Array) -> Array:
    """The grid's places: (G G, 2) with x running fastest, (G, 1) on a line."""
    if not grid_y.size:
        return np.asarray(grid_x[:, None])
    across, up = np.meshgrid(grid_x, grid_y)
    return np.stack([across.ravel(), up.ravel()], axis=1)


def shaped(values: Array, grid_x: Array, grid_y: Array) -> Array:
    """Values (..., G G) at `points` as rows y and columns x: (..., G, G), (..., G) on a line."""
    sides = (grid_y.size, grid_x.size) if grid_y.size else (grid_x.size,)
    return values.reshape(*values.shape[:-1], *sides)


def difference(source: Simulated, x: Array, grid: Array) -> Array | None:
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
        for first in range(0, len(grid), _ROWS):
            rows = grid[first : first + _ROWS]
            log_density = law(rows, np.broadcast_to(observation, (len(rows), len(observation))))
            assert log_density is not None
            out[place, first : first + _ROWS] = log_density
    return out
