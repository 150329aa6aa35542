"""A map as a piece of work: train or load the localizer, draw afresh, measure its ball."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import keys, models, statistics
from validation_core.maps import ball, grid, scene
from validation_core.maps.record import Maps
from validation_core.models import Simulated, Training
from validation_core.narrow import narrow
from validation_core.rng import stream
from validation_core.tasks import Live, trace
from validation_core.types import Array, Draws

if TYPE_CHECKING:
    from validation_core.maps.scene import Places
    from validation_core.scores.localizer.trained import Distance, TrainedLocalizer
    from validation_core.store import Store

_TRAINED = 0.8  # of the bar, where a localizer has to be trained
_SMALLEST = 1e-300  # a p-value is never 0


@dataclass(frozen=True, kw_only=True)
class MapTask:
    """Draw fresh simulations, rank them, and map the ball; the training's source says where from.

    A benchmark gives 2n new simulations; a table the half that its seed kept from training,
    whatever n and k are.
    """

    version: ClassVar[int] = 1

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
        if self.points < grid.FILM + 1 or (self.points - 1) % grid.FILM:
            raise ValueError(
                f"points is one more than a multiple of {grid.FILM}; got {self.points}. Take 61."
            )

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        return f"Map {self.training.source.label}"

    @property
    def needs(self) -> frozenset[str]:
        """The localizer's key."""
        return frozenset({keys.key(self.training)})

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Map, training the localizer where the store lacks it."""
        localizer = self._localizer(store, report)
        course = {name: localizer.history[name].tolist() for name in ("step", "train", "held")}

        def tell(fraction: float) -> None:
            report(_TRAINED + (1 - _TRAINED) * fraction, {"history": course})

        tell(0.0)
        arrays = self._arrays(store, localizer, tell)
        store.save("results", self.key, arrays, spec=keys.text(self), meta={"label": self.label})
        tell(1.0)

    def load(self, store: Store) -> Maps | None:
        """The stored maps, or None."""
        found = store.load("results", self.key)
        return None if found is None else Maps(*(found.arrays[name] for name in Maps._fields))

    def _localizer(self, store: Store, report: Live) -> TrainedLocalizer:
        course = trace(report)

        def tell(fraction: float, now: Mapping[str, Any]) -> None:
            course(_TRAINED * fraction, now)

        localizer: TrainedLocalizer = models.trained(store, self.training, tell)
        return localizer

    def _arrays(
        self, store: Store, localizer: TrainedLocalizer, tell: Callable[[float], None]
    ) -> dict[str, Array]:
        source, distance = self.training.source, localizer.at()
        rng = stream(self.seed, "map", "simulations")
        table = source.test_table(2 * self.n, self.k, rng, seed=self.training.seed, store=store)
        choose, quote = scene.halves(table)
        told = self._told(distance, choose, quote)
        tell(0.3)
        places = self._places(table)
        axes = grid.axes(places, self.points)
        u_star = float(told["u_star"])
        here = ball.at_places(distance, places, u_star)
        mapped = {
            "x_at": places.x, "q": places.q, "truth": places.truth, "centre": here.centre,
            "radius": here.radius, "grid_x": axes[0], "grid_y": axes[1],
            "field": ball.field(distance, places.x, *axes),
            "difference": self._difference(places, axes),
        }  # fmt: skip
        tell(0.5)
        film = ball.film(localizer, places, u_star, axes, lambda done: tell(0.5 + 0.5 * done))
        numbers: dict[str, Array] = {
            # A p-value may be too small for float32.
            name: narrow(array) if np.ndim(array) else np.asarray(array, np.float64)
            for name, array in (told | mapped).items()
        }
        numbers |= {name: numbers[name].astype(np.float16) for name in ("field", "difference")}
        flags = {"q_inside": here.q_inside, "truth_inside": here.truth_inside}
        return {
            **numbers,
            **{name: array.astype(np.uint8) for name, array in flags.items()},
            **film,
        }

    def _told(self, distance: Distance, choose: Draws, quote: Draws) -> dict[str, Array]:
        """What the two batches of ranks say of the ball and of q as a whole."""
        rng = stream(self.seed, "map", "ranks")
        chose, quoted = (ball.ranks(distance, batch, rng) for batch in (choose, quote))
        found = statistics.ball(chose.u, quoted.u)
        return {
            "u_choose": chose.u, "u_quote": quoted.u, "x_quote": quote.x,
            "u_star": found.u_star, "inside": found.inside, "inside_low": found.low,
            "inside_high": found.high, "distance": np.array(statistics.kolmogorov(quoted.u)),
            "pvalue": np.maximum(statistics.ks(quoted.u).pvalue, _SMALLEST),
            "tied": np.concatenate([chose.tied, quoted.tied]).mean(),
        }  # fmt: skip

    def _places(self, table: Draws) -> Places:
        source = self.training.source
        if not isinstance(source, Simulated):
            return scene.of_table(table, self.places)
        return scene.simulated(source, table.x, self.places, stream(self.seed, "map", "places"))

    def _difference(self, places: Places, axes: tuple[Array, Array]) -> Array:
        source = self.training.source
        if not isinstance(source, Simulated) or not axes[0].size:
            return np.zeros(0)
        found = grid.difference(source, places.x, grid.points(*axes))
        return np.zeros(0) if found is None else grid.shaped(found, *axes)
