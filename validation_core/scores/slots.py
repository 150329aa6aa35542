"""The score within x: features of each slot relative to the other slots of its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from validation_core import sampling
from validation_core.scores import Recipe
from validation_core.statistics import slots
from validation_core.types import Benchmark, PosteriorTable

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.scores.slots_training import TrainedSlots
    from validation_core.study import Report

SlotLearner = Literal["best", "trees", "network"]
FEWEST = 25
"""Simulations below which nothing is learnt of a row."""
FEWEST_DRAWS = 8
"""Draws at each x below which the others of a row say little of it."""
NAMES: Mapping[SlotLearner, str] = {
    "best": "trees and network",
    "trees": "trees",
    "network": "network",
}
_SLOT = 1.3e-4  # seconds of training, for each slot that it learns from


@dataclass(frozen=True, kw_only=True)
class Slots(Recipe, spec="slots"):
    """s_j = g(theta_j; the other slots of its row; x), learnt to tell the truth from q's draws.

    Any such g is the same function for all slots, so that under q = p the truth's rank among q's
    draws at its x stays exactly uniform. What a network of (theta, x) has to learn, where q lies
    at each x, how wide and how turned, is handed to it: slots are standardised, whitened and
    measured against the others. `trees` are extremely randomised ones (Geurts, Ernst, Wehenkel
    2006), each grown on some folds of simulations, so that every row has held-out answers;
    `network` is the slot classifier's linear and tanh units (Yao, Domke 2023) with its penalty by
    folds; `best` adds the two with the weights, one of which may be 0, that held-out rows prefer.
    """

    kind: SlotLearner = "best"
    loss: slots.SlotLoss = "multiclass"
    n: int = field(default=1000, metadata={"label": "Simulations", "min": FEWEST})
    k: int = field(default=200, metadata={"label": "Draws of q at each", "min": 1})
    m: int = field(default=15, metadata={"label": "Draws learnt from at each", "min": 1})
    scored: int = field(default=64, metadata={"label": "Draws scored at each", "min": 1})
    whole: int = field(
        default=400, metadata={"label": "Slots that mean and covariance are made of", "min": 2}
    )
    context: int = field(default=200, metadata={"label": "Slots among which near ones are sought"})
    trees: int = field(default=100, metadata={"label": "Trees", "min": 4})
    cuts: int = field(default=6, metadata={"label": "Cuts drawn at a node", "min": 1})
    leaf: int = field(default=40, metadata={"label": "Slots of a leaf, at least", "min": 1})
    folds: int = field(default=4, metadata={"label": "Folds of simulations", "min": 2})

    def __post_init__(self) -> None:
        for name, kinds in (("kind", get_args(SlotLearner)), ("loss", get_args(slots.SlotLoss))):
            if getattr(self, name) not in kinds:
                raise ValueError(
                    f"{name} is one of {', '.join(kinds)}; got {getattr(self, name)!r}. Choose "
                    "one of those."
                )
        least = {
            "n": FEWEST,
            "k": 1,
            "m": 1,
            "scored": 1,
            "whole": 1 + max(self.m, self.scored),
            "context": 1,
            "trees": self.folds,
            "cuts": 1,
            "leaf": 1,
            "folds": 2,
        }
        for name, most in least.items():
            if getattr(self, name) < most:
                raise ValueError(
                    f"{name} is at least {most}; got {getattr(self, name)}. Take more."
                )

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return f"within x, {NAMES[self.kind]}"

    @property
    def places(self) -> int:
        return self.n

    def cost(self) -> float:
        return 0.3 + _SLOT * self.n * (self.m + 1)

    def sample(
        self, benchmark: Benchmark, gamma: float, rng: np.random.Generator
    ) -> PosteriorTable:
        """A table of n simulations with k draws of q at each."""
        return sampling.table(benchmark, gamma, self.n, self.k, rng)

    def of_table(self, draws: PosteriorTable, rng: np.random.Generator) -> PosteriorTable:
        """A table's first n rows, which are in no order, with the draws that are read.

        Raises:
            ValueError: when there are too few rows or draws.
        """
        del rng
        n, k = draws.q.shape[:2]
        if n < FEWEST:
            raise ValueError(
                f"A score within x learns from at least {FEWEST} simulations; got {n}. Bring more."
            )
        if k < max(2, min(self.m, FEWEST_DRAWS)):
            raise ValueError(
                f"A score within x sees each draw among at least {FEWEST_DRAWS} others at its x; "
                f"got {k}. Bring more draws."
            )
        return PosteriorTable(
            draws.theta[: self.n], draws.x[: self.n], draws.q[: self.n, : self.whole]
        )

    def learn_all(
        self, data: Sequence[PosteriorTable], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedSlots]:
        """One score for each table and seed."""
        from validation_core.learn.in_turn import train_in_turn
        from validation_core.scores.slots_training import train_slots

        return train_in_turn(train_slots, data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedSlots:
        """Trained score from the output of `TrainedSlots.arrays`."""
        from validation_core.scores.slots_training import TrainedSlots

        return TrainedSlots.read(arrays, scored=self.scored, seconds=seconds, device=device)
