"""CoLT's ball at one observation: q's mass in it, and the truth's at the rows nearby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from validation_core import sampling
from validation_core.diagnosis import learning
from validation_core.diagnosis.questions.in_theta.maps import strongest_parameters
from validation_core.diagnosis.questions.observation.local_test import DRAWS_SHOWN
from validation_core.localization import neighbours, over_x
from validation_core.precision import narrow
from validation_core.relabelling.pools import players
from validation_core.rng import stream
from validation_core.scores.localizer import MapPlaces
from validation_core.statistics import ball_mass
from validation_core.tables import TableUpload
from validation_core.types import Array


@dataclass(frozen=True, eq=False)
class LocalBall:
    """CoLT's ball at an observation: q's mass in it, and the truth's at the rows nearby."""

    u_star: float
    """q's mass in it."""
    rate: float
    """The truth's beyond that, with its interval."""
    low: float
    high: float
    rows: int
    worth: float
    centre: tuple[float, ...]
    """Coordinates of the parameters that are mapped."""
    mapped: tuple[int, ...]
    theta: Array
    """Draws of q: (K', P)."""
    inside: Array
    """1 for those in the ball: (K',)."""


def ball_at(
    localizer: Any, upload: TableUpload, seed: int, x: Array, draws: Array, truth: Array
) -> LocalBall:
    """The ball of CoLT's localizer at x: q's mass in it, and the truth's at the rows nearby."""
    table, rows = upload.data, learning.held_out_rows(upload, seed)
    distance = localizer.at()
    # The halves of the map's scene, whose draws are not copied.
    middle = len(rows) // 2
    choose, quote = (sampling.rows_view(table, half) for half in (rows[:middle], rows[middle:]))
    rng = stream(seed, "map", "ranks")  # the map's tie-breakers: the same ball
    chose, quoted = (distance.ranks(part, rng).u for part in (choose, quote))
    u_star = float(ball_mass(chose, quoted).u_star)
    weight = neighbours.weights(quote.x, x[None])
    rate, low, high, worth = over_x.rates(weight, quoted <= u_star, u_star)
    places = MapPlaces(x[None], draws[None], truth[None], draws[None])
    here = distance.ball(places, u_star)
    some = players(len(draws), DRAWS_SHOWN)
    inside = np.asarray(here.q_inside[0][some], np.float64)
    # Which parameters the ball tells apart: those over which being inside varies most.
    mapped = np.sort(strongest_parameters(draws[some].astype(np.float64), inside, 2))
    return LocalBall(
        u_star=u_star,
        rate=float(rate[0]),
        low=float(low[0]),
        high=float(high[0]),
        rows=int((weight[0] > 0).sum()),
        worth=float(worth[0]),
        centre=tuple(float(here.centre[0, column]) for column in mapped),
        mapped=tuple(int(column) for column in mapped),
        theta=narrow(draws[some][:, mapped]),
        inside=inside.astype(np.float32),
    )
