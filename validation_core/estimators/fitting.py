"""An estimator's training: epochs, a tenth held out, an end when that fares no better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.estimators.base import Estimator, TrainingDiverged
from validation_core.learn import perceptron, training
from validation_core.learn.adam import Adam
from validation_core.learn.perceptron import Parameters
from validation_core.rng import stream
from validation_core.study import Report
from validation_core.types import Array, Integers

CLIP = 5.0
"""Norm to which a step's gradient is shortened."""
AVERAGED = 5
"""Epochs over which parameters are averaged, with weights that fall off exponentially: at a
constant rate the last step's are as noisy as the rate is high."""
_T = TypeVar("_T")
Examples = tuple[NDArray[np.float32], ...]
"""What a network learns from, row by row, each (n, columns)."""


class Course(NamedTuple):
    """A network in training, or S of one shape side by side, each on its own pairs.

    Where S > 1, parameters and examples have a leading axis of networks, and losses are (S,).
    """

    parameters: Mapping[str, Tensor]
    examples: Callable[[int, Integers, np.random.Generator], Examples]
    """Of these pairs of the s-th network."""
    loss: Callable[..., Tensor]
    """Mean loss of examples, in standardised units; its arguments are theirs."""
    held_out: Callable[..., Tensor]
    """The same to watch, at the parameters that come first."""
    volumes: Sequence[float]
    """Of each network; added to its losses."""
    repeats: int = 1
    """Times that each held-out pair is looked at: more where examples are noisy."""
    device: str = "cpu"


class Fit(NamedTuple):
    """The parameters that were kept, and losses by epoch."""

    parameters: Parameters
    history: dict[str, Array]
    """`epoch`, `loss`, `held_out`: (epochs,), nats a pair in theta's own units."""


def split(pairs: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Rows that are held out, a tenth of the pairs but at least two, and rows that are learnt."""
    order, tenth = rng.permutation(pairs), max(2, pairs // 10)
    return order[:tenth], order[tenth:]


def fit(
    course: Course,
    recipe: Estimator,
    pairs: int,
    rngs: Sequence[np.random.Generator],
    *,
    report: Report | None = None,
    watch: Callable[[int, Parameters], None] | None = None,
) -> list[Fit]:
    """Train each network until its held-out loss has not fallen for `recipe.patience` epochs.

    Args:
        course: the networks.
        recipe: their options.
        pairs: number of pairs; a tenth of them, at least two, is held out.
        rngs: of each network; chooses which, and orders the others.
        report: called at every epoch.
        watch: called with the epoch and the parameters as they stand, from 0 on.

    Raises:
        TrainingDiverged: when a loss is no finite number.
    """
    splits = [split(pairs, rng) for rng in rngs]
    watched = _examples(course, [held.repeat(course.repeats) for held, _ in splits], rngs)
    learnt = pairs - len(splits[0][0])
    parts = training.equal_slices(learnt, max(1, round(learnt / recipe.batch)))

    def epochs() -> Iterator[list[tuple[Tensor, ...]]]:
        for _ in range(recipe.epochs):
            shuffled = [rng.permutation(rows) for rng, (_, rows) in zip(rngs, splits, strict=True)]
            examples = _examples(course, shuffled, rngs)
            yield [tuple(each[..., part, :] for each in examples) for part in parts]

    adam = _AveragingAdam(course.parameters, recipe.lr, AVERAGED * len(parts))
    kept = _Kept(course, recipe, adam.means)
    if watch:
        watch(0, perceptron.arrays(adam.means))
    steps = training.descend(adam, epochs(), lambda rows: course.loss(*rows), clip=CLIP)
    for epoch, losses in enumerate(steps, 1):
        with torch.no_grad():
            held_out = course.held_out(adam.means, *watched)
        now = kept.look(torch.stack(losses).mean(0), held_out)
        if watch:
            watch(epoch, perceptron.arrays(adam.means))
        if report:
            report(epoch / recipe.epochs, {"epoch": float(epoch), **now})
        if kept.over:
            break
    return kept.fits()


def learn(
    course: Course,
    recipe: Estimator,
    pairs: int,
    seeds: Sequence[int],
    trained: Callable[[Parameters, int, Mapping[str, Array], float], _T],
    *,
    report: Report | None = None,
    watch: Callable[[int, _T], None] | None = None,
) -> list[_T]:
    """Train each network, and make an estimator of it.

    Args:
        course: the networks.
        recipe: their options.
        pairs: number of pairs of each.
        seeds: of each; they order its rows.
        trained: the estimator of parameters, the network's number, its history, and its seconds.
        report: called at every epoch.
        watch: called with the epoch and the first estimator as it stands, from 0 on.
    """
    fits, seconds = training.timed(
        lambda: fit(
            course,
            recipe,
            pairs,
            [stream(seed, "order") for seed in seeds],
            report=report,
            watch=watch and (lambda epoch, now: watch(epoch, trained(now, 0, {}, 0.0))),
        )
    )
    own = seconds / len(fits)
    return [trained(one.parameters, s, one.history, own) for s, one in enumerate(fits)]


def _examples(
    course: Course, rows: Sequence[Integers], rngs: Sequence[np.random.Generator]
) -> list[Tensor]:
    """Examples of some pairs of every network."""
    every = [course.examples(s, *each) for s, each in enumerate(zip(rows, rngs, strict=True))]
    columns = every[0] if len(every) == 1 else [np.stack(c) for c in zip(*every, strict=True)]
    return [torch.from_numpy(column).to(course.device) for column in columns]


class _AveragingAdam(Adam):
    """Adam, and the running means of its parameters over the last `steps`."""

    def __init__(self, parameters: Mapping[str, Tensor], lr: float, steps: int) -> None:
        super().__init__([(list(parameters.values()), lr)])
        self.means = {name: tensor.detach().clone() for name, tensor in parameters.items()}
        self._steps, self._taken = steps, 0

    def step(self) -> None:
        """Take one step, and move the means: at the start, as far as to a tenth of the steps."""
        super().step()
        self._taken += 1
        share = max(1 / self._steps, 9 / (9 + self._taken))
        with torch.no_grad():
            for mean, tensor in zip(self.means.values(), self.parameters, strict=True):
                mean.lerp_(tensor, share)


class _Kept:
    """Losses by epoch, and each network's best parameters so far."""

    def __init__(self, course: Course, recipe: Estimator, means: Mapping[str, Tensor]) -> None:
        self._course, self._recipe, self._means = course, recipe, means
        self._losses: list[Array] = []
        self._held_out: list[Array] = []
        self._best = np.full(len(course.volumes), np.inf)
        self._at = np.zeros(len(course.volumes), dtype=int)
        self._parameters: dict[str, Tensor] = {}
        self.over = False
        """Whether the last of the networks has stopped."""

    def look(self, loss: Tensor, held_out: Tensor) -> dict[str, float]:
        """Note an epoch; its mean losses."""
        volumes = np.array(self._course.volumes)
        for losses, now in ((self._losses, loss), (self._held_out, held_out)):
            losses.append(now.reshape(-1).cpu().numpy().astype(np.float64) + volumes)
            self._check(losses[-1])
        epoch, patience = len(self._losses), self._recipe.patience
        stopped = (epoch - 1 - self._at >= patience) & (patience > 0) & (self._at > 0)
        better = ~stopped & ((self._held_out[-1] < self._best) | (patience == 0))
        self._best = np.where(better, self._held_out[-1], self._best)
        self._at = np.where(better, epoch, self._at)
        self.over = patience > 0 and bool(np.all(epoch - self._at >= patience))
        if better.any() and (patience or epoch == self._recipe.epochs):
            self._keep(torch.from_numpy(better).to(self._course.device))
        return {"loss": self._losses[-1].mean(), "held_out": self._held_out[-1].mean()}

    def _check(self, losses: Array) -> None:
        if not np.isfinite(losses).all():
            raise TrainingDiverged.at(len(self._losses), self._recipe.lr, losses)

    def _keep(self, which: Tensor) -> None:
        for name, tensor in self._means.items():
            now = tensor.clone()
            mask = which.reshape(-1, *[1] * (now.ndim - 1))
            self._parameters[name] = torch.where(mask, now, self._parameters.get(name, now))

    def fits(self) -> list[Fit]:
        """What each network keeps, and its history up to its own end."""
        networks = [perceptron.arrays(self._parameters)]
        if len(self._course.volumes) > 1:
            networks = perceptron.unstack(networks[0])
        losses, held_out = np.stack(self._losses), np.stack(self._held_out)
        patience = self._recipe.patience or len(losses)
        fits = []
        for s, network in enumerate(networks):
            end = min(len(losses), self._at[s] + patience)
            columns = np.arange(1, end + 1), losses[:end, s], held_out[:end, s]
            names = ("epoch", "loss", "held_out")
            history = {n: c.astype(np.float32) for n, c in zip(names, columns, strict=True)}
            fits.append(Fit(network, history))
        return fits
