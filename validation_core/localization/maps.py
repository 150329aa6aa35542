"""Maps of a localizer's ball: the task, the ball at places x, and the draws it is measured by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core import keys, statistics
from validation_core.localization.film import distance_field, film_arrays
from validation_core.localization.grid import FILM_GRID, density_difference_on_grid, grid_axes
from validation_core.localization.map_draws import draws_of_table, simulate_places, split_in_halves
from validation_core.precision import narrow
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.localizer import MapPlaces
from validation_core.scores.trained_scores import Simulated, Training, trace
from validation_core.study import Report, Study
from validation_core.text import SMALLEST
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.scores.trained_localizer import LocalizerDistance, TrainedLocalizer
    from validation_core.store import Store

_TRAINED = 0.8  # of the bar, where a localizer has to be trained


class TruthCurve(NamedTuple):
    """The curve along which the truth lies over all x, and how far it goes and turns."""

    points: Array
    """(L, 2)."""
    length: float
    turn: float
    """Radians in all."""


_NOTHING = np.zeros(0)


class Maps(NamedTuple):
    """A localizer's ball at V places x, estimated on fresh simulations, used for nothing else.

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
    """Like field: p - q as densities, empty where nobody knows them; see axes_of."""
    film_step: Array = _NOTHING
    """(F,) step of each frame."""
    film_train: Array = _NOTHING
    film_held: Array = _NOTHING
    """(F,) KS distances of the training and of the held-out anchors' ranks."""
    film_centre: Array = _NOTHING
    """(F, V, D)."""
    film_radius: Array = _NOTHING
    """(F, V)."""
    film_inside: Array = _NOTHING
    """(F, V, S) of the same draws q."""
    film_field: Array = _NOTHING
    """(F, V, H, H), (F, V, H) where D = 1, empty where D > 2; see axes_of."""
    kept: Array = _NOTHING
    """() the frame whose parameters were kept."""
    starts: Array = _NOTHING
    """(3,) KS distance of each start on all anchors (scores.localizer.STARTS); nan: not tried."""
    outline: Array = _NOTHING
    """(V, L, 2) the ball's rim, pieces with nan between them, where it is kept and field is not;
    stretches where D = 1."""
    spine: TruthCurve | None = None
    """Where it is kept; `bend` works it out otherwise."""

    def axes_of(self, values: Array) -> tuple[Array, Array]:
        """The grid of known values at so many points a side (..., H): every few of the map's."""
        stride = max(1, (len(self.grid_x) - 1) // max(1, values.shape[-1] - 1))
        return self.grid_x[::stride], self.grid_y[::stride]


@dataclass(frozen=True, kw_only=True)
class MapTask(Study[Maps], spec="map"):
    """Draw fresh simulations, rank them, and map the ball; the training's source says where from.

    A benchmark gives 2n new simulations; a table the half that its seed kept from training,
    whatever n and k are.
    """

    training: Training
    n: int = 1000
    """Simulations that choose u_star, and as many that quote it."""
    k: int = 200
    """Draws of q at each."""
    places: int = 41
    """Places x of the slider."""
    points: int = 61
    """Grid points a side: one more than a multiple of 30, so that the film's grid fits in."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 2 or self.k < 2 or self.places < 2:
            raise ValueError(
                "A map has at least two simulations in each batch, two draws of q at each and two "
                f"places; got n = {self.n}, k = {self.k}, places = {self.places}. Raise them."
            )
        if self.points < FILM_GRID + 1 or (self.points - 1) % FILM_GRID:
            raise ValueError(
                f"points is one more than a multiple of {FILM_GRID}; got {self.points}. Take 61."
            )

    @property
    def label(self) -> str:
        return f"Map {self.training.source.label}"

    @property
    def needs(self) -> frozenset[str]:
        """The localizer's key."""
        return frozenset({keys.key(self.training)})

    def run(self, store: Store, report: Report) -> None:
        """Map, training the localizer where the store lacks it."""
        localizer = self._localizer(store, report)
        course = {name: localizer.history[name].tolist() for name in ("step", "train", "held")}

        def tell(fraction: float) -> None:
            report(_TRAINED + (1 - _TRAINED) * fraction, {"history": course})

        tell(0.0)
        watch = Stopwatch()
        self.keep(store, self._maps(store, localizer, tell), seconds=watch.seconds)
        tell(1.0)

    def _localizer(self, store: Store, report: Report) -> TrainedLocalizer:
        course = trace(report)

        def tell(fraction: float, now: Mapping[str, float]) -> None:
            course(_TRAINED * fraction, now)

        localizer: TrainedLocalizer = trained_scores.trained(store, self.training, tell)
        return localizer

    def _maps(
        self, store: Store, localizer: TrainedLocalizer, tell: Callable[[float], None]
    ) -> Maps:
        source, distance = self.training.source, localizer.at()
        rng = stream(self.seed, "map", "simulations")
        table = source.test_table(2 * self.n, self.k, rng, seed=self.training.seed, store=store)
        choose, quote = split_in_halves(table)
        summary = self._ball_estimates(distance, choose, quote)
        tell(0.3)
        places = self._places(table)
        axes = grid_axes(places, self.points)
        u_star = float(summary["u_star"])
        here = distance.ball(places, u_star)
        mapped = {
            "x_at": places.x,
            "q": places.q,
            "truth": places.truth,
            "centre": here.centre,
            "radius": here.radius,
            "grid_x": axes[0],
            "grid_y": axes[1],
            "field": distance_field(distance, places.x, *axes),
            "difference": self._difference(places, axes),
        }
        tell(0.5)
        film = film_arrays(localizer, places, u_star, axes, lambda done: tell(0.5 + 0.5 * done))
        numbers: dict[str, Array] = {
            # A p-value may be too small for float32.
            name: narrow(array) if np.ndim(array) else np.asarray(array, np.float64)
            for name, array in (summary | mapped).items()
        }
        numbers |= {name: numbers[name].astype(np.float16) for name in ("field", "difference")}
        flags = {"q_inside": here.q_inside, "truth_inside": here.truth_inside}
        arrays = {
            **numbers,
            **{name: array.astype(np.uint8) for name, array in flags.items()},
            **film,
        }
        return Maps(**arrays)  # type: ignore[arg-type]

    def _ball_estimates(
        self, distance: LocalizerDistance, choose: PosteriorTable, quote: PosteriorTable
    ) -> dict[str, Array]:
        """Estimates for the ball and for q as a whole, from the two batches of ranks."""
        rng = stream(self.seed, "map", "ranks")
        chose, quoted = (distance.ranks(batch, rng) for batch in (choose, quote))
        estimate = statistics.ball_mass(chose.u, quoted.u)
        return {
            "u_choose": chose.u,
            "u_quote": quoted.u,
            "x_quote": quote.x,
            "u_star": estimate.u_star,
            "inside": estimate.inside,
            "inside_low": estimate.low,
            "inside_high": estimate.high,
            "distance": np.array(statistics.kolmogorov(quoted.u)),
            "pvalue": np.maximum(statistics.ks(quoted.u).pvalue, SMALLEST),
            "tied": np.concatenate([chose.tied, quoted.tied]).mean(),
        }

    def _places(self, table: PosteriorTable) -> MapPlaces:
        source = self.training.source
        if not isinstance(source, Simulated):
            return draws_of_table(table, self.places)
        return simulate_places(source, table.x, self.places, stream(self.seed, "map", "places"))

    def _difference(self, places: MapPlaces, axes: tuple[Array, Array]) -> Array:
        source = self.training.source
        return (
            density_difference_on_grid(source, places.x, axes)
            if isinstance(source, Simulated)
            else np.zeros(0)
        )
