"""What reference points know of theta and x: a box, and for those that follow x a regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core import sampling
from validation_core.hashing import Words, uniforms
from validation_core.rng import stream
from validation_core.scores.reference.distance import Distance, Metric
from validation_core.scores.reference.regression import Mean, fit
from validation_core.types import Array, Benchmark, Draws, Joint

if TYPE_CHECKING:
    from validation_core.training import Report

Follows = Literal["random", "x"]
Float = NDArray[np.float64]

FEWEST = 2
"""True pairs that span a box."""


@dataclass(frozen=True, kw_only=True)
class References:
    """Lemos et al. (2023), Section 3: any reference points will do that saw no test theta.

    `random`: uniform over the box from the smallest to the largest training truth of each
    parameter. They ask nothing of x, so that a q that ignores x passes. `x`: what a regression
    of theta on x expects, plus normal noise of its held-out error. Distances are measured in
    that box, so that no parameter's unit counts; a box of the test's own truths would tell
    truths from draws.
    """

    version: ClassVar[int] = 1

    reference: Follows = "random"
    metric: Metric = "euclidean"
    train: int = field(default=1000, metadata={"label": "Training pairs", "min": FEWEST})

    def __post_init__(self) -> None:
        for name, kind in (("reference", Follows), ("metric", Metric)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(
                    f"{name} is one of {', '.join(get_args(kind))}; got "
                    f"{getattr(self, name)!r}. Choose one of those."
                )

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return f"references {self.reference} {self.metric}"

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Joint:
        """True pairs."""
        return _pairs(sampling.pairs(benchmark, gamma, self.train, rng))

    def of_table(self, draws: Draws, rng: np.random.Generator) -> Joint:
        """A table's true pairs, of which all are used."""
        del rng
        return _pairs(draws)

    def learn_all(
        self, data: Sequence[Joint], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedReferences]:
        """References for each set of pairs and seed, in turn."""
        del report  # it takes no time
        return [self._learn(one, seed) for one, seed in zip(data, seeds, strict=True)]

    def _learn(self, pairs: Joint, seed: int) -> TrainedReferences:
        start = perf_counter()
        theta = pairs.theta.astype(np.float64)
        low, high = theta.min(0), theta.max(0)
        # A parameter that never changes has no unit of its own.
        width = np.where(high > low, high - low, 1.0)
        mean = fit((theta - low) / width, pairs.x) if self.reference == "x" else None
        salt = stream(seed, "references").integers(2**64, size=1, dtype=np.uint64)
        return TrainedReferences(self.metric, low, width, salt, mean, perf_counter() - start)

    def read(
        self, arrays: Mapping[str, Array], *, seconds: float, device: str
    ) -> TrainedReferences:
        """What `TrainedReferences.arrays` gave."""
        del device
        mean = Mean.read(arrays, "mean") if self.reference == "x" else None
        salt = arrays["salt"].astype(np.uint64)
        low, width = (arrays[name].astype(np.float64) for name in ("low", "width"))
        return TrainedReferences(self.metric, low, width, salt, mean, seconds)


@dataclass(frozen=True, eq=False)
class TrainedReferences:
    """The box, the regression where there is one, and the salt of the points' noise."""

    metric: Metric
    low: Float  # (D,)
    width: Float  # (D,)
    salt: Words  # (1,)
    mean: Mean | None
    """Of theta in the unit box."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """For references that follow x, the held-out share of theta's variance they explain."""
        return {} if self.mean is None else {"r2": float(self.mean.r2.mean())}

    def at(self, beta: float = 0.0) -> Distance:
        """The distance; nothing here is a network, so that no beta degrades it."""
        del beta
        return Distance(self.low, self.width, self.metric, self.salt, self._place)

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        learnt = {} if self.mean is None else self.mean.arrays()
        named: dict[str, Array] = {f"mean.{name}": array for name, array in learnt.items()}
        return {"low": self.low, "width": self.width, "salt": cast("Array", self.salt), **named}

    def _place(self, x: Array, words: Words) -> Float:
        noise = uniforms(words, len(self.low))
        return noise if self.mean is None else self.mean(x) + self.mean.sd * ndtri(noise)


def _pairs(draws: Draws | Joint) -> Joint:
    if len(draws) < FEWEST:
        raise ValueError(
            f"References learn their box from at least {FEWEST} true pairs; got {len(draws)}. "
            "Bring more."
        )
    if not (np.isfinite(draws.theta).all() and np.isfinite(draws.x).all()):
        raise ValueError(
            "References learn from finite numbers; got NaN or infinite ones in theta or x. Drop "
            "those rows."
        )
    return Joint(draws.theta, draws.x)
