"""The slot classifier: one learnt g(theta, x) for every slot, to tell the truth from q's draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from validation_core import sampling
from validation_core.scores import Recipe
from validation_core.statistics.slots import SlotLoss
from validation_core.types import Benchmark, PosteriorTable

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.scores.trained_slot_classifier import TrainedSlotClassifier
    from validation_core.study import Report

Net = Literal["quadratic", "paper"]
FEWEST = 8
"""Simulations below which there is nothing to choose a penalty on."""
NETS: Mapping[Net, str] = {"quadratic": "quadratic + tanh", "paper": "the authors' tanh"}


@dataclass(frozen=True, kw_only=True)
class SlotClassifier(Recipe, spec="scorer"):
    """b + tanh(c + z U) w + f v, its L2 penalty chosen by folds of simulations.

    Yao & Domke (2023), with their 32 hidden units, start and losses. `paper` is their net: z and f
    are the standardised (theta, x), penalties 1e-2 to 1e-5, up to 1000 steps. `quadratic` is ours:
    theta is whitened about q's mean given x, f holds products too, penalties come in half decades
    and 100 steps do. A wrong width then needs no hidden unit, and a penalty that puts the units
    out leaves the products. A refit on all simulations halves the penalty that two folds chose.
    Features that only an estimator knows (log q) are left out, so that every table can be scored.
    """

    kind: SlotLoss = "multiclass"
    n: int = field(default=1000, metadata={"label": "Simulations", "min": FEWEST})
    m: int = field(default=10, metadata={"label": "Draws of q at each", "min": 1})
    net: Net = "quadratic"
    hidden: int = field(default=32, metadata={"label": "Hidden units", "min": 1})
    folds: int = field(default=2, metadata={"label": "Folds that choose the penalty", "min": 2})

    def __post_init__(self) -> None:
        for name, kinds in (("kind", get_args(SlotLoss)), ("net", get_args(Net))):
            if getattr(self, name) not in kinds:
                raise ValueError(
                    f"{name} is one of {', '.join(kinds)}; got {getattr(self, name)!r}. Choose "
                    "one of those."
                )
        for name, least in (("n", FEWEST), ("m", 1), ("hidden", 1), ("folds", 2)):
            if getattr(self, name) < least:
                raise ValueError(
                    f"{name} is at least {least}; got {getattr(self, name)}. Take more."
                )

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return f"slot classifier {self.kind}, {NETS[self.net]}"

    @property
    def penalties(self) -> tuple[float, ...]:
        """Penalties from strong to weak; the search stops once weaker ones fit worse."""
        if self.net == "paper":
            return 1e-2, 1e-3, 1e-4, 1e-5
        return 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5

    @property
    def steps(self) -> int:
        """Largest number of L-BFGS steps."""
        return 1000 if self.net == "paper" else 100

    @property
    def places(self) -> int:
        return self.n

    def cost(self) -> float:
        return 1.5

    def sample(
        self, benchmark: Benchmark, gamma: float, rng: np.random.Generator
    ) -> PosteriorTable:
        """A table of n simulations with m draws of q at each."""
        return sampling.table(benchmark, gamma, self.n, self.m, rng)

    def of_table(self, draws: PosteriorTable, rng: np.random.Generator) -> PosteriorTable:
        """The rows of a table, with as many draws as a test has.

        Raises:
            ValueError: when there are too few rows or draws.
        """
        del rng  # draws are in no order
        n, k = draws.q.shape[:2]
        if n < FEWEST:
            raise ValueError(
                f"A slot classifier learns from at least {FEWEST} simulations; got {n}. Bring "
                "more."
            )
        if k < self.m:
            raise ValueError(
                f"Discriminative calibration with m = {self.m} needs {self.m} draws at each x; "
                f"got {k}. Lower m or bring more draws."
            )
        return PosteriorTable(draws.theta, draws.x, draws.q[:, : self.m])

    def learn_all(
        self, data: Sequence[PosteriorTable], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedSlotClassifier]:
        """One slot classifier for each table and seed."""
        from validation_core.learn.in_turn import train_in_turn
        from validation_core.scores.trained_slot_classifier import train_slot_classifier

        return train_in_turn(train_slot_classifier, data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedSlotClassifier:
        """Trained classifier from the output of `TrainedSlotClassifier.arrays`."""
        from validation_core.scores.trained_slot_classifier import TrainedSlotClassifier

        return TrainedSlotClassifier.read(arrays, seconds=seconds, device=device)
