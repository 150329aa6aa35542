"""Which test finds a real estimator's error first: power by test, training and simulations.

Every test gets the same tables: N simulations that the estimator has not learnt from, and `DRAWS`
draws of q at each. Tests that learn a score learn it from one further table of that size. Trials
are those of a sweep at n = N; the true error of every estimator stands beside them, in nats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from validation_core.benchmarks.trained import SIMULATIONS, Trained
from validation_core.explorers.training.nats import Nats, NatsStudy
from validation_core.methods import C2ST, DC, LC2ST, SBC, TARP, CoLT, Multiple, Omnibus, Uniform
from validation_core.methods.base import Method
from validation_core.scores import trained_scores
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.trained_scores import Training
from validation_core.scores.upload_training import UploadTraining
from validation_core.statistics.areas import Estimate
from validation_core.sweep import progress
from validation_core.sweep.plan import Sweep
from validation_core.sweep.rates import RateInterval, rate_interval
from validation_core.sweep.trials import TrialDesign
from validation_core.types import NetworkCount, PowerCell

if TYPE_CHECKING:
    from validation_core.store import Store

SIZES = (100, 300, 1000, 5000)
"""Numbers of fresh simulations in a test, N."""
SEEDS = (0, 1, 2)
"""Of the estimators' trainings."""
DRAWS = 20
"""Draws of q at each x."""
FOUND = 0.5
"""Power from which a test is said to find an error."""
TESTS: tuple[Method, ...] = (
    Omnibus(learned=False),
    SBC(),
    TARP(reference="x"),
    C2ST(),
    Multiple(),
    Uniform(m=10),
    DC(),
    CoLT(),
)
"""The verdict without learned scores first; L-C2ST, which trains in every trial, only on request.
"""
WITH_LOCAL: tuple[Method, ...] = (*TESTS, LC2ST(nulls=19))
"""The same with L-C2ST, at one x."""


@dataclass(frozen=True, kw_only=True)
class Scoreboard:
    """Tests of the estimators of one task and one kind, over their simulations or epochs."""

    benchmark: Trained
    """Its seed is each of `seeds` in turn."""
    gammas: tuple[float, ...] = SIMULATIONS
    sizes: tuple[int, ...] = SIZES
    seeds: tuple[int, ...] = SEEDS
    tests: tuple[Method, ...] = TESTS
    trials: int = 50

    def of_seed(self, seed: int) -> Trained:
        """The benchmark of one training seed."""
        return replace(self.benchmark, seed=seed)

    def sweep(self, size: int, seed: int) -> Sweep:
        """The trials of one N, on the estimators of one seed."""
        return Sweep(
            benchmark=self.of_seed(seed),
            methods=self.tests,
            gammas=self.gammas,
            design=TrialDesign(trials=self.trials, n=size, k=DRAWS),
            recipe=TableClassifier(n=size, k=DRAWS, recipe=UploadTraining().classifier),
        )

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """All trials: every N on the estimators of the first seed, then of the others."""
        return tuple(self.sweep(size, seed) for seed in self.seeds for size in self.sizes)

    def training(self, gamma: float, seed: int) -> Training:
        """Training of one estimator."""
        return trained_scores.network_at(self.of_seed(seed), gamma)

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of all estimators."""
        return tuple(self.training(gamma, seed) for seed in self.seeds for gamma in self.gammas)

    @property
    def nats(self) -> tuple[NatsStudy, ...]:
        """The true error of each."""
        return tuple(NatsStudy(training=training) for training in self.trainings)


class Found(NamedTuple):
    """How often one test rejects the estimators trained with one gamma, by N."""

    label: str
    gamma: float
    cells: Mapping[int, PowerCell]
    """By N, over training seeds; of those whose trials have run."""

    @property
    def first(self) -> PowerCell | None:
        """The trials of the smallest N at which it finds the error; None if at none that ran."""
        found = (cell for _, cell in sorted(self.cells.items()) if cell.rate >= FOUND)
        return next(found, None)

    @property
    def size(self) -> int | None:
        """That N."""
        return next((n for n, cell in self.cells.items() if cell is self.first), None)

    @property
    def interval(self) -> RateInterval | None:
        """95% interval of its power there."""
        return None if self.first is None else rate_interval(self.first)


class Column(NamedTuple):
    """Everything about the estimators trained with one gamma."""

    gamma: float
    tests: tuple[Found, ...]
    nats: tuple[Nats, ...]
    """True error of each training seed; of those that are known."""

    @property
    def first(self) -> tuple[Found, ...]:
        """The tests that find the error at the smallest N, the most powerful first."""
        found = [test for test in self.tests if test.size is not None]
        least = min((test.size or 0 for test in found), default=None)
        tied = (test for test in found if test.size == least)
        return tuple(sorted(tied, key=lambda test: -_rate(test)))

    @property
    def forward(self) -> Estimate | None:
        """KL(p || q): the mean over training seeds, with the error of that mean over fresh x."""
        if not self.nats:
            return None
        count = len(self.nats)
        value = sum(one.forward.value for one in self.nats) / count
        error = sum(one.forward.error**2 for one in self.nats) ** 0.5 / count
        return Estimate(value, error)


def _rate(test: Found) -> float:
    return 0.0 if test.first is None else test.first.rate


def columns(board: Scoreboard, store: Store) -> tuple[Column, ...]:
    """What has run so far, for each gamma of a scoreboard."""
    cells = dict(_cells(board, store))
    known = {study: study.load(store) for study in board.nats}
    made = []
    for gamma in board.gammas:
        tests = tuple(
            Found(test.label, gamma, _by_size(board, cells, test, gamma)) for test in board.tests
        )
        studies = (NatsStudy(training=board.training(gamma, seed)) for seed in board.seeds)
        nats = (known[study] for study in studies)
        made.append(Column(gamma, tests, tuple(one for one in nats if one is not None)))
    return tuple(made)


_Place = tuple[str, float, int, int]
"""A test, gamma, N and a training seed."""


def _cells(board: Scoreboard, store: Store) -> Iterator[tuple[_Place, PowerCell]]:
    for seed in board.seeds:
        for size in board.sizes:
            for cell in progress.collect(board.sweep(size, seed), store).cells:
                yield (cell.label, cell.gamma, size, seed), cell


def _by_size(
    board: Scoreboard, cells: Mapping[_Place, PowerCell], test: Method, gamma: float
) -> dict[int, PowerCell]:
    places = {
        size: [(test.label, gamma, size, seed) for seed in board.seeds] for size in board.sizes
    }
    run = {size: [cells[at] for at in of_size if at in cells] for size, of_size in places.items()}
    return {size: _merged(of_size) for size, of_size in run.items() if of_size}


def _merged(cells: Sequence[PowerCell]) -> PowerCell:
    """The trials of several training seeds in one cell, with the counts of each."""
    if len(cells) == 1:
        return cells[0]
    return replace(
        cells[0],
        trials=sum(cell.trials for cell in cells),
        rejections=sum(cell.rejections for cell in cells),
        seconds=sum(cell.seconds for cell in cells),
        networks=tuple(NetworkCount(cell.rejections, cell.trials) for cell in cells),
    )
