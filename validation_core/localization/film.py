"""The ball at places x, for the kept parameters and at every frame of its training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from validation_core.localization.grid import FILM_GRID, grid_points, reshape_to_grid
from validation_core.precision import narrow
from validation_core.scores.localizer import STARTS, MapPlaces
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.scores.trained_localizer import LocalizerDistance, TrainedLocalizer

FILM_MEASURED = 300
"""Draws of q at a place that give a frame's radius."""


def film_arrays(
    localizer: TrainedLocalizer,
    places: MapPlaces,
    u_star: float,
    axes: tuple[Array, Array],
    progress: Callable[[float], None],
) -> dict[str, Array]:
    """The ball of q-mass u_star at every check of the training: the film's arrays by name."""
    few = MapPlaces(places.x, places.q, places.truth[:, :0], places.measured[:, :FILM_MEASURED])
    coarse = tuple(axis[:: max(1, (len(axis) - 1) // FILM_GRID)] for axis in axes)
    balls, fields = [], []
    for index in range(localizer.checks):
        distance = localizer.at_checkpoint(index)
        balls.append(distance.ball(few, u_star))
        fields.append(distance_field(distance, places.x, *coarse))
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


def distance_field(distance: LocalizerDistance, x: Array, grid_x: Array, grid_y: Array) -> Array:
    """Distances of the grid's places from each centre: (V, G, G), (V, G), or (0,) beyond D = 2."""
    if not grid_x.size:
        return np.zeros(0, dtype=np.float32)
    return reshape_to_grid(distance.field(grid_points(grid_x, grid_y), x), grid_x, grid_y)
