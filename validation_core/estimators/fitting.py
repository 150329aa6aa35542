"""An estimator's training: epochs, a tenth held out, an end when that fares no better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.estimators.base import Estimator
from validation_core.learn import training
from validation_core.learn.adam import Adam
from validation_core.learn.perceptron import Parameters
from validation_core.learn.training import Report
from validation_core.types import Array

_CLIP = 5.0  # norm of a step's gradient
_Rows = NDArray[np.int64]


class Fit(NamedTuple):
    """The parameters that were kept, and losses by epoch."""

    parameters: Parameters
    history: dict[str, Array]
    """`epoch`, `loss`, `held_out`: (epochs,), nats a pair in theta's own units."""


class Course(NamedTuple):
    """A network in training."""

    tensors: Sequence[Tensor]
    """Its parameters."""
    loss: Callable[[_Rows], Tensor]
    """Mean loss of some of the pairs, in standardised units."""
    held_out: Callable[[_Rows], Tensor]
    """The same to watch, without noise."""
    parameters: Callable[[], Parameters]
    """A copy of all that is kept."""


def split(pairs: int, rng: np.random.Generator) -> tuple[_Rows, _Rows]:
    """Rows that are held out, a tenth of the pairs but at least two, and rows that are learnt."""
    order, tenth = rng.permutation(pairs), max(2, pairs // 10)
    return order[:tenth], order[tenth:]


def fit(
    course: Course,
    recipe: Estimator,
    pairs: int,
    rng: np.random.Generator,
    *,
    volume: float = 0.0,
    report: Report | None = None,
    watch: Callable[[int, Parameters], None] | None = None,
) -> Fit:
    """Train until the held-out loss has not fallen for `recipe.patience` epochs.

    Args:
        course: the network.
        recipe: its options.
        pairs: number of pairs; a tenth of them, at least two, is held out.
        rng: chooses which, and orders the others.
        volume: added to losses to tell them in theta's own units.
        report: called at every epoch.
        watch: called with the epoch and the parameters as they stand, from 0 on.
    """
    held, learnt = split(pairs, rng)
    parts = training.slices(len(learnt), max(1, round(len(learnt) / recipe.batch)))

    def epochs() -> Iterator[list[_Rows]]:
        for _ in range(recipe.epochs):
            shuffled = rng.permutation(learnt)
            yield [shuffled[part] for part in parts]

    losses: list[float] = []
    held_out: list[float] = []
    best = course.parameters()
    if watch:
        watch(0, best)
    steps = training.descend(
        Adam([(list(course.tensors), recipe.lr)]), epochs(), course.loss, clip=_CLIP
    )
    for epoch, of_epoch in enumerate(steps, 1):
        losses.append(float(torch.stack(of_epoch).mean()) + volume)
        with torch.no_grad():
            held_out.append(float(course.held_out(held)) + volume)
        since = epoch - 1 - int(np.argmin(held_out)) if recipe.patience else 0
        now = course.parameters() if watch or since == 0 else best
        best = now if since == 0 else best
        if watch:
            watch(epoch, now)
        if report:
            live = {"epoch": float(epoch), "loss": losses[-1], "held_out": held_out[-1]}
            report(epoch / recipe.epochs, live)
        if recipe.patience and since >= recipe.patience:
            break
    columns = {"epoch": np.arange(1, len(losses) + 1), "loss": losses, "held_out": held_out}
    return Fit(best, {name: np.asarray(c, np.float32) for name, c in columns.items()})
