"""A table of a trained estimator on fresh simulations, to be diagnosed, and its true nats."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.explorers.training.nats import DRAWS, Nats, simulator_of, true_nats
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training
from validation_core.study import Report, Study
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store


class FreshTable(NamedTuple):
    """Simulations that the estimator has not seen, its draws there, and its true nats on them."""

    theta: Array
    """(n, D)"""
    x: Array
    """(n, M)"""
    q: Array
    """(n, k, D)"""
    nats: Nats

    def as_npz(self) -> bytes:
        """The table as a file that `npt.diagnose` and My posterior read."""
        packed = io.BytesIO()
        np.savez_compressed(packed, theta=self.theta, x=self.x, theta_q=self.q)
        return packed.getvalue()


@dataclass(frozen=True, kw_only=True)
class FreshTableStudy(Study[FreshTable], spec="fresh_table"):
    """n fresh simulations with k draws of a trained estimator at each x."""

    training: Training
    n: int = 1000
    k: int = 100
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Draw {self.n:,} fresh simulations"

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,)

    def compute(self, store: Store, report: Report) -> FreshTable:
        simulator = simulator_of(self.training)
        estimator = trained_scores.trained(store, self.training, report)
        rng = stream(self.seed, "fresh table")
        fresh = simulator.pairs(self.n, rng)
        q = estimator.draws(fresh.x, self.k, rng)
        nats = true_nats(simulator, estimator, fresh.theta, fresh.x, q[:, :DRAWS])
        return FreshTable(fresh.theta, fresh.x, q, nats)
