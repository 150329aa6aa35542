"""Pieces of work that a page asks for: frozen values whose results land in the store.

Each has a key; it is done when the store holds its result, so that progress counts keys, a
restart submits what is missing, and two users who ask for the same thing wait for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from validation_core import keys, models, power, sampling, scores, statistics
from validation_core.models import Simulated, Training
from validation_core.rng import stream
from validation_core.types import Array, Blocks, Method, Own, PowerCell, learnt

if TYPE_CHECKING:
    from validation_core.store import Store

Live = Callable[[float, Mapping[str, Any]], None]

BETAS = tuple(round(0.05 * i, 2) for i in range(21))
"""The workbench's grid of degradations; it holds the paper's values."""
COARSE_BETAS = BETAS[::4]
"""What is scored first, so that there is something to look at."""


@dataclass(frozen=True, kw_only=True)
class TrainTask:
    """Train classifiers; several of one recipe become one batch, which pays on a GPU."""

    version: ClassVar[int] = 1

    trainings: tuple[Training, ...]

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        first = self.trainings[0].label
        more = len(self.trainings) - 1
        return f"Train {first}" + (f" and {more} more" if more else "")

    @property
    def makes(self) -> frozenset[str]:
        """Keys of the networks: tasks that need one wait for it."""
        return frozenset(keys.key(one) for one in self.trainings)

    def done(self, store: Store) -> bool:
        return not self._missing(store)

    def run(self, store: Store, report: Live) -> None:
        """Train those networks that the store lacks."""
        missing = self._missing(store)
        if missing:
            models.train(store, missing, trace(report))

    def _missing(self, store: Store) -> list[Training]:
        return [one for one in self.trainings if not store.has("models", keys.key(one))]


_ORACLE = 4096  # rows of each side whose log ratio is computed: the blind prior's is dear


class ScoreGrid(NamedTuple):
    """Scores of fixed draws at every beta, and what the oracle says of the same draws."""

    betas: Array  # (B,)
    p: Array  # (B, n_p)
    q: Array  # (B, n_q)
    auc: Array  # (B,), of all p against all q
    oracle_auc: Array  # (1,), of the log ratio; empty where nobody knows it
    oracle_p: Array  # of the first rows of p, empty where nobody knows the ratio
    oracle_q: Array  # of the first rows of q


@dataclass(frozen=True, kw_only=True)
class GridTask:
    """Score one set of draws at every beta: what the workbench's sliders act on."""

    version: ClassVar[int] = 1

    training: Training
    betas: tuple[float, ...] = BETAS
    n_p: int = 51_200  # 1000 test points get 50 calibration draws of their own, and some to spare
    n_q: int = 10_240
    seed: int = 0

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        count = len(self.betas)
        at = f"{count} betas" if count > 1 else f"beta {self.betas[0]:g}"
        return f"Score {self.training.source.label} at {at}"

    @property
    def needs(self) -> frozenset[str]:
        """The network's key: the engine waits for a task that makes it."""
        return frozenset({keys.key(self.training)})

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Score the draws at every beta, training the network where the store lacks it."""
        source = self.training.source
        assert isinstance(source, Simulated)
        network = models.trained(store, self.training)
        models.ready(store, source.benchmark)
        rng = stream(self.seed, "score grid")
        drawn = sampling.blocks(source.benchmark, source.gamma, self.n_p, self.n_q, rng)
        p, q = [], []
        for i, beta in enumerate(self.betas):
            scored = scores.apply(network.at(beta), drawn)
            p.append(scored.p)
            q.append(scored.q)
            report((i + 1) / len(self.betas), {"beta": beta})
        arrays = {"betas": np.array(self.betas), "p": np.stack(p), "q": np.stack(q)}
        arrays["auc"] = statistics.auc(arrays["p"], arrays["q"])
        arrays |= _oracle(source, drawn)
        small = {name: array.astype(np.float32) for name, array in arrays.items()}
        store.save("results", self.key, small, spec=keys.text(self), meta={"label": self.label})

    def load(self, store: Store) -> ScoreGrid | None:
        """The stored grid, or None."""
        found = store.load("results", self.key)
        return None if found is None else ScoreGrid(*(found.arrays[n] for n in ScoreGrid._fields))


def with_training(grids: Sequence[GridTask], device: str) -> tuple[TrainTask | GridTask, ...]:
    """Grids, each behind the training of its network.

    Where a GPU computes, one batch trains all networks first. On a CPU a batch takes as long as
    its networks one by one (measured on two cores): there each is a task of its own, and workers
    train side by side.
    """
    trainings = tuple(dict.fromkeys(grid.training for grid in grids))
    if device == "cuda":
        return (TrainTask(trainings=trainings), *grids)
    tasks: dict[TrainTask | GridTask, None] = {}
    for grid in grids:
        tasks |= {TrainTask(trainings=(grid.training,)): None, grid: None}
    return tuple(tasks)


def _oracle(source: Simulated, drawn: Blocks) -> dict[str, Array]:
    ratios = [
        source.benchmark.log_ratio(rows.theta[:_ORACLE], rows.x[:_ORACLE], source.gamma)
        for rows in (drawn.p, drawn.q)
    ]
    p, q = (np.zeros(0) if ratio is None else ratio for ratio in ratios)
    auc = np.atleast_1d(statistics.auc(p, q)) if p.size else np.zeros(0)
    return {"oracle_p": p, "oracle_q": q, "oracle_auc": auc}


def trace(report: Live) -> Live:
    """Tells the whole course of a training at each check, so that a page can draw it."""
    course: dict[str, list[float]] = {}

    def tell(fraction: float, now: Mapping[str, Any]) -> None:
        for name, value in now.items():
            course.setdefault(name, []).append(value)
        report(fraction, {"history": course})

    return tell


@dataclass(frozen=True, kw_only=True)
class PowerTask:
    """The power of several methods at one gamma and one beta, on shared trials."""

    version: ClassVar[int] = 2

    training: Training
    beta: float
    methods: tuple[Method, ...]
    design: power.Trials

    @cached_property
    def key(self) -> str:
        return keys.key(self)

    @property
    def label(self) -> str:
        what = f"{self.training.source.label}, beta {self.beta:g}"
        return f"Power of {what}, {self.design.trials} trials"

    @cached_property
    def trainings(self) -> dict[str, Training]:
        """The network that each method reads, by the method's label."""
        return {
            method.label: network_of(method, self.training, self.design)
            for method in self.methods
            if learnt(method)
        }

    @property
    def needs(self) -> frozenset[str]:
        """The networks' keys."""
        source = self.training.source
        assert isinstance(source, Simulated)
        behind = models.network_behind(source.benchmark)
        networks = [*self.trainings.values(), *([behind] if behind else [])]
        return frozenset(keys.key(training) for training in networks)

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Live) -> None:
        """Count rejections, training the networks that the store lacks."""
        source = self.training.source
        assert isinstance(source, Simulated)
        models.ready(store, source.benchmark)
        scores_by_key = {
            training: models.trained(store, training).at(self.beta)
            for training in dict.fromkeys(self.trainings.values())
        }
        read = {label: scores_by_key[training] for label, training in self.trainings.items()}
        tested = power.run(
            source.benchmark, source.gamma, read, self.methods, self.design,
            progress=lambda fraction: report(fraction, {}),
        )  # fmt: skip
        cells = tested.cells(source.benchmark, source.gamma, self.beta, self.design)
        store.save(
            "results", self.key,
            {"pvalues": tested.pvalues, "statistics": tested.statistics}, spec=keys.text(self),
            meta={"label": self.label, "cells": [asdict(cell) for cell in cells]},
        )  # fmt: skip

    def load(self, store: Store) -> list[PowerCell] | None:
        """The stored counts, or None."""
        found = store.load("results", self.key)
        return None if found is None else [PowerCell(**cell) for cell in found.meta["cells"]]


def network_of(method: Method, training: Training, design: power.Trials) -> Training:
    """The network that a method reads: the training's own classifier, or one by its own recipe.

    Such a one learns from as many draws as it is tested on, as in the papers.
    """
    if not isinstance(method, Own):
        return training
    source = training.source
    assert isinstance(source, Simulated)
    recipe = method.recipe(design.n, design.k, source.benchmark)
    return Training(source=source, recipe=recipe, seed=training.seed)


Axis = Literal["gamma", "beta", "m"]


def sweep(
    training: Training, axis: Axis, values: Sequence[float], *, beta: float,
    methods: tuple[Method, ...], design: power.Trials,
) -> list[PowerTask]:  # fmt: skip
    """One task per value of gamma (at this beta) or of beta (at this training's gamma)."""
    source = training.source
    assert isinstance(source, Simulated)
    tasks = []
    for value in values:
        at = Simulated(benchmark=source.benchmark, gamma=value) if axis == "gamma" else source
        one = Training(source=at, recipe=training.recipe, seed=training.seed)
        tasks.append(
            PowerTask(
                training=one, beta=beta if axis == "gamma" else value, methods=methods,
                design=design,
            )
        )  # fmt: skip
    return tasks
