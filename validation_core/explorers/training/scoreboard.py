"""Which test finds a real estimator's error first: power by test, training and simulations.

Every test gets tables of the same size: N simulations that the estimator has not learnt from, and
`DRAWS` draws of q at each. Tests that learn a score learn it from one further table of that size.
Trials are those of a sweep at n = N; beside them stands the estimator's true error, in nats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.benchmarks.trained import SIMULATIONS, EstimatorName, TaskName, Trained
from validation_core.explorers.training.nats import Nats, NatsStudy, nats_over_trainings
from validation_core.methods import C2ST, DC, SBC, TARP, CoLT, Multiple, Omnibus, Uniform
from validation_core.methods.base import Method
from validation_core.scores import trained_scores
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.trained_scores import Training
from validation_core.scores.upload_training import UploadTraining
from validation_core.statistics import sign_flips
from validation_core.study import Report, Study
from validation_core.sweep.plan import Sweep, SweepPlace
from validation_core.sweep.rates import interval_over_networks
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Array, Interval

if TYPE_CHECKING:
    from validation_core.store import Store

SIZES = (100, 300, 1000, 5000)
"""Numbers of fresh simulations in a test, N."""
SEEDS = (0, 1, 2)
"""Of the estimators' trainings."""
DRAWS = 20
"""Draws of q at each x."""
TRIALS = 50
"""Tables on which each test is run."""
FOUND = 0.5
"""Power from which a test is said to find an error."""
TESTS: tuple[Method, ...] = (
    Omnibus(learned=False),
    SBC(),
    TARP(),
    TARP(reference="x"),
    C2ST(),
    Multiple(),
    Uniform(m=10),
    DC(),
    CoLT(),
)
"""The verdict without learned scores, tests of ranks, and tests that learn a score."""


_FEW = SIMULATIONS[:3]  # of networks that a visitor could train while looking on
_TASKS: tuple[TaskName, ...] = ("two_moons", "gaussian_mixture", "sir", "gaussian_linear")
_ESTIMATORS: tuple[EstimatorName, ...] = ("nsf", "maf", "diffusion", "flow_matching")


class TrialOutcomes(NamedTuple):
    """p-values of tests T in the trials of one estimator at one N."""

    pvalues: Array
    """(T, trials)."""
    seconds: Array
    """(T,) of one trial; training is not counted."""


@dataclass(frozen=True, kw_only=True)
class ScoreboardStudy(Study[TrialOutcomes], spec="scoreboard"):
    """All tests of one trained estimator, each in many trials of N simulations."""

    benchmark: Trained
    gamma: float
    """Simulations or epochs of its training."""
    n: int
    tests: tuple[Method, ...] = TESTS
    trials: int = TRIALS

    @property
    def label(self) -> str:
        at = f"{self.benchmark.place(self.gamma)}, seed {self.benchmark.training_seed}"
        return f"Tests of {self.benchmark.label} at {at}, N = {self.n:,}"

    @property
    def training(self) -> Training:
        """Training of the estimator."""
        return trained_scores.network_at(self.benchmark, self.gamma)

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,)

    @property
    def sweep(self) -> Sweep:
        """The sweep that these trials are one place of, and that names the tests' networks."""
        return Sweep(
            benchmark=self.benchmark,
            methods=self.tests,
            gammas=(self.gamma,),
            design=TrialDesign(trials=self.trials, n=self.n, k=DRAWS),
            recipe=TableClassifier(n=self.n, k=DRAWS, recipe=UploadTraining().classifier),
        )

    def compute(self, store: Store, report: Report) -> TrialOutcomes:
        """Run all tests at once: they share the draws of q."""
        tallies = self.sweep.run_at(SweepPlace(self.gamma, 0.0), store, report)
        return TrialOutcomes(
            np.stack([tally.pvalues for tally in tallies]).astype(np.float32),
            np.array([tally.seconds / self.trials for tally in tallies]),
        )


@dataclass(frozen=True, kw_only=True)
class Scoreboard:
    """Tests of one task's estimators of one kind, over simulations or epochs, N and seeds."""

    benchmark: Trained
    """Its `training_seed` is each of `seeds` in turn."""
    gammas: tuple[float, ...] = SIMULATIONS
    sizes: tuple[int, ...] = SIZES
    seeds: tuple[int, ...] = SEEDS
    tests: tuple[Method, ...] = TESTS
    trials: int = TRIALS

    def study(self, gamma: float, n: int, seed: int) -> ScoreboardStudy:
        """The trials at one N on one estimator."""
        return ScoreboardStudy(
            benchmark=replace(self.benchmark, training_seed=seed),
            gamma=gamma,
            n=n,
            tests=self.tests,
            trials=self.trials,
        )

    def nats(self, gamma: float, seed: int) -> NatsStudy:
        """The true error of one estimator."""
        benchmark = replace(self.benchmark, training_seed=seed)
        return NatsStudy(training=trained_scores.network_at(benchmark, gamma))

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of its estimators."""
        places = product(self.seeds, self.gammas)
        return tuple(self.nats(gamma, seed).training for seed, gamma in places)

    @property
    def studies(self) -> tuple[ScoreboardStudy | NatsStudy, ...]:
        """Everything on it: nats, then trials, those of few simulations first."""
        nats = (self.nats(gamma, seed) for seed, gamma in product(self.seeds, self.gammas))
        trials = (
            self.study(gamma, n, seed)
            for n in self.sizes
            for seed, gamma in product(self.seeds, self.gammas)
        )
        return (*nats, *trials)


class PowerAtN(NamedTuple):
    """Rejections of one test in the trials at one N, on the estimator of each seed."""

    n: int
    rejected: tuple[tuple[bool, ...], ...]
    """Of each estimator: whether the test rejects it in each trial."""

    @property
    def rejections(self) -> tuple[int, ...]:
        """How many of its trials reject each estimator."""
        return tuple(sum(one) for one in self.rejected)

    @property
    def trials(self) -> tuple[int, ...]:
        """Of each estimator."""
        return tuple(len(one) for one in self.rejected)

    @property
    def rate(self) -> float:
        """Share of trials that reject: the mean over estimators."""
        return sum(self.rejections) / sum(self.trials)

    @property
    def interval(self) -> Interval:
        """The rate, from the lowest to the highest end of the estimators' Wilson intervals."""
        return Interval.of(self.rate, *interval_over_networks(self.rejections, self.trials))

    def pvalue_against(self, other: PowerAtN) -> float:
        """Exact p-value that another test has the same power on the same estimators.

        The estimators are tested on the same draws: their rejections in a trial are counted
        together, and both tests exchanged in it. A test that reads draws of its own is independent
        of the other in each trial, and as exchangeable.
        """
        ours, theirs = (np.sum(one.rejected, axis=0) for one in (self, other))
        return sign_flips.count_pvalue(ours - theirs)


class MethodRow(NamedTuple):
    """How often one test rejects the estimators trained with one gamma."""

    test: Method
    powers: tuple[PowerAtN, ...]
    """By N, rising; of the trials that have run."""

    @property
    def first(self) -> PowerAtN | None:
        """Power at the smallest N at which it finds the error; None if at none that has run."""
        return next((power for power in self.powers if power.rate >= FOUND), None)


class GammaColumn(NamedTuple):
    """All tests of the estimators trained with one gamma, beside their true error."""

    gamma: float
    rows: tuple[MethodRow, ...]
    nats: tuple[Nats, ...]
    """Of each seed; of those that are known."""

    @property
    def first(self) -> tuple[MethodRow, ...]:
        """The tests that find the error at the smallest N, the most powerful there first."""
        found = [(row.first, row) for row in self.rows if row.first is not None]
        least = min((power.n for power, _ in found), default=0)
        tied = [(power.rate, row) for power, row in found if power.n == least]
        return tuple(row for _, row in sorted(tied, key=lambda pair: -pair[0]))

    @property
    def most(self) -> int:
        """The largest N whose trials have run; 0 before any."""
        return max((power.n for row in self.rows for power in row.powers), default=0)

    @property
    def forward(self) -> Interval | None:
        """KL(p || q): the mean over seeds, and the ends of their intervals."""
        return nats_over_trainings([one.forward for one in self.nats]) if self.nats else None

    @property
    def outside(self) -> float | None:
        """Share of q's draws where p has no mass, the mean over seeds."""
        shares = [one.outside for one in self.nats]
        return sum(shares) / len(shares) if shares else None


def columns(board: Scoreboard, store: Store, level: float = 0.05) -> tuple[GammaColumn, ...]:
    """What the store holds of a scoreboard, a column for each gamma."""
    return tuple(
        GammaColumn(
            gamma, tuple(_rows(board, store, gamma, level)), tuple(_nats(board, store, gamma))
        )
        for gamma in board.gammas
    )


def _nats(board: Scoreboard, store: Store, gamma: float) -> Iterator[Nats]:
    for seed in board.seeds:
        known = board.nats(gamma, seed).load(store)
        if known is not None:
            yield known


def _rows(board: Scoreboard, store: Store, gamma: float, level: float) -> Iterator[MethodRow]:
    run = {
        n: [
            outcomes
            for seed in board.seeds
            if (outcomes := board.study(gamma, n, seed).load(store)) is not None
        ]
        for n in sorted(board.sizes)
    }
    for index, test in enumerate(board.tests):
        powers = (
            PowerAtN(n, tuple(tuple((one.pvalues[index] <= level).tolist()) for one in outcomes))
            for n, outcomes in run.items()
            if outcomes
        )
        yield MethodRow(test, tuple(powers))


def shipped() -> tuple[Scoreboard, ...]:
    """The scoreboards whose results ship."""
    return tuple(
        Scoreboard(benchmark=Trained(task=task, estimator=estimator), gammas=_FEW)
        for task, estimator in product(_TASKS, _ESTIMATORS)
    )


class ShippedEstimator(NamedTuple):
    """An estimator that ships, of the first seed; of the others results alone do."""

    benchmark: Trained
    simulations: float

    @property
    def training(self) -> Training:
        """Its training."""
        return trained_scores.network_at(self.benchmark, self.simulations)


def shipped_estimators() -> tuple[ShippedEstimator, ...]:
    """The estimators that ship."""
    return tuple(
        ShippedEstimator(board.benchmark, simulations)
        for board in shipped()
        for simulations in SIMULATIONS
    )


def shipped_studies() -> tuple[ScoreboardStudy | NatsStudy, ...]:
    """True errors over all numbers of simulations, and the scoreboards."""
    over_simulations = (replace(board, gammas=SIMULATIONS, sizes=()) for board in shipped())
    boards = (*over_simulations, *shipped())
    return tuple(dict.fromkeys(study for board in boards for study in board.studies))
