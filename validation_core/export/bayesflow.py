"""Draws of a BayesFlow 2 approximator."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, as_matrix, as_numpy
from .draws_table import Table
from .progress import printer
from .run import MAX_SECONDS, MEMORY_MB, ExportRun, RowMisfit


class _Approximator(Protocol):
    """An approximator or workflow of BayesFlow; it may also have `log_prob`."""

    @property
    def sample(self) -> Callable[..., Mapping[str, ArrayLike]]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class _BayesFlowSampler:
    """Draws and log densities of a BayesFlow approximator at rows of a table."""

    approximator: _Approximator
    conditions: Mapping[str, Array]
    """(N, ...) by variable."""
    variables: Mapping[str, Array]
    """The truths (N, D_j) by variable; empty where theta is one array."""
    truth: Array
    """(N, D)."""
    k: int
    seed: int | None
    """None where `sample` takes none."""

    @property
    def density(self) -> Callable[..., ArrayLike] | None:
        """The approximator's log density, where the variables that it takes are known."""
        return getattr(self.approximator, "log_prob", None) if self.variables else None

    def draw(self, rows: Array) -> Array:
        """Draws (b, K, D) at rows (b,).

        Raises:
            RowMisfit: when `sample` leaves out a variable of theta.
        """
        seed = {} if self.seed is None else {"seed": self.seed + int(rows[0])}
        samples = self.approximator.sample(
            num_samples=self.k, conditions=self._conditions_at(rows), **seed
        )
        wanted = list(self.variables or samples)
        missing = [name for name in wanted if name not in samples]
        if missing:
            raise RowMisfit(
                f"`sample` must return every variable of theta; got {', '.join(samples)} without "
                f"{', '.join(missing)}. Name theta's variables as the simulator does."
            )
        arrays = [as_numpy(samples[name]).reshape(len(rows), self.k, -1) for name in wanted]
        return np.concatenate(arrays, axis=2)

    def log_prob(self, rows: Array, draws: Array) -> Array:
        """log q (b, 1 + K) of the truth and the draws (b, K, D) at each of the rows (b,)."""
        density = self.density
        assert density is not None, "asked only where there is one"
        points = np.concatenate([self.truth[rows, None], draws], axis=1).astype(draws.dtype)
        b, each, d = points.shape
        edges = np.cumsum([array.shape[1] for array in self.variables.values()])[:-1]
        columns = np.split(points.reshape(-1, d), edges, axis=1)
        repeated = {
            name: np.repeat(array, each, axis=0)
            for name, array in self._conditions_at(rows).items()
        }
        log_densities = density({**repeated, **dict(zip(self.variables, columns, strict=True))})
        return as_numpy(log_densities).reshape(b, each)

    def _conditions_at(self, rows: Array) -> dict[str, Array]:
        return {name: array[rows] for name, array in self.conditions.items()}


def from_bayesflow(
    approximator: _Approximator,
    theta: Mapping[str, ArrayLike] | ArrayLike,
    x: Mapping[str, ArrayLike] | ArrayLike,
    k: int = 200,
    *,
    log_q: bool = True,
    x_variable: str = "x",
    theta_names: Sequence[str] | None = None,
    seed: int = 0,
    memory_mb: float = MEMORY_MB,
    max_seconds: float | None = MAX_SECONDS,
    progress: bool = True,
) -> Table:
    """Draw k times from a BayesFlow 2 approximator (or workflow) at each x.

    Args:
        approximator: a workflow, approximator (2.0) or estimator (2.1), its adapter included:
            what has `sample(num_samples=, conditions=)`.
        theta: (N, D_j) arrays by variable, as your simulator names them; or one (N, D) array
            whose columns are the variables in the order in which `sample` returns them.
        x: (N, ...) arrays by variable: all conditions that `sample` needs, nothing else; or one
            array, passed as `x_variable`. A condition that is the same for every row must be
            repeated on the first axis.
        k: draws at each x.
        log_q: whether to evaluate log q, where the approximator can and `theta` is by variable.
        x_variable: the name of x where it is one array.
        theta_names: D labels instead of the variables' names.
        seed: given to `sample` where it takes one, else to `keras.utils.set_random_seed`, which
            seeds Python and NumPy too.
        memory_mb: as in `from_sbi`.
        max_seconds: as in `from_sbi`.
        progress: as in `from_sbi`.

    Returns:
        as `from_sbi` does; x with its variables' numbers in a row (N, M).

    Raises:
        ValueError: as `from_sbi` does.
    """
    conditions = {n: as_numpy(a) for n, a in _by_variable(x, x_variable).items()}
    variables = {n: as_matrix(a) for n, a in theta.items()} if isinstance(theta, Mapping) else {}
    takes_seed = "seed" in inspect.signature(approximator.sample).parameters
    if not takes_seed and "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(seed)
    sampler = _BayesFlowSampler(
        approximator=approximator,
        conditions=conditions,
        variables=variables,
        truth=np.concatenate([*variables.values()], axis=1) if variables else as_matrix(theta),
        k=k,
        seed=seed if takes_seed else None,
    )
    run = ExportRun(
        draw=sampler.draw,
        log_prob=sampler.log_prob if log_q and sampler.density else None,
        theta=sampler.truth,
        x=np.concatenate([a.reshape(len(a), -1) for a in conditions.values()], axis=1),
        k=k,
        memory_mb=memory_mb,
        max_seconds=max_seconds,
        say=printer(progress),
    )
    if log_q and run.log_prob is None:
        run.say("log q is left out: it needs theta by variable and an approximator with log_prob.")
    return run.table(theta_names or _labels(variables) or None, _labels(conditions))


def _by_variable(
    arrays: Mapping[str, ArrayLike] | ArrayLike, name: str
) -> Mapping[str, ArrayLike]:
    """Arrays by variable; a single array is the variable `name`."""
    return arrays if isinstance(arrays, Mapping) else {name: arrays}


def _labels(arrays: Mapping[str, Array]) -> list[str]:
    """A label for each number in a row: `mass`; `spin[0]`, `spin[1]` where there are several."""
    labels = []
    for name, array in arrays.items():
        width = array[0].size
        labels += [name] if width == 1 else [f"{name}[{i}]" for i in range(width)]
    return labels


BAYESFLOW_EXAMPLE = """\
import bayesflow as bf
import numpy as np

from export import from_bayesflow

rng = np.random.default_rng(0)


def prior():
    return {"mass": rng.normal(size=1), "spin": rng.normal(size=2)}


def likelihood(mass, spin):
    return {"x": np.concatenate([mass, spin]) + 0.5 * rng.normal(size=3)}


# Your own training stands here.
simulator = bf.make_simulator([prior, likelihood])
workflow = bf.BasicWorkflow(
    simulator=simulator,
    inference_network=bf.networks.CouplingFlow(depth=2),
    inference_variables=["mass", "spin"],
    inference_conditions=["x"],
)
workflow.fit_online(epochs=10, batch_size=64, num_batches_per_epoch=50)

# Fresh simulations: none of them was used to train.
test = simulator.sample(500)
theta = {"mass": test["mass"], "spin": test["spin"]}
table = from_bayesflow(workflow, theta, {"x": test["x"]}, k=200)
table.save("posterior.npz")
"""
"""A script that trains a BayesFlow workflow and saves a table, to copy."""
