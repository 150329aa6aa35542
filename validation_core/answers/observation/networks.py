"""The local classifiers of a table as networks that are kept: learnt once, asked at any x_o.

References:
    L-C2ST: local diagnostics for posterior approximations in simulation-based inference,
    Linhart, Gramfort & Rodrigues (2023): the null classifiers serve every observation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import sampling
from validation_core.diagnosis import learning, tasks
from validation_core.maps.near import Reduced, reduced
from validation_core.rng import stream
from validation_core.scores.local import Local, LocalScore
from validation_core.types import Array, Benchmark, Draws

if TYPE_CHECKING:
    from validation_core.store import Store
    from validation_core.training import Report

ROWS = 3000
"""Rows that the classifiers learn from, at most: bounds their time."""
_DRAWS = 16  # of which one is taken at random
_RECIPE = Local(nulls=299)


@dataclass(frozen=True, kw_only=True)
class Half:
    """One half of an uploaded table as a source of training rows: the other is looked at."""

    version: ClassVar[int] = 2

    digest: str
    second: bool = False
    """Learn from the rows that the tests look at, to look at one of those they learn from."""

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return f"Uploaded table {self.digest[:8]}, {'second' if self.second else 'first'} half"

    def training_set(self, recipe: Any, seed: int, store: Store) -> Any:
        """That half's rows."""
        rows = self._half(self.second, seed, store, recipe.most)
        return recipe.of_table(rows, stream(seed, "observation", "rows", int(self.second)))

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> Draws:
        """The other half's."""
        del n, k, rng
        return self._half(not self.second, seed, store)

    def _half(self, second: bool, seed: int, store: Store, most: int | None = None) -> Draws:
        """The rows that the other networks learn from, or the second half, and a few draws."""
        upload = tasks.table(store, self.digest)
        if not isinstance(upload.data, Draws):
            raise ValueError(
                "A local test learns from draws of q at each x; got two samples p and q, which "
                "have none. Upload a table of theta, x and theta_q."
            )
        return sampling.take(upload.data, learning.places(upload, seed)[second], most)


@dataclass(frozen=True, kw_only=True)
class Locals:
    """How the local classifiers of a table are trained: `Local`'s, with x in few numbers."""

    version: ClassVar[int] = 1

    local: Local = _RECIPE

    @property
    def most(self) -> int:
        """Draws at each x that are looked at, at most."""
        return _DRAWS

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Draws:
        """Rows of a benchmark to learn from."""
        return sampling.table(benchmark, gamma, 1000, 1, rng)

    def of_table(self, train: Draws, rng: np.random.Generator) -> Draws:
        """Up to ROWS rows of a table, in no order."""
        some = np.sort(rng.permutation(len(train))[:ROWS])
        return Draws(train.theta[some], train.x[some], train.q[some, :_DRAWS])

    def learn_all(
        self, data: Sequence[Draws], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedLocals]:
        """The classifier and its nulls on each table."""
        from validation_core import nets

        found = []
        for one, seed in zip(data, seeds, strict=True):
            start = time.perf_counter()
            fewer = reduced(one.x)
            small = Draws(one.theta, fewer(one.x), one.q)
            score = self.local.learn(small, stream(seed, "observation", "local"))
            seconds = time.perf_counter() - start
            found.append(TrainedLocals(score, fewer, len(one), seconds, nets.pick_device()))
        return found

    def read(self, arrays: Mapping[str, Array], *, seconds: float, device: str) -> TrainedLocals:
        """What `TrainedLocals.arrays` gave."""
        own = {"shift", "scale", "x_shift", "x_matrix", "rows"}
        network = {name: array for name, array in arrays.items() if name not in own}
        score = LocalScore(network, arrays["shift"], arrays["scale"])
        fewer = Reduced(arrays["x_shift"], arrays["x_matrix"])
        return TrainedLocals(score, fewer, int(arrays["rows"][0]), seconds, device)


@dataclass(frozen=True, eq=False)
class TrainedLocals:
    """A classifier of the truth against q and its nulls, to be asked at any observation."""

    score: LocalScore
    fewer: Reduced
    rows: int
    """Rows it learnt from."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """How many nulls there are."""
        return {"nulls": float(self.score.nulls)}

    def logits(self, draws: Array, x_o: Array) -> Array:
        """Logits (H + 1, K) of q's draws (K, D) at one observation (M,), the nulls' last."""
        x = self.fewer(x_o[None])
        return self.score(draws, np.repeat(x, len(draws), axis=0))

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        return {
            **self.score.parameters, "shift": self.score.shift, "scale": self.score.scale,
            "x_shift": self.fewer.shift, "x_matrix": self.fewer.matrix,
            "rows": np.array([float(self.rows)]),
        }  # fmt: skip
