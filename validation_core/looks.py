"""One trial opened up: a single test of a sweep with everything that its figures draw."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from validation_core import keys, models, trials
from validation_core.sweep import Place, Sweep, TrialsTask
from validation_core.tasks import Live
from validation_core.types import Array, Method

if TYPE_CHECKING:
    from validation_core.store import Store

_KEPT = 200_000  # numbers of a table's draws that are kept to be drawn


class Look(NamedTuple):
    """What one test found, and what it looked at."""

    statistic: float
    pvalue: float
    draws_p: int
    draws_q: int
    seconds: float
    effect: Mapping[str, float]
    arrays: Mapping[str, Array]
    learned: Mapping[str, float]
    """What the training of the network that it read said of it."""
    theta: Array
    """Draws of q at each x (n, K, D) of a small table; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class LookTask:
    """The first trial of some trials of a sweep, kept whole."""

    version: ClassVar[int] = 1

    trials: TrialsTask

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        return f"One test: {self.trials.method.label}, {self.trials.source.label}"

    @property
    def gpu(self) -> bool:
        """As its trials."""
        return self.trials.gpu

    @property
    def needs(self) -> frozenset[str]:
        """As its trials."""
        return self.trials.needs

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Test once, training the network where the store lacks it."""
        part = self.trials
        models.ready(store, part.source.benchmark)
        network = models.trained(store, part.network, report) if part.network else None
        start = time.perf_counter()
        outcome, table = trials.one(
            part.source.benchmark, part.source.gamma, network.at(part.beta) if network else None,
            part.method, part.design, part.first,
        )  # fmt: skip
        arrays = {f"outcome.{name}": np.asarray(a) for name, a in outcome.arrays.items()}
        if table is not None and table.q.size <= _KEPT:
            arrays["theta"] = table.q
        meta = {
            "label": self.label, "statistic": float(outcome.statistic),
            "pvalue": float(outcome.pvalue), "draws_p": outcome.budget.p,
            "draws_q": outcome.budget.q, "seconds": time.perf_counter() - start,
            "effect": {name: float(value) for name, value in outcome.effect.items()},
            "learned": dict(network.summary) if network else {},
        }  # fmt: skip
        store.save("results", self.key, arrays, spec=keys.text(self), meta=meta)

    def load(self, store: Store) -> Look | None:
        """The stored test, or None."""
        found = store.load("results", self.key)
        if found is None:
            return None
        meta: Mapping[str, Any] = found.meta
        theta = found.arrays.get("theta", np.zeros((0, 0, 0)))
        return Look(
            float(meta["statistic"]), float(meta["pvalue"]), int(meta["draws_p"]),
            int(meta["draws_q"]), float(meta["seconds"]), meta["effect"],
            keys.part(found.arrays, "outcome"), meta["learned"], theta,
        )  # fmt: skip


def look(sweep: Sweep, method: Method, place: Place) -> LookTask:
    """The first trial of a method at one place of a sweep."""
    return LookTask(trials=sweep.parts[method.label, place][0])
