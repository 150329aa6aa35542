"""The ball at every gamma of a benchmark, by one localizer: the numbers that a page draws.

One localizer learns from draws at all gammas (`OverGamma`) and is held at each; one u* serves all,
and neighbouring gammas share their random numbers, so that nothing jumps from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core import sampling, statistics
from validation_core.localization import film, grid, map_draws
from validation_core.localization.maps import Maps, TruthCurve
from validation_core.localization.outline import rims, stacked
from validation_core.localization.over_x import LocalRate, RateCurve, RateHeatmap, local_rate
from validation_core.localization.truth_curves import truth_curve
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.localizer import BallAtPlaces, Localizer, MapPlaces
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.study import Report, Study
from validation_core.text import SMALLEST
from validation_core.types import Array, Benchmark, PosteriorTable

if TYPE_CHECKING:
    from validation_core.benchmarks.over_gamma import OverGamma
    from validation_core.scores.trained_localizer import LocalizerDistance, TrainedLocalizer
    from validation_core.store import Store

_SHADES = 127
"""Steps in which densities are kept on either side of 0, at each x: the resolution of a screen."""
_RANKED = 3  # coordinates of x whose curves are kept
PERMUTATIONS = 1999
_IN_PLANE = 120  # draws of q that are kept at a place; on a line all, which are counted in bins
_COARSE = 2  # every so many of the grid's points know the densities


class GammaMaps(NamedTuple):
    """A localizer's ball at G gammas and V places x, estimated on fresh simulations.

    As in `Maps`, D and M are dimensions of theta and x, S draws of q and T truths are shown at a
    place, and n simulations quote u*.
    """

    gammas: Array
    """(G,)."""
    u_star: float
    """q's mass in the ball, one for all gammas."""
    u: Array
    """(G, n) ranks of the simulations that quote it."""
    x: Array
    """(n, M) their data, the same at every gamma."""
    inside: Array
    """(G, 3) the truth's share in the ball, with its 95% Wilson interval."""
    distance: Array
    """(G, 3) d~: estimate, low, high."""
    pvalue: Array
    """(G,) of the exact KS test."""
    tied: Array
    """(G,) share of truths that tie with a draw."""
    x_at: Array
    """(V, M)."""
    centre: Array
    """(G, V, D)."""
    q: Array
    """(G, V, S, D)."""
    q_inside: Array
    """(G, V, S)."""
    truth: Array
    """(G or 1, V, T, D): one set where gamma does not touch p."""
    truth_inside: Array
    """(G, V, T)."""
    grid_x: Array
    grid_y: Array
    """Axes of the picture, as in `Maps`."""
    outline: Array
    """(G, V, L, 2), as in `Maps`; empty where D > 2."""
    difference: Array
    """(G, V, H, H) or (G, V, H): p - q as densities, empty where nobody knows them."""
    rates: tuple[LocalRate, ...]
    """Of each gamma: where along x the ball is wrong."""
    spine: TruthCurve | None
    """The curve along which p lies."""

    def at(self, index: int) -> Maps:
        """The map of one gamma, which has no film."""
        nothing = np.zeros(0)
        truth = self.truth[index if len(self.truth) > 1 else 0]
        inside, low, high = self.inside[index]
        return Maps(
            u_choose=nothing,
            u_quote=self.u[index],
            x_quote=self.x,
            u_star=np.asarray(self.u_star),
            inside=inside,
            inside_low=low,
            inside_high=high,
            distance=self.distance[index],
            pvalue=self.pvalue[index],
            tied=self.tied[index],
            x_at=self.x_at,
            centre=self.centre[index],
            radius=nothing,
            q=self.q[index].astype(np.float32),
            q_inside=self.q_inside[index],
            truth=truth.astype(np.float32),
            truth_inside=self.truth_inside[index],
            grid_x=self.grid_x,
            grid_y=self.grid_y,
            field=nothing,
            difference=self.difference[index] if self.difference.size else nothing,
            film_centre=np.zeros((0, *self.centre.shape[1:])),
            outline=self.outline[index].astype(np.float32) if self.outline.size else nothing,
            spine=self.spine,
        )

    def each(self) -> list[Maps]:
        """The map of every gamma."""
        return [self.at(index) for index in range(len(self.gammas))]


@dataclass(frozen=True, kw_only=True)
class GammaMapsStudy(Study[GammaMaps], spec="gamma_maps"):
    """Train one localizer for all gammas of a benchmark, and map its ball at each."""

    benchmark: Benchmark
    recipe: Localizer
    """Of a single gamma; see `training`."""
    n: int = 1000
    """Simulations that choose u*, and as many that quote it, at each gamma."""
    k: int = 200
    """Draws of q at each."""
    places: int = 15
    """Places x of the slider."""
    points: int = 61
    """Grid points a side on which outlines are traced; densities are known at every other."""
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Train and map {self.benchmark.label}"

    @property
    def gammas(self) -> tuple[float, ...]:
        return tuple(float(gamma) for gamma in self.benchmark.gammas)

    @property
    def over(self) -> OverGamma:
        """Training data of the localizer."""
        from validation_core.benchmarks.over_gamma import OverGamma

        return OverGamma(of=self.benchmark, grid=self.gammas)

    @property
    def training(self) -> Training:
        """The recipe's anchors at every gamma."""
        source = Simulated(benchmark=self.over, gamma=0.0)
        recipe = self.recipe.for_all_gammas(len(self.gammas))
        return Training(source=source, recipe=recipe, seed=self.seed)

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,)

    def compute(self, store: Store, report: Report) -> GammaMaps:
        """Train the localizer where the store lacks it, and hold it at every gamma."""
        trained_scores.ready(store, self.benchmark)
        localizer: TrainedLocalizer = trained_scores.trained(store, self.training)
        report(0.5, {})
        return _mapped(self, localizer, report)


def _mapped(study: GammaMapsStudy, localizer: TrainedLocalizer, report: Report) -> GammaMaps:
    gammas, distance = study.gammas, localizer.at()
    choose, quote, x, tied = _ranks(study, distance)
    grid = np.linspace(0.05, 0.95, 91)
    # Where the ranks depart from uniform most on average: the ball means the same at each gamma.
    u_star = float(grid[np.abs(statistics.ecdf_difference(choose, grid)).mean(0).argmax()])
    inside = (quote <= u_star).sum(1)
    low, high = statistics.wilson(inside, np.full(len(gammas), quote.shape[1]))
    report(0.6, {})
    drawn = [map_draws.places_of(study.benchmark, g, study.places, study.seed) for g in gammas]
    x_at = drawn[0].x
    axes = _axes(drawn, study.points)
    lines = [axis for axis in axes if axis.size]
    balls: list[BallAtPlaces] = []
    outlines: list[list[Array]] = []
    differences: list[Array] = []
    for index, places in enumerate(drawn):
        at = MapPlaces(study.over.at(x_at, index), places.q, places.truth, places.measured)
        ball = distance.ball(at, u_star)
        field = film.distance_field(distance, at.x, *axes)
        outlines.append(rims(lines, field, ball.radius) if lines else [])
        differences.append(_difference(study, gammas[index], x_at, axes))
        balls.append(ball)
        report(0.6 + 0.4 * (index + 1) / len(gammas), {})
    still = all((places.truth == drawn[0].truth).all() for places in drawn)
    shown = map_draws.SHOWN if study.benchmark.dims[0] == 1 else _IN_PLANE
    maps = GammaMaps(
        gammas=np.array(gammas),
        u_star=u_star,
        u=quote.astype(np.float16),
        x=x.astype(np.float32),
        inside=np.stack([inside / quote.shape[1], low, high], axis=1).astype(np.float32),
        distance=np.array([statistics.kolmogorov(u) for u in quote], np.float32),
        pvalue=np.maximum([statistics.ks(u).pvalue for u in quote], SMALLEST),
        tied=tied.astype(np.float32),
        x_at=x_at.astype(np.float32),
        centre=np.array([ball.centre for ball in balls], np.float32),
        q=np.array([places.q[:, :shown] for places in drawn], np.float16),
        q_inside=np.array([ball.q_inside[:, :shown] for ball in balls], np.uint8),
        truth=np.array([places.truth for places in drawn[: 1 if still else None]], np.float16),
        truth_inside=np.array([ball.truth_inside for ball in balls], np.uint8),
        grid_x=axes[0],
        grid_y=axes[1],
        outline=stacked(outlines) if lines else np.zeros(0),
        difference=np.array(differences, np.float16),
        rates=tuple(_rates(x, quote, u_star)),
        spine=None,
    )
    return maps._replace(spine=truth_curve(maps.at(len(gammas) - 1)))


def _ranks(
    study: GammaMapsStudy, distance: LocalizerDistance
) -> tuple[Array, Array, Array, Array]:
    """Ranks that choose u* and that quote it (G, n), the latter's x (n, M), ties (G,)."""
    choose, quote, tied = [], [], []
    x: Array = np.zeros(0)
    for index, gamma in enumerate(study.gammas):
        rng = stream(study.seed, "maps", "simulations")  # the same x at every gamma
        table = sampling.table(study.benchmark, gamma, 2 * study.n, study.k, rng)
        halves = map_draws.split_in_halves(table)
        x = halves[1].x
        ranks = [
            distance.ranks(
                PosteriorTable(half.theta, study.over.at(half.x, index), half.q),
                stream(study.seed, "maps", "ranks", side),
            )
            for side, half in enumerate(halves)
        ]
        choose.append(ranks[0].u)
        quote.append(ranks[1].u)
        tied.append(np.concatenate([side.tied for side in ranks]).mean())
    return np.array(choose), np.array(quote), x, np.array(tied)


def _axes(drawn: Sequence[MapPlaces], points: int) -> tuple[Array, Array]:
    """One grid over the draws at all gammas."""
    q, truth = (
        np.concatenate([getattr(places, side) for places in drawn]) for side in ("q", "truth")
    )
    return grid.grid_axes(drawn[0]._replace(q=q, truth=truth), points)


def _difference(study: GammaMapsStudy, gamma: float, x: Array, axes: tuple[Array, Array]) -> Array:
    """p - q on every other grid point, in steps of a 127th of its largest value at each x."""
    source = Simulated(benchmark=study.benchmark, gamma=gamma)
    few = [axis[::_COARSE] for axis in axes]
    difference = grid.density_difference_on_grid(source, x, (few[0], few[1]))
    if not difference.size:
        return difference
    largest = np.abs(difference).reshape(len(x), -1).max(1)
    step = np.where(largest > 0, largest / _SHADES, 1.0).reshape(-1, *[1] * (difference.ndim - 1))
    return np.asarray(np.round(difference / step) * step)


def _rates(x: Array, u: Array, u_star: float) -> list[LocalRate]:
    """At each gamma, in half precision; of many coordinates the same few at all."""
    m = x.shape[1]
    count = max(PERMUTATIONS, 50 * m - 1)
    rates = [local_rate(x, ranks, u_star, permutations=count, shown=m) for ranks in u]
    if rates[0].heat is None:
        strength = np.zeros(m)
        for rate in rates:
            strength[rate.coordinates] += -np.log(rate.pvalues)
        kept = np.argsort(-strength, kind="stable")[:_RANKED]
        rates = [rate.of(kept) for rate in rates]
    return [_halved(rate) for rate in rates]


def _halved(rate: LocalRate) -> LocalRate:
    """Half the precision, but for places."""
    curves = tuple(curve._replace(**_half(curve, ("at",))) for curve in rate.curves)
    heat = rate.heat and rate.heat._replace(**_half(rate.heat, ("grid_x", "grid_y")))
    return rate._replace(curves=curves, heat=heat)


def _half(record: RateCurve | RateHeatmap, but: Sequence[str]) -> dict[str, Array]:
    fields = record._asdict().items()
    return {
        name: array.astype(np.float32 if name in but else np.float16) for name, array in fields
    }
