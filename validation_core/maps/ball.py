"""The ball of a localizer at places x, for the kept parameters and for every frame of its film."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.maps import grid
from validation_core.maps.scene import Places
from validation_core.narrow import narrow
from validation_core.scores.localizer import STARTS
from validation_core.types import Array, Draws

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


def ranks(distance: Distance, draws: Draws, rng: np.random.Generator) -> Ranks:
    """The truths' ranks by their distance from the centre."""
    scored = distance.table(draws)
    below, equal = statistics.count(scored.truth[0], scored.draws[0])
    u = statistics.randomised_ranks(below, equal, draws.q.shape[1], rng)
    return Ranks(u, equal > 0)


def at_places(distance: Distance, places: Places, u_star: float) -> AtPlaces:
    """The ball at every place."""
    radius, q_inside, truth_inside = [], [], []
    shown, truths = places.q.shape[1], places.truth.shape[1]
    for place in range(len(places.x)):
        one = slice(place, place + 1)
        groups = (places.q[one], places.truth[one], places.measured[one])
        far = distance.field(np.concatenate(groups, axis=1), places.x[one])[0]
        radius.append(np.quantile(far[shown + truths :], u_star))
        reach = radius[-1] * (1 + _EQUAL)
        q_inside.append(far[:shown] <= reach)
        truth_inside.append(far[shown : shown + truths] <= reach)
    return AtPlaces(
        distance.centre(places.x), np.array(radius), np.array(q_inside), np.array(truth_inside)
    )


def film(
    localizer: TrainedLocalizer, places: Places, u_star: float, axes: tuple[Array, Array],
    progress: Callable[[float], None],
) -> dict[str, Array]:  # fmt: skip
    """The ball of q-mass u_star at every check of the training: the film's arrays by name."""
    few = Places(places.x, places.q, places.truth[:, :0], places.measured[:, :FILM_MEASURED])
    coarse = tuple(axis[:: max(1, (len(axis) - 1) // grid.FILM)] for axis in axes)
    balls, fields = [], []
    for index in range(localizer.frames):
        distance = localizer.frame_of_film(index)
        balls.append(at_places(distance, few, u_star))
        fields.append(field(distance, places.x, *coarse))
        progress((index + 1) / localizer.frames)
    seen = localizer.history
    return {
        "film_step": seen["step"], "film_train": seen["train"], "film_held": seen["held"],
        "film_centre": narrow([ball.centre for ball in balls]),
        "film_radius": np.array([ball.radius for ball in balls], dtype=np.float32),
        "film_inside": np.array([ball.q_inside for ball in balls], dtype=np.uint8),
        "film_field": np.array(fields, dtype=np.float16),
        "kept": np.array(localizer.kept % localizer.frames),
        "starts": np.concatenate([seen[f"start_{name}"] for name in STARTS]),
    }  # fmt: skip


def field(distance: Distance, x: Array, grid_x: Array, grid_y: Array) -> Array:
    """Distances of the grid's places from each centre: (V, G, G), (V, G), or (0,) beyond D = 2."""
    if not grid_x.size:
        return np.zeros(0, dtype=np.float32)
    return grid.shaped(distance.field(grid.points(grid_x, grid_y), x), grid_x, grid_y)
