"""Which runs the figures of Domke (2021), Section 7, are made of, and in which order they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from validation_core.bayes import MODELS, HeartTransplants, Model
from validation_core.bayes.inference import ALGORITHMS, Inference
from validation_core.keys import Specification
from validation_core.simulations.runs import MS, InferenceRun

GRID = (10, 30, 100, 300, 1000, 3000)
"""Iterations of inference. Step sizes fall at half of them, so that each is a run of its own."""

TRAINED = (1, 2, 5, 10, 20)
"""M that Figure 3 trains with."""

FOUR = "laplace", "adjusted_laplace", "vi", "iwvi"
"""Algorithms of Figure 1."""

_LONG = 300  # iterations beyond which a run is sent off early, not in the order of reading
_AT_ONCE = 40.0  # steps' worth of what a step takes however small the model is


@dataclass(frozen=True, kw_only=True)
class Plan(Specification, spec="plan"):
    """Models, inferences and iterations: a run for each combination.

    Raises:
        ValueError: for an empty or repeated choice, or numbers that count nothing.
    """

    models: tuple[Model, ...]
    inferences: tuple[Inference, ...]
    iterations: tuple[int, ...] = GRID
    datasets: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("models", "inferences", "iterations"):
            values: tuple[Any, ...] = getattr(self, name)
            if not values or len(set(values)) < len(values):
                labels = (
                    ", ".join(str(getattr(choice, "label", choice)) for choice in values) or "none"
                )
                raise ValueError(
                    f"A plan has one or more {name}, each once; got {labels}. Leave out what is "
                    f"repeated, or name one."
                )
        if min(self.iterations) < 1:
            raise ValueError(
                f"Iterations are 1 or more; got {min(self.iterations)}. Try {GRID[0]}."
            )
        if self.datasets < 2:
            raise ValueError(
                f"An interval needs 2 or more data sets; got {self.datasets}. Try 100."
            )
        for inference in self.inferences:
            _known(tested(inference))

    def run(self, model: Model, inference: Inference, iterations: int) -> InferenceRun:
        """The run of one combination."""
        return InferenceRun(
            model=model,
            inference=inference,
            iterations=iterations,
            datasets=self.datasets,
            seed=self.seed,
        )

    @property
    def picked(self) -> tuple[int, ...]:
        """Iterations that Figure 2 shows: the middle and the last."""
        several = self.iterations
        return tuple(dict.fromkeys((several[(len(several) - 1) // 2], several[-1])))

    def row(self, model: int, inference: int) -> tuple[InferenceRun, ...]:
        """The runs of one curve, by places of model and inference, along the iterations."""
        return self._rows[model, inference]

    @cached_property
    def _rows(self) -> dict[tuple[int, int], tuple[InferenceRun, ...]]:
        return {
            (i, j): tuple(self.run(model, inference, n) for n in self.iterations)
            for i, model in enumerate(self.models)
            for j, inference in enumerate(self.inferences)
        }

    def runs(self) -> tuple[InferenceRun, ...]:
        """Every run in a good order for several workers.

        Heart transplants come first, whole, so that there is a panel to read; then what every
        other model needs few iterations for, the quickest model first; last the long runs, the
        dearest of them first, so that no worker is left alone with one.
        """
        return tuple(dict.fromkeys(self._ordered()))

    def _ordered(self) -> Iterator[InferenceRun]:
        runs = [run for row in self._rows.values() for run in row]
        heart = [run for run in runs if isinstance(run.model, HeartTransplants)]
        others = sorted(
            (run for run in runs if not isinstance(run.model, HeartTransplants)),
            key=lambda run: price(run.model, None, 1),
        )
        yield from sorted(heart, key=lambda run: run.iterations)
        yield from (run for run in others if run.iterations <= _LONG)
        long = [run for run in others if run.iterations > _LONG]
        yield from sorted(long, key=lambda run: -price(run.model, run.inference, run.iterations))


def price(model: Model, inference: Inference | None, iterations: int) -> float:
    """About how dear a run is, in units of no meaning: only its order counts."""
    step = np.prod(model.dims, dtype=float) / 100 + _AT_ONCE
    draws = 1.0 if inference is None else float(_draws(inference))
    return float(step * draws * iterations)


def _draws(inference: Inference) -> int:
    """Points at which a step evaluates the model."""
    return int(getattr(inference, "m", 1)) * int(getattr(inference, "groups", 1))


def tested(inference: Inference) -> int:
    """M of the importance sampling that an inference is tested with: the one it was made for."""
    return int(getattr(inference, "m", 1))


def figure(
    number: int,
    models: Sequence[Model] = (),
    inferences: Sequence[Inference] = (),
    iterations: Sequence[int] = (),
    *,
    datasets: int = 100,
    seed: int = 0,
) -> Plan:
    """What one figure of the paper needs.

    Args:
        number: 1, the divergence against iterations; 2, importance sampling of the fits of
            Figure 1 (the same runs); 3, importance weighted VI trained with M.
        models: by default all five.
        inferences: by default the figure's own.
        iterations: by default the grid; for Figure 3 its last.

    Raises:
        ValueError: for another number, or choices that make no plan.
    """
    if number not in (1, 2, 3):
        raise ValueError(f"Figures are 1, 2 and 3; got {number}. Choose one of them.")
    own = trained() if number == 3 else tuple(ALGORITHMS[name] for name in FOUR)
    return Plan(
        models=tuple(models) or tuple(kind() for kind in MODELS.values()),
        inferences=tuple(inferences) or own,
        iterations=tuple(iterations) or (GRID[-1:] if number == 3 else GRID),
        datasets=datasets,
        seed=seed,
    )


def trained(ms: Sequence[int] = TRAINED) -> tuple[Inference, ...]:
    """VI, which is M = 1, and importance weighted VI for every larger M.

    Raises:
        ValueError: for an M that runs are not tested with.
    """
    for m in ms:
        _known(m)
    weighted: Any = ALGORITHMS["iwvi"]
    return tuple(ALGORITHMS["vi"] if m == 1 else replace(weighted, m=m) for m in ms)


def _known(m: int) -> None:
    if m not in MS:
        raise ValueError(
            f"Runs are tested with M = {', '.join(map(str, MS))}; got M = {m}. Choose one of them."
        )
