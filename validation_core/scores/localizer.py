"""The localizer: a learnt centre theta_l(x), a learnt embedding phi, the distance between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from validation_core import sampling
from validation_core.scores import Recipe
from validation_core.types import Array, Benchmark, PosteriorTable, Preset

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.scores.trained_localizer import TrainedLocalizer
    from validation_core.study import Report

Embedding = Literal["identity", "mlp", "residual", "fourier"]
RankDivergence = Literal["w2", "sinkhorn"]

WATCHED = 1000  # anchors beyond the budget that a benchmark's paper preset is watched on


@dataclass(frozen=True, eq=False)
class Anchors:
    """Training rows of a localizer (learn), and rows on which its step is chosen (watch).

    `more` draws n fresh anchors with k draws of q each, where p can be sampled.
    """

    learn: PosteriorTable
    watch: PosteriorTable
    more: Callable[[int, int, np.random.Generator], PosteriorTable] | None = None


class MapPlaces(NamedTuple):
    """V places x (V, M): draws of q shown and measured (V, S, D), (V, K, D), truths (V, T, D)."""

    x: Array
    q: Array
    truth: Array
    measured: Array


class BallAtPlaces(NamedTuple):
    """The ball of q-mass u_star at V places; flags are 1 inside."""

    centre: Array  # (V, D)
    radius: Array  # (V,)
    q_inside: Array  # (V, S)
    truth_inside: Array  # (V, T)


_STEP = {"identity": 1e-4, "residual": 9e-4, "mlp": 9e-4, "fourier": 3e-4}
"""Seconds for a row of a step with 32 draws."""


@dataclass(frozen=True, kw_only=True)
class Localizer(Recipe, spec="localizer"):
    """Chen, Bansal, Scott, CoLT, Algorithm 1; with its data and seed this keys the network.

    The defaults are the interactive preset. It departs from the paper in three ways, each
    measured: theta is whitened by q's own draws, training starts where it serves best (at the
    origin, at q's mean, or with an embedding that knows q's detail), the centre first and then
    phi with it, and held-out anchors choose the step.
    """

    embedding: Embedding = "fourier"
    anchors: int = field(default=100, metadata={"label": "Anchors: true pairs", "min": 8})
    draws: int = field(default=500, metadata={"label": "Draws of q at each", "min": 2})
    steps: int = field(default=300, metadata={"label": "Steps", "min": 0})
    lr: float = field(default=1e-3, metadata={"label": "Learning rate of the centre"})
    lr_embedding: float = field(default=1e-3, metadata={"label": "Learning rate of phi"})
    batch: int = field(default=256, metadata={"label": "Anchors a step"})
    draws_step: int = field(default=32, metadata={"label": "Draws of q a step; 0 takes all"})
    divergence: RankDivergence = "w2"
    tau: float = field(default=0.1, metadata={"label": "Softness of a rank's gradient, in sd"})
    whiten: bool = True
    start: Literal["origin", "best"] = "best"
    blur: float = field(default=0.1, metadata={"label": "Blur of the third start, in sd of q"})
    blur_steps: int = field(default=300, metadata={"label": "Steps that the third start takes"})
    keep_best: bool = True
    held: float = field(default=0.25, metadata={"label": "Share of anchors held out"})
    fresh: bool = False
    hidden: int = field(default=128, metadata={"label": "Hidden units"})
    layers: int = field(default=3, metadata={"label": "Hidden layers"})
    outputs: int = field(
        default=0, metadata={"label": "Dimensions of phi; 0 for those of theta", "later": True}
    )

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return f"localizer {self.embedding}"

    @property
    def places(self) -> int:
        return self.spent()[0]

    def cost(self) -> float:
        rows = self.batch if self.fresh else min(self.batch, self.anchors)
        steps = self.steps * self.stages + self.blur_steps * (self.start == "best")
        few = self.draws_step or self.draws
        return 3.0 + steps * rows * (few / 32) * _STEP[self.embedding]

    def for_all_gammas(self, gammas: int) -> Self:
        """The recipe of one network for so many gammas, with its anchors at each of them.

        The embedding of one gamma serves the others: half the width and half the steps reach what
        networks of single gammas reach (distances .16, .37, .50 at the second, fourth and sixth
        gamma of the mean shift, against .09, .29, .47).
        """
        return replace(
            self,
            anchors=self.anchors * gammas,
            draws=min(self.draws, 100),
            hidden=64,
            batch=128,
            steps=150,
            blur_steps=100,
        )

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Anchors:
        """Anchors from a benchmark. Where none is held out, extra ones are watched, not used."""
        table = sampling.table(benchmark, gamma, self.anchors, self.draws, rng)
        if self.keep_best:
            anchors = self.of_table(table, rng)
        else:
            extra = sampling.table(benchmark, gamma, WATCHED, min(self.draws, 100), rng)
            anchors = Anchors(table, extra)
        if not self.fresh:
            return anchors
        return replace(anchors, more=lambda n, k, own: sampling.table(benchmark, gamma, n, k, own))

    def of_table(self, table: PosteriorTable, rng: np.random.Generator) -> Anchors:
        """Anchors from the rows of a table.

        Raises:
            ValueError: when there are too few rows to hold some out.
        """
        if len(table) < FEWEST:
            raise ValueError(
                f"A localizer learns from at least {FEWEST} simulations, a quarter of them held "
                f"out; got {len(table)}. Bring more."
            )
        learn, watch = sampling.split_rows(table, rng, train=1 - self.held)
        return Anchors(learn, watch)

    def learn_all(
        self, data: Sequence[Anchors], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedLocalizer]:
        """One localizer for each set of anchors and seed."""
        from validation_core.learn.in_turn import train_in_turn
        from validation_core.scores.localizer_training import train_localizer

        return train_in_turn(train_localizer, data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedLocalizer:
        """Trained localizer from the output of `TrainedLocalizer.arrays`."""
        from validation_core.scores.trained_localizer import TrainedLocalizer

        return TrainedLocalizer.read(
            arrays, embedding=self.embedding, seconds=seconds, device=device
        )

    @property
    def stages(self) -> int:
        """2 where phi begins as the identity: the centre climbs alone before both do."""
        return 2 if self.start == "best" and self.embedding in ("residual", "fourier") else 1

    def spent(self) -> tuple[int, int]:
        """Draws of p and of q that training uses up."""
        n, k = self.anchors, self.anchors * self.draws
        if not self.fresh:
            return n, k
        more = self.steps * self.stages * self.batch
        return n + more, k + more * (self.draws_step or self.draws)


STARTS = ("origin", "mean", "blur")
"""Where training may begin."""
FEWEST = 8
"""Anchors below which there is nothing to hold out."""

_TABLE_2: dict[str, tuple[int, float]] = {
    "mean_shift": (25, 1e-5),
    "additional_mode": (1000, 5e-5),
    "blind_prior": (1000, 1e-3),
    "tree": (5000, 1e-5),
    "spiral": (1000, 1e-5),
}


def recipe(
    preset: Preset,
    embedding: Embedding,
    n: int,
    k: int,
    benchmark: Benchmark | None = None,
    **changes: Any,
) -> Localizer:
    """The localizer of a preset for tables of n simulations with k draws of q.

    Args:
        preset: `interactive`, or `paper`: epochs and rate of Table 2 for this benchmark.
        embedding: phi.
        n: anchors, the held-out ones included.
        k: draws of q at each.
        benchmark: whose settings the paper preset takes; Table 2's commonest otherwise.
        changes: fields of the localizer to set otherwise.
    """
    if preset == "interactive":
        chosen = Localizer(embedding=embedding)
        if embedding in ("mlp", "residual"):  # wide networks: dearer a step, and quick to overfit
            chosen = replace(chosen, lr_embedding=1e-4, blur_steps=100)
    else:
        kind = getattr(benchmark, "perturbation", getattr(benchmark, "name", ""))
        steps, lr = _TABLE_2.get(kind, (1000, 1e-5))
        chosen = Localizer(
            embedding=embedding,
            steps=steps,
            lr=lr,
            lr_embedding=lr,
            batch=n,
            draws_step=0,
            whiten=False,
            start="origin",
            keep_best=False,
            held=0.25,
            hidden=256,
        )
    return replace(chosen, anchors=n, draws=k, **changes)
