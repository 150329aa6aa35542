"""The records of a sweep: some trials of one method at one place, and a whole curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import keys, models, trials
from validation_core.models import Recipe, Simulated, Training
from validation_core.power import Trials
from validation_core.tasks import Live
from validation_core.types import Benchmark, Method

if TYPE_CHECKING:
    from validation_core.store import Store

_NETWORKS = ("classifier", "localizer", "scorer", "witness", "local")


@dataclass(frozen=True, kw_only=True)
class TrialsTask:
    """Some trials of one method at one gamma and one beta."""

    version: ClassVar[int] = 1

    source: Simulated
    method: Method
    network: Training | None
    beta: float
    design: Trials
    first: int
    count: int

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        last = self.first + self.count
        return f"{self.method.label}, {self.source.label}, trials {self.first + 1} to {last}"

    @property
    def gpu(self) -> bool:
        """Whether it runs a network: the others need not queue for a GPU."""
        drawn = models.network_behind(self.source.benchmark) is not None
        return drawn or self.method.reads in _NETWORKS

    @property
    def needs(self) -> frozenset[str]:
        """The networks' keys."""
        behind = models.network_behind(self.source.benchmark)
        return frozenset(keys.key(one) for one in (self.network, behind) if one is not None)

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Test, training the network where the store lacks it."""
        models.ready(store, self.source.benchmark)
        network = models.trained(store, self.network) if self.network else None
        read = network.at(self.beta) if network else None
        tally = trials.run(
            self.source.benchmark, self.source.gamma, read, self.method, self.design,
            range(self.first, self.first + self.count), lambda fraction: report(fraction, {}),
        )  # fmt: skip
        store.save(
            "results", self.key, {"pvalues": tally.pvalues, "statistics": tally.statistics},
            spec=keys.text(self),
            meta={"label": self.label, "seconds": tally.seconds, "draws_p": tally.draws_p,
                  "draws_q": tally.draws_q, "training": network.seconds if network else 0.0},
        )  # fmt: skip

    def load(self, store: Store) -> trials.Tally | None:
        """The stored trials, or None."""
        found = store.load("results", self.key)
        if found is None:
            return None
        meta: Mapping[str, Any] = found.meta
        return trials.Tally(
            found.arrays["pvalues"], found.arrays["statistics"], int(meta["draws_p"]),
            int(meta["draws_q"]), float(meta["seconds"]), float(meta["training"]),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One method over a whole sweep, in one record: what is shipped, or kept when it is done."""

    version: ClassVar[int] = 1

    benchmark: Benchmark
    method: Method
    gammas: tuple[float, ...]
    betas: tuple[float, ...]
    design: Trials
    recipe: Recipe
    seed: int

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    def save(self, store: Store, tallies: Sequence[trials.Tally]) -> None:
        """Keep one tally for each place."""
        arrays = {
            "pvalues": np.stack([tally.pvalues for tally in tallies]),
            "statistics": np.stack([tally.statistics for tally in tallies]),
            "costs": np.array([tally[2:] for tally in tallies]),
        }
        label = f"{self.method.label} on {self.benchmark.label}"
        store.save("results", self.key, arrays, spec=keys.text(self), meta={"label": label})

    def load(self, store: Store) -> list[trials.Tally] | None:
        """A tally for each place, or None."""
        found = store.load("results", self.key)
        if found is None:
            return None
        arrays = (found.arrays[name] for name in ("pvalues", "statistics", "costs"))
        return [
            trials.Tally(p, t, int(cost[0]), int(cost[1]), float(cost[2]), float(cost[3]))
            for p, t, cost in zip(*arrays, strict=True)
        ]
