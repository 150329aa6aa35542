"""Maps of a localizer's ball: the task, the ball at places x, and the draws it is measured by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import keys, statistics
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.localizer import STARTS, MapPlaces
from validation_core.scores.trained_scores import Simulated, Training, trace
from validation_core.study import Report, Study
from validation_core.types import Array, Benchmark, Pairs, PosteriorTable, narrow

if TYPE_CHECKING:
    from validation_core.scores.localizer_training import LocalizerDistance, TrainedLocalizer
    from validation_core.store import Store


_TRAINED = 0.8  # of the bar, where a localizer has to be trained
SMALLEST = 1e-300  # a p-value is never 0


# ---- What a map holds: plain arrays, so that a page and a file can ----


class TruthCurve(NamedTuple):
    """The curve along which the truth lies over all x, and how far it goes and turns."""

    points: Array
    """(L, 2)."""
    length: float
    turn: float
    """Radians in all."""


_NOTHING = np.zeros(0)


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
        """The grid of what is known at so many points a side (..., H): every few of the map's."""
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
        self.keep(store, self._maps(store, localizer, tell))
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
        summary = self._told(distance, choose, quote)
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
        film = _film_arrays(localizer, places, u_star, axes, lambda done: tell(0.5 + 0.5 * done))
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

    def _told(
        self, distance: LocalizerDistance, choose: PosteriorTable, quote: PosteriorTable
    ) -> dict[str, Array]:
        """What the two batches of ranks say of the ball and of q as a whole."""
        rng = stream(self.seed, "map", "ranks")
        chose, quoted = (distance.ranks(batch, rng) for batch in (choose, quote))
        estimate = statistics.ball(chose.u, quoted.u)
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
            return _of_table(table, self.places)
        return simulate_places(source, table.x, self.places, stream(self.seed, "map", "places"))

    def _difference(self, places: MapPlaces, axes: tuple[Array, Array]) -> Array:
        source = self.training.source
        return (
            density_difference_on_grid(source, places.x, axes)
            if isinstance(source, Simulated)
            else np.zeros(0)
        )


# ---- The ball at places x, for the kept parameters and for every frame of the film ----


FILM_MEASURED = 300
"""Draws of q at a place that give a frame's radius."""


def _film_arrays(
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


# ---- The places in theta at which a map's background is computed, and the densities there ----


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
    """Values (..., G G) at `points` as rows y and columns x: (..., G, G), (..., G) on a line."""
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
        for first in range(0, len(grid), _ROWS):
            rows = grid[first : first + _ROWS]
            log_density = law(rows, np.broadcast_to(observation, (len(rows), len(observation))))
            assert log_density is not None
            out[place, first : first + _ROWS] = log_density
    return out


# ---- What a map is drawn from: simulations and places that no network has learnt from ----


SHOWN = 300
"""Draws of q shown at a place."""
TRUTHS = 200
"""True draws shown beside them, where p can be sampled."""
MEASURED = 2000
"""Further draws of q whose distances give the radius."""
_SHOWN_NUMBERS = 700_000  # of all draws shown: bounds what a page and a file hold
_NUMBERS = 20_000_000  # of all draws measured: bounds the memory
_TAIL = 0.01  # the slider leaves out this much of x at either end


def split_in_halves(table: PosteriorTable) -> tuple[PosteriorTable, PosteriorTable]:
    """A table, whose rows come in no order, cut in two: what chooses a ball and what quotes it.

    Raises:
        ValueError: when either half would have fewer than two rows.
    """
    n = len(table) // 2
    if n < 2:
        raise ValueError(
            "One half of the test simulations chooses the ball and the other quotes it, at least "
            f"two each; got {len(table)} in all. Bring more simulations."
        )
    first, second = slice(n), slice(n, None)
    return (
        PosteriorTable(table.theta[first], table.x[first], table.q[first]),
        PosteriorTable(table.theta[second], table.x[second], table.q[second]),
    )


def places_of(benchmark: Benchmark, gamma: float, count: int, seed: int = 0) -> MapPlaces:
    """Draws of p and q at places x of a benchmark: what there is to see before anything learns.

    The same x at every gamma, and draws that move with it.
    """
    rng = stream(seed, "places")
    source = Simulated(benchmark=benchmark, gamma=gamma)
    if isinstance(benchmark, Pairs):
        return simulate_places(source, benchmark.pairs(1000, gamma, rng).x, count, rng)
    return simulate_places(source, benchmark.x(1000, rng), count, common(seed, "places", "draws"))


def simulate_places(
    source: Simulated, x: Array, count: int, rng: np.random.Generator
) -> MapPlaces:
    """`count` new places, new draws of p and q at each, in the order of a slider.

    One x: evenly between the 1% and the 99% quantile of x (n, M). More: as many fresh x, along
    the first principal component of x. Where theta comes with its x alone, one truth at each.
    """
    benchmark, gamma = source.benchmark, source.gamma
    if isinstance(benchmark, Pairs):
        return _with_truths(benchmark, gamma, x, count, rng)
    if x.shape[1] == 1:
        low, high = np.quantile(x[:, 0], [_TAIL, 1 - _TAIL])
        at = np.linspace(low, high, count)[:, None]
    else:
        at = benchmark.x(count, rng)
        at = at[np.argsort(first_component_scores(x, at), kind="stable")]
    d, _ = benchmark.dims
    most = max(5, _SHOWN_NUMBERS // (count * d))
    draws = min(SHOWN, most * SHOWN // (SHOWN + TRUTHS))
    truths = min(TRUTHS, most * TRUTHS // (SHOWN + TRUTHS))
    measured = _measured(benchmark, count)
    q = benchmark.q(np.repeat(at, draws + measured, axis=0), gamma, rng)
    q = q.reshape(count, draws + measured, d)
    truth = benchmark.theta(np.repeat(at, truths, axis=0), gamma, rng).reshape(count, truths, d)
    return MapPlaces(at, q[:, :draws], truth, q[:, draws:])


def _with_truths(
    benchmark: Pairs, gamma: float, x: Array, count: int, rng: np.random.Generator
) -> MapPlaces:
    """Fresh simulations as places."""
    pairs = benchmark.pairs(count, gamma, rng)
    order = np.argsort(first_component_scores(x, pairs.x), kind="stable")
    at, truth = pairs.x[order], pairs.theta[order]
    draws = min(SHOWN, max(3, _SHOWN_NUMBERS // truth.size))
    measured = _measured(benchmark, count)
    q = benchmark.draws(at, draws + measured, gamma, rng)
    return MapPlaces(at, q[:, :draws], truth[:, None], q[:, draws:])


def _measured(benchmark: Benchmark, count: int) -> int:
    """Further draws of q at each of so many places."""
    return min(MEASURED, max(100, _NUMBERS // (count * sum(benchmark.dims))))


def _of_table(table: PosteriorTable, count: int) -> MapPlaces:
    """Up to `count` rows of a table, evenly in the order of x or of its first principal component.

    Each has its own draws of q, shown and measured alike, and the one truth that it was made with.
    """
    x = table.x
    order = np.argsort(x[:, 0] if x.shape[1] == 1 else first_component_scores(x, x), kind="stable")
    ends = _TAIL * (len(x) - 1), (1 - _TAIL) * (len(x) - 1)
    rows = order[np.round(np.linspace(*ends, min(count, len(x)))).astype(int)]
    q = table.q[rows]
    draws = min(SHOWN, max(3, _SHOWN_NUMBERS // (len(rows) * q.shape[2])))
    return MapPlaces(x[rows], q[:, :draws], table.theta[rows][:, None], q)


def first_component_scores(x: Array, at: Array) -> Array:
    """Places at (V, M) along the first principal component of the standardised x (n, M): (V,)."""
    x = np.asarray(x, dtype=np.float64)[:1000]
    shift, scale = x.mean(0), x.std(0)
    scale = np.where(scale > 0, scale, np.inf)  # what never varies orders nothing
    z = (x - shift) / scale
    # The smaller of the two Gram matrices has the same leading direction.
    few = len(z) < z.shape[1]
    vector = np.linalg.eigh(z @ z.T if few else z.T @ z)[1][:, -1]
    direction = z.T @ vector if few else vector
    direction = direction * np.sign(direction[np.abs(direction).argmax()])  # else its sign is luck
    return np.asarray(((at - shift) / scale) @ direction)
