"""The classifiers of L-C2ST for any observation of a table, and what they learn from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.diagnosis import learning, tasks
from validation_core.keys import Arrays, Specification
from validation_core.learn.stored_network import StoredNetwork
from validation_core.localization.neighbours import Reduced, reduced
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.lc2st import LC2STClassifier, LocalScore
from validation_core.types import Array, Benchmark, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store
    from validation_core.study import Report


ROWS = 3000
"""Rows that the classifiers learn from, at most: bounds their time."""
_DRAWS = 16  # of which one is taken at random
_RECIPE = LC2STClassifier(nulls=299)


@dataclass(frozen=True, kw_only=True)
class LC2STFold(Specification, spec="lc2st_fold"):
    """One half of an uploaded table as a source of training rows: the other is looked at."""

    version: ClassVar[int] = 2

    digest: str
    second: bool = False
    """Learn from the rows that the tests look at, to look at one of those they learn from."""

    @property
    def label(self) -> str:
        """Name in a list of trained models."""
        return f"Uploaded table {self.digest[:8]}, {'second' if self.second else 'first'} half"

    def training_set(self, recipe: Any, seed: int, store: Store) -> Any:
        """Rows of that half, to learn from."""
        rows = self._half(self.second, seed, store, recipe.most)
        return recipe.of_table(rows, stream(seed, "observation", "rows", int(self.second)))

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> PosteriorTable:
        """Rows of the other half."""
        del n, k, rng
        return self._half(not self.second, seed, store)

    def _half(
        self, second: bool, seed: int, store: Store, most: int | None = None
    ) -> PosteriorTable:
        """The rows that the other networks learn from, or the second half, and a few draws."""
        upload = tasks.load_table(store, self.digest)
        return sampling.take(
            upload.in_no_order.data,
            learning.training_and_held_out_rows(upload, seed)[second],
            most,
        )


@dataclass(frozen=True, kw_only=True)
class LC2STEnsemble(Recipe, spec="lc2st_ensemble"):
    """Recipe of a table's local classifiers: as `LC2STClassifier`, with x in few numbers.

    Linhart, Gramfort, Rodrigues (2023), L-C2ST: the null classifiers serve every observation.
    """

    local: LC2STClassifier = _RECIPE

    @property
    def most(self) -> int:
        """Draws at each x that are looked at, at most."""
        return _DRAWS

    def sample(
        self, benchmark: Benchmark, gamma: float, rng: np.random.Generator
    ) -> PosteriorTable:
        """Rows of a benchmark to learn from."""
        return sampling.table(benchmark, gamma, 1000, 1, rng)

    def of_table(self, train: PosteriorTable, rng: np.random.Generator) -> PosteriorTable:
        """Up to ROWS rows of a table, in no order."""
        some = np.sort(rng.permutation(len(train))[:ROWS])
        return PosteriorTable(train.theta[some], train.x[some], train.q[some, :_DRAWS])

    def learn_all(
        self, data: Sequence[PosteriorTable], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedLC2ST]:
        """The classifier and its nulls on each table."""
        from validation_core.learn import perceptron

        trained = []
        for table, seed in zip(data, seeds, strict=True):
            start = time.perf_counter()
            fewer = reduced(table.x)
            small = PosteriorTable(table.theta, fewer(table.x), table.q)
            score = self.local.learn(small, stream(seed, "observation", "local"))
            trained.append(
                TrainedLC2ST(
                    score.parameters,
                    score.shift,
                    score.scale,
                    fewer.shift,
                    fewer.matrix,
                    len(table),
                    time.perf_counter() - start,
                    perceptron.pick_device(),
                )
            )
        return trained

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedLC2ST:
        """The classifiers from the arrays that `TrainedLC2ST.arrays` gave."""
        return TrainedLC2ST.read(arrays, seconds=seconds, device=device)


@dataclass(frozen=True, eq=False)
class TrainedLC2ST(StoredNetwork):
    """A classifier of the truth against q and its nulls, to be asked at any observation."""

    hoisted: ClassVar[str] = "parameters"

    parameters: Mapping[str, NDArray[np.float32]]
    """Parameters of all networks, as `LocalScore` has them."""
    shift: Array  # (D + M',)
    scale: Array  # (D + M',)
    x_shift: Array  # (M,)
    x_matrix: Array  # (M, M'): x in few numbers
    rows: int
    """Rows it learnt from."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def score(self) -> LocalScore:
        """The networks, of theta and x in few numbers."""
        return LocalScore(self.parameters, self.shift, self.scale)

    @property
    def summary(self) -> Mapping[str, float]:
        """Number of null classifiers."""
        return {"nulls": float(self.score.nulls)}

    def logits(self, draws: Array, x_o: Array) -> Array:
        """Logits (H + 1, K) of q's draws (K, D) at one observation (M,), the nulls' last."""
        x = Reduced(self.x_shift, self.x_matrix)(x_o[None])
        return self.score(draws, np.repeat(x, len(draws), axis=0))
