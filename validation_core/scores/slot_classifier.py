"""The slot classifier: one learnt g(theta, x) for every slot, to tell the truth from q's draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from validation_core import sampling
from validation_core.learn import Standardizer, robust, whitener
from validation_core.scores import Recipe
from validation_core.statistics.slots import Kind
from validation_core.types import Array, Benchmark, Float, PosteriorTable

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.learn.training import Report
    from validation_core.scores.slot_classifier_training import TrainedSlotClassifier


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

    kind: Kind = "multiclass"
    n: int = field(default=1000, metadata={"label": "Simulations", "min": FEWEST})
    m: int = field(default=10, metadata={"label": "Draws of q at each", "min": 1})
    net: Net = "quadratic"
    hidden: int = field(default=32, metadata={"label": "Hidden units", "min": 1})
    folds: int = field(default=2, metadata={"label": "Folds that choose the penalty", "min": 2})

    def __post_init__(self) -> None:
        for name, kinds in (("kind", get_args(Kind)), ("net", get_args(Net))):
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
        """What it is, for a list of trained models."""
        return f"slot classifier {self.kind}, {NETS[self.net]}"

    @property
    def penalties(self) -> tuple[float, ...]:
        """From strong to weak; weaker ones than serve are not tried."""
        if self.net == "paper":
            return 1e-2, 1e-3, 1e-4, 1e-5
        return 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5

    @property
    def steps(self) -> int:
        """Of L-BFGS, at most."""
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
        """One slot classifier for each table and seed, in turn."""
        from validation_core.scores.slot_classifier_training import train_slot_classifier

        return [
            train_slot_classifier(draws, self, seed, report)
            for draws, seed in zip(data, seeds, strict=True)
        ]

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedSlotClassifier:
        """What `TrainedSlotClassifier.arrays` gave."""
        from validation_core.scores.slot_classifier_training import TrainedSlotClassifier

        return TrainedSlotClassifier.read(arrays, seconds=seconds, device=device)


# ---- What it sees of (theta, x): standardised, or whitened about q's mean given x ----


_CLIP = 8.0  # robust sds: heavy tails reach it as "far out", not as 1e6
_TAIL = 4.0  # sds beyond which a draw no longer sways the covariance
_RIDGE = 1e-3
_SHARE = 0.01  # of the identity in the covariance, whatever the dimension
_MOST = 512  # products: beyond, only those of a coordinate with itself and with its own mean


@dataclass(frozen=True, eq=False)
class SlotInputTransform:
    """z = ((theta - shift) / scale - x A) W and x's own scale: from q's draws and x alone."""

    theta_shift: Float  # (D,)
    theta_scale: Float  # (D,)
    x_shift: Float  # (M,)
    x_scale: Float  # (M,)
    slope: Float  # (M + 1, D): A, the constant last
    whitener: Float  # (D, D): W
    products: bool
    """Whether z's products are features too."""

    def __call__(self, theta: Array, x: Array) -> tuple[Float, Float]:
        """Inputs (..., D + M) of the hidden units and linear features (..., F).

        Args:
            theta: parameters (..., D).
            x: data, to be broadcast against them (..., M).
        """
        data = Standardizer(self.x_shift, self.x_scale, _CLIP)(x)
        mean = data @ self.slope[:-1] + self.slope[-1]
        z = ((theta - self.theta_shift) / self.theta_scale - mean) @ self.whitener
        z = np.clip(z, -_CLIP, _CLIP)
        wide = np.broadcast_to(data, (*z.shape[:-1], data.shape[-1]))
        inputs = np.concatenate([z, wide], axis=-1)
        if not self.products:
            return inputs, inputs
        # With more data than parameters, what x says of theta stands for x: D numbers.
        known = data if data.shape[-1] <= z.shape[-1] else mean @ self.whitener
        return inputs, _products(z, known)

    @classmethod
    def fit(cls, draws: PosteriorTable, *, whiten: bool) -> SlotInputTransform:
        """Robust scales; `whiten` removes q's linear mean given x and makes its spread a sphere.

        Products of coordinates become features with it.
        """
        n, _, d = draws.q.shape
        shift, scale = robust(draws.q.reshape(-1, d))
        x_shift, x_scale = robust(draws.x)
        slope, turn = np.zeros((draws.x.shape[1] + 1, d)), np.eye(d)
        if whiten:
            z = Standardizer(shift, scale, _CLIP)(draws.q)
            data = Standardizer(x_shift, x_scale, _CLIP)(draws.x)
            data = np.concatenate([data, np.ones((n, 1))], axis=1)
            ridge = _RIDGE * n * np.eye(data.shape[1])
            slope = np.linalg.solve(data.T @ data + ridge, data.T @ z.mean(axis=1))
            off = (z - (data @ slope)[:, None]).reshape(-1, d)
            turn = whitener(off, tail=_TAIL, ridge=_SHARE, unit=True)
        return cls(shift, scale, x_shift, x_scale, slope, turn, products=whiten)


def _products(z: Float, known: Float) -> Float:
    """z, its products with itself, less their mean, and with what x knows: (..., F).

    Features of x alone are left out: they cancel between the slots.
    """
    d, e = z.shape[-1], known.shape[-1]
    if d * (d + 1) // 2 + d * e > _MOST:
        same = min(d, e)
        return np.concatenate([z, z**2 - 1, z[..., :same] * known[..., :same]], axis=-1)
    i, j = np.triu_indices(d)
    own = z[..., i] * z[..., j] - (i == j)
    cross = (z[..., :, None] * known[..., None, :]).reshape(*z.shape[:-1], d * e)
    return np.concatenate([z, own, cross], axis=-1)
