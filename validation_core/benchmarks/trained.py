"""A real estimator beside the truth: q learns from simulations of a task whose posterior is known.

In gamma's place stands the number of simulations, or of epochs. theta and x are drawn from the
prior and the simulator; the exact posterior is needed for densities and for draws at a given x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from validation_core.estimators import ESTIMATORS, Estimator, TrainedEstimator
from validation_core.simulators import SIMULATORS, Simulator
from validation_core.types import Array, Joint, Pairs, Paper

TaskName = Literal[
    "two_moons", "gaussian_linear", "gaussian_linear_uniform", "gaussian_mixture", "sir"
]
EstimatorName = Literal["maf", "nsf", "diffusion", "flow_matching", "ensemble", "marginals"]
SIMULATIONS = (400, 1000, 2000, 10_000, 100_000)
"""Numbers of simulations, in gamma's place."""
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200)
"""Numbers of epochs, in gamma's place."""
_PAPER = Paper(
    "Lueckmann, Boelts, Greenberg, Goncalves, Macke",
    2021,
    "Benchmarking simulation-based inference",
)

_LOADED_ESTIMATORS: dict[Trained, Callable[[float], TrainedEstimator]] = {}


@dataclass(frozen=True, kw_only=True)
class SimulatorPairs(Pairs, spec="simulator_pairs"):
    """The pairs that estimators learn from; its q is the exact posterior."""

    paper: ClassVar[Paper] = _PAPER
    simulator: Simulator

    @property
    def label(self) -> str:
        return self.simulator.title

    @property
    def gammas(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def dims(self) -> tuple[int, int]:
        return self.simulator.dims

    def pairs(self, n: int, gamma: float, rng: np.random.Generator) -> Joint:
        """n independent pairs from the prior and the simulator."""
        del gamma
        return self.simulator.pairs(n, rng)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        return self.simulator.pairs(n, rng).x

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        del gamma
        return self.simulator.posterior(x, rng)

    q = theta

    def draws(self, x: Array, k: int, gamma: float, rng: np.random.Generator) -> Array:
        """k draws of the exact posterior at each x: (n, k, D)."""
        del gamma
        drawn = self.simulator.posterior(np.repeat(x, k, axis=0), rng)
        return drawn.reshape(len(x), k, -1)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        del gamma
        return self.simulator.log_posterior(theta, x)


@dataclass(frozen=True, kw_only=True)
class Trained(Pairs):
    """An estimator trained on gamma simulations, or for gamma epochs, of a known task.

    Examples:
        >>> benchmark = npt.Trained(task="two_moons", estimator="nsf")
        >>> benchmark.dims, benchmark.place(benchmark.gammas[0])
        ((2, 2), '400 simulations')
    """

    name: ClassVar[str] = "trained"
    title: ClassVar[str] = "Trained estimator"
    paper: ClassVar[Paper] = _PAPER
    counts_iterations: ClassVar[bool] = True
    theta_at_x: ClassVar[bool] = True
    version: ClassVar[int] = 1 + sum(
        kind.version - 1 for kind in (*SIMULATORS.values(), *ESTIMATORS.values())
    )
    """Rises with that of any task or estimator: fields hold their names alone."""
    gamma_title: ClassVar[str] = "Simulations, or epochs"

    task: TaskName = field(
        default="two_moons",
        metadata={"label": "Task", "help": "A simulator whose posterior is known at every x."},
    )
    estimator: EstimatorName = field(
        default="nsf",
        metadata={"label": "Estimator", "listed": False, "help": "What learns the posterior."},
    )
    along: Literal["simulations", "epochs"] = field(
        default="simulations",
        metadata={"label": "In gamma's place", "listed": False, "help": "What q improves with."},
    )
    simulations: int = field(
        default=2000,
        metadata={
            "label": "Simulations",
            "min": 50,
            "max": 1_000_000,
            "help": "That q learns from, where gamma counts epochs.",
        },
    )
    training_seed: int = field(
        default=0, metadata={"label": "Seed", "min": 0, "max": 9999, "help": "Of the training."}
    )

    def __post_init__(self) -> None:
        for name, known in (
            ("task", tuple(SIMULATORS)),
            ("estimator", tuple(ESTIMATORS)),
            ("along", ("simulations", "epochs")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} is one of {', '.join(known)}; got {getattr(self, name)!r}. Choose "
                    "among those."
                )

    def check_gamma(self, gamma: float) -> None:
        """Refuse what is no number of simulations or epochs."""
        self.recipe(gamma)

    @property
    def simulator(self) -> Simulator:
        """The task."""
        return SIMULATORS[self.task]()

    @property
    def truth(self) -> SimulatorPairs:
        """The pairs that the estimator learns from."""
        return SimulatorPairs(simulator=self.simulator)

    def recipe(self, gamma: float) -> Estimator:
        """How q is trained at this gamma.

        Raises:
            ValueError: unless gamma is a whole number of simulations or epochs.
        """
        if gamma < 1 or not float(gamma).is_integer():
            raise ValueError(
                f"gamma counts {self.along}, a whole number from 1 on; got {gamma:g}. Choose "
                f"among {', '.join(f'{one:,}' for one in self.gammas)}."
            )
        usual = ESTIMATORS[self.estimator]()
        if self.along == "simulations":
            return usual.for_simulations(int(gamma))
        return replace(usual.for_simulations(self.simulations), epochs=int(gamma), patience=0)

    def use_network(self, network: Callable[[float], TrainedEstimator]) -> None:
        """Draw from now on, in this process, from the estimators that `network` gives by gamma."""
        _LOADED_ESTIMATORS[self] = network

    def trained(self, gamma: float) -> TrainedEstimator:
        """The trained estimator at this gamma.

        Raises:
            ValueError: where this process has none.
        """
        if self not in _LOADED_ESTIMATORS:
            raise ValueError(
                "A trained estimator draws from a network; got none in this process. Let "
                "`trained_scores.ready` fetch or train it."
            )
        return _LOADED_ESTIMATORS[self](gamma)

    @property
    def summary(self) -> str:
        return f"q is an estimator that learnt from gamma {self.along} of a known task"

    @property
    def label(self) -> str:
        """Task and estimator."""
        about = f", {self.simulations:,} simulations" if self.along == "epochs" else ""
        return f"{self.simulator.title}, {ESTIMATORS[self.estimator].title}{about}"

    @property
    def gammas(self) -> tuple[float, ...]:
        return EPOCHS if self.along == "epochs" else SIMULATIONS

    @property
    def axis(self) -> str:
        return self.along

    def place(self, gamma: float) -> str:
        return f"{gamma:,.0f} {self.along}"

    def is_exact(self, gamma: float) -> bool:
        """Never: an estimator is as good as it learnt to be."""
        del gamma
        return False

    @property
    def dims(self) -> tuple[int, int]:
        return self.simulator.dims

    def pairs(self, n: int, gamma: float, rng: np.random.Generator) -> Joint:
        """n independent pairs from the prior and the simulator."""
        del gamma
        return self.simulator.pairs(n, rng)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        return self.simulator.pairs(n, rng).x

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """One draw of the exact posterior at each x: (n, D)."""
        del gamma
        return self.simulator.posterior(x, rng)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        return self.draws(x, 1, gamma, rng)[:, 0]

    def draws(self, x: Array, k: int, gamma: float, rng: np.random.Generator) -> Array:
        """k draws of the estimator at each x: (n, k, D)."""
        return self.trained(gamma).draws(x, k, rng)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        del gamma
        return self.simulator.log_posterior(theta, x)

    def log_q(self, theta: Array, x: Array, gamma: float) -> Array:
        """log q(theta|x): (n,)."""
        return self.trained(gamma).log_density(theta, x)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array:
        return self.log_p(theta, x, gamma) - self.log_q(theta, x, gamma)

    log_weight = log_ratio
