"""Theory of CoLT, measured for the localizer of a benchmark's gammas.

Chen, Bansal, Scott: p and q differ if and only if some ball has another mass under p than under q
(Theorem 1, under the doubling condition of Definition 1). The ACLD takes one radius for all x,
the distance d~ of the ranks a radius at each x that holds the same mass of q; their Theorem 3
takes one for the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.localization import map_draws
from validation_core.localization.over_gamma import GammaMapsStudy
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training
from validation_core.statistics import areas
from validation_core.study import Report, Study
from validation_core.types import Array, PosteriorTable, TableScores

if TYPE_CHECKING:
    from validation_core.scores.trained_localizer import LocalizerDistance, TrainedLocalizer
    from validation_core.store import Store

MASSES: Array = np.linspace(0, 1, 101)
"""q's mass in the balls whose difference is drawn."""
INNER: Array = np.array([0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5])
"""q's mass in the smaller of two concentric balls."""
_MULTIPLIERS = 999  # Gaussian multipliers behind the interval of the ACLD
_RATIO_DRAWS = 10  # of q at each x that the total variation is averaged over


class BallTheory(NamedTuple):
    """Result at G gammas for the learnt centre and embedding, on n fresh simulations."""

    gammas: Array
    """(G,)."""
    n: int
    acld: Array
    """(G, 3) largest mass difference of balls of one radius for all x: estimate, low, high."""
    distance: Array
    """(G, 3) d~, of balls of one q-mass at every x: estimate, low, high."""
    variation: Array
    """(G, 2) total variation averaged over x and its standard error; empty where unknown."""
    one_radius: Array
    """(G, MASSES) p's mass less q's in balls of one radius, by q's mass in them."""
    one_mass: Array
    """(G, MASSES) the same for balls of one q-mass."""
    doubling: Array
    """(G, 2, INNER) q's mass in a ball of twice the radius over that in the ball: median and
    largest over places x."""


@dataclass(frozen=True, kw_only=True)
class BallTheoryStudy(Study[BallTheory], spec="ball_theory"):
    """Compare both distances, and measure the doubling condition, for one localizer."""

    maps: GammaMapsStudy

    @property
    def label(self) -> str:
        return f"CoLT theory, {self.maps.benchmark.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        return self.maps.trainings

    def compute(self, store: Store, report: Report) -> BallTheory:
        """Measure on fresh simulations at each gamma."""
        maps = self.maps
        trained_scores.ready(store, maps.benchmark)
        localizer: TrainedLocalizer = trained_scores.trained(store, maps.training)
        measured: list[dict[str, NDArray[np.float32]]] = []
        for index in range(len(maps.gammas)):
            measured.append(self._at(localizer.at(), index))
            report((index + 1) / len(maps.gammas), {})
        stacked = {name: np.stack([each[name] for each in measured]) for name in measured[0]}
        return BallTheory(gammas=np.array(maps.gammas), n=maps.n, **stacked)

    def _at(self, distance: LocalizerDistance, index: int) -> dict[str, NDArray[np.float32]]:
        """Arrays of the result at one gamma, by field name."""
        maps, gamma = self.maps, self.maps.gammas[index]
        # The same x at every gamma, and none that a map has seen.
        rng = stream(maps.seed, "ball theory", "simulations")
        table = sampling.table(maps.benchmark, gamma, maps.n, maps.k, rng)
        held = PosteriorTable(table.theta, maps.over.at(table.x, index), table.q)
        scores = distance.table(held)
        below, equal = statistics.count(scores.truth[0], scores.draws[0])
        ties = stream(maps.seed, "ball theory", "ties")
        u = statistics.randomised_ranks(below, equal, maps.k, ties)
        difference = difference_by_radius(scores)
        fields: dict[str, object] = {
            "acld": largest_difference(difference, maps.seed),
            "distance": statistics.kolmogorov(u),
            "variation": self._variation(table, gamma),
            "one_radius": difference.mean(0),
            "one_mass": statistics.ecdf_difference(u, MASSES),
            "doubling": self._doubling(distance, index),
        }
        return {name: np.asarray(value, np.float32) for name, value in fields.items()}

    def _variation(self, table: PosteriorTable, gamma: float) -> Array:
        """Total variation and its standard error, (2,) or (0,), from rows of one x as one draw."""
        q = table.q[:, :_RATIO_DRAWS]
        rows = q.reshape(-1, q.shape[2])
        ratio = self.maps.benchmark.log_ratio(rows, np.repeat(table.x, q.shape[1], axis=0), gamma)
        if ratio is None:
            return np.zeros(0)
        missing = np.maximum(-np.expm1(np.minimum(ratio, 0)), 0).reshape(q.shape[:2]).mean(1)
        return np.array(areas.mean_with_error(missing))

    def _doubling(self, distance: LocalizerDistance, index: int) -> Array:
        """Doubling ratios (2, INNER) of q's draws about the centres of the map's places."""
        maps = self.maps
        places = map_draws.places_of(maps.benchmark, maps.gammas[index], maps.places, maps.seed)
        far = distance.field(places.measured, maps.over.at(places.x, index))
        ratios = doubling_ratios(far)
        return np.stack([np.median(ratios, axis=0), ratios.max(0)])


def difference_by_radius(scores: TableScores) -> Array:
    """Truth inside a ball less q's mass in it, at radii that hold MASSES of all of q's draws.

    Args:
        scores: distances from the centre of the truth (1, n) and of q's draws (1, n, K).

    Returns:
        One row for each simulation: (n, MASSES).
    """
    truth, draws = scores.truth[0], np.sort(scores.draws[0], axis=1)
    radii = np.quantile(draws, MASSES)
    inside = np.stack([np.searchsorted(row, radii, side="right") for row in draws])
    # Below every draw lies the empty ball, and above them all of the space.
    inside[:, 0] = 0
    held = truth[:, None] <= radii
    held[:, 0], held[:, -1] = False, True
    return np.asarray(held - inside / draws.shape[1])


def largest_difference(difference: Array, seed: int) -> tuple[float, float, float]:
    """Largest absolute mean over radii, with a 95% interval.

    Args:
        difference: rows (n, R), independent over simulations.
        seed: of the multipliers.

    Returns:
        Estimate, low and high: as far as the supremum of a Gaussian process with the rows'
        covariance reaches 19 of 20 times, at every radius at once.
    """
    mean = difference.mean(0)
    rng = stream(seed, "ball theory", "multipliers")
    noise = rng.standard_normal((_MULTIPLIERS, len(difference))) @ (difference - mean)
    reach = float(np.quantile(np.abs(noise).max(1) / len(difference), 0.95))
    largest = float(np.abs(mean).max())
    return largest, max(largest - reach, 0.0), min(largest + reach, 1.0)


def doubling_ratios(far: Array) -> Array:
    """Mass in a ball of twice the radius over that in the ball, where it holds INNER of the draws.

    Args:
        far: distances (V, K) of draws from the centre of each place.

    Returns:
        Ratios (V, INNER).
    """
    radii = np.quantile(far, INNER, axis=1)  # (INNER, V)
    outer, inner = ((far[None] <= radii[:, :, None] * times).mean(-1) for times in (2, 1))
    return np.asarray((outer / inner).T)
