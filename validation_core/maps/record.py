"""What a map holds: plain arrays, so that a page and a file can."""

from __future__ import annotations

from typing import NamedTuple

from validation_core.types import Array


class Maps(NamedTuple):
    """A localizer's ball at V places x, told by fresh simulations that shaped nothing.

    D, M: dimensions of theta and x; S draws of q and T truths shown at a place; G grid points a
    side (one axis where D = 1, no grid where D > 2); F frames of the training film.
    """

    u_choose: Array
    """(n,) ranks of the simulations that chose u_star."""
    u_quote: Array
    """(n,) ranks of those that quote it."""
    x_quote: Array
    """(n, M) their data."""
    u_star: Array
    """() q's mass in the ball; the truth's share in it, and its 95% Wilson interval: ()."""
    inside: Array
    inside_low: Array
    inside_high: Array
    distance: Array
    """(3,) d~: estimate, low, high, of u_quote."""
    pvalue: Array
    """() of the exact KS test of u_quote."""
    tied: Array
    """() share of truths that tie with a draw: above 1%, phi has collapsed somewhere."""
    x_at: Array
    """(V, M) the places of the slider, in its order."""
    centre: Array
    """(V, D) theta_l(x) in the parameters' own units."""
    radius: Array
    """(V,) the u_star-quantile of q's distances at x: the ball's radius in phi."""
    q: Array
    """(V, S, D) draws of q shown."""
    q_inside: Array
    """(V, S) 1 where a draw is in the ball."""
    truth: Array
    """(V, T, D) true draws at the same x: many on a benchmark, the one there is on an upload."""
    truth_inside: Array
    """(V, T)."""
    grid_x: Array
    """(G,) of the first parameter, empty where D > 2."""
    grid_y: Array
    """(G,) of the second, empty where D != 2."""
    field: Array
    """(V, G, G) distances in phi of the grid's places (rows y, columns x), (V, G) where D = 1."""
    difference: Array
    """Like field: p - q as densities, empty where nobody knows them."""
    film_step: Array
    """(F,) step of each frame."""
    film_train: Array
    film_held: Array
    """(F,) KS distances of the training and of the held-out anchors' ranks."""
    film_centre: Array
    """(F, V, D)."""
    film_radius: Array
    """(F, V)."""
    film_inside: Array
    """(F, V, S) of the same draws q."""
    film_field: Array
    """(F, V, H, H) at film_axes, (F, V, H) where D = 1, empty where D > 2."""
    kept: Array
    """() the frame whose parameters were kept."""
    starts: Array
    """(3,) KS distance of each start on all anchors (scores.localizer.STARTS); nan: not tried."""

    @property
    def film_axes(self) -> tuple[Array, Array]:
        """The grid of film_field: every few points of the map's."""
        stride = (len(self.grid_x) - 1) // max(1, self.film_field.shape[-1] - 1)
        return self.grid_x[:: max(1, stride)], self.grid_y[:: max(1, stride)]
