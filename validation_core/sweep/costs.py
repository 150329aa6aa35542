"""Estimated cost of a sweep or a diagnosis on this machine, before it is run.

Seconds are those of one 2.x GHz core, scaled by how fast this machine does a small fixed piece of
arithmetic. They are rough estimates, within a factor of about two; once trials have run, their
measured times are used instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.benchmarks.trained import Trained
from validation_core.localization import MapTask
from validation_core.methods.base import Method, Work
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.sweep.plan import Batch, Sweep
from validation_core.sweep.progress import Progress, missing_of_all
from validation_core.sweep.trials import TrialDesign, effective_design
from validation_core.types import Benchmark, Pairs

if TYPE_CHECKING:
    from validation_core.store import Store

_REFERENCE = 0.0125  # seconds of `_arithmetic` on the machine that the numbers below are from
_WIDTH = 6  # numbers of a row of theirs
_MAP = 6.0  # seconds of a map beyond its draws
PROCESS_BYTES = 450e6  # bytes of a worker with torch before it does anything
# Seconds for a million numbers drawn.
_DRAWN = 0.045
_DENOISED = 6.0
_FLOWED = 6.0  # by a flow, for each parameter
TEST_SECONDS = 1e-3  # of a test's own bookkeeping
# Seconds for one step of an inference on one data set: Laplace's, and those with random draws.
_INFERRED = {
    "glm_binomial": (0.4e-6, 6e-6),
    "heart_transplants": (0.1e-6, 1.5e-6),
    "hospitals": (0.4e-6, 8e-6),
    "ionosphere": (5e-6, 60e-6),
    "concrete": (0.7e-6, 9e-6),
}
_STEPPED = 2e-4  # for one step, at any number of data sets


class MethodCost(NamedTuple):
    """Cost of one method: seconds and memory."""

    training: float
    """Seconds for all networks that it reads, once."""
    trial: float
    """Seconds for one test, its draws included."""
    memory: float
    """Bytes that a worker needs at its largest."""
    drawing: float = 0.0
    """Of a test's seconds, those of draws that methods of one batch share; none where tests were
    measured, each with its share."""


class _RemainingCost(NamedTuple):
    """Cost of the remaining tasks: seconds and memory."""

    seconds: float
    memory: float
    """Bytes, over all workers."""


@cache
def machine_slowdown() -> float:
    """Ratio of this machine's time for a fixed computation to the reference machine's."""
    return max(0.2, min(10.0, min(_arithmetic() for _ in range(3)) / _REFERENCE))


def _arithmetic() -> float:
    """Seconds for a fixed computation like that of the tests."""
    rng = stream(0, "costs")
    start = time.perf_counter()
    numbers = rng.standard_normal((256, 512)).astype(np.float32)
    for _ in range(8):
        np.tanh(numbers.T @ numbers)
    np.sort(rng.standard_normal(100_000))
    return time.perf_counter() - start


def relative_width(numbers: int) -> float:
    """How much wider a row is than those that the prices are from; narrower ones cost as much."""
    return max(1.0, numbers / _WIDTH)


def of(sweep: Sweep, method: Method, progress: Progress | None = None) -> MethodCost:
    """Cost of a method in this sweep, from its own trials where some have run."""
    training, trial = _training(sweep, method), _trial(sweep, method)
    cells = [cell for cell in progress.cells if cell.label == method.label] if progress else []
    if cells and progress:
        trial = sum(cell.seconds for cell in cells) / sum(cell.trials for cell in cells)
        training = progress.training[method.label] or training
        return MethodCost(training, trial, _memory(sweep, method))
    slowdown = machine_slowdown()
    drawing = slowdown * _drawn(sweep, method)
    return MethodCost(slowdown * training, slowdown * trial, _memory(sweep, method), drawing)


def estimate(
    sweep: Sweep, left: Sequence[TrainTask | Batch], workers: int, progress: Progress | None = None
) -> _RemainingCost:
    """Estimate the cost of the remaining tasks of a sweep.

    Args:
        sweep: the sweep.
        left: the remaining tasks.
        workers: processes that share them.
        progress: finished trials, whose measured seconds are used.

    Returns:
        Seconds until all are done, and bytes over all workers.
    """
    memory = sorted((_memory(sweep, method) for method in sweep.methods), reverse=True)[:workers]
    seconds = _seconds({sweep: progress}, left) / max(1, workers)
    return _RemainingCost(seconds, sum(memory) + PROCESS_BYTES * workers)


def remaining(sweeps: Sequence[Sweep], store: Store) -> float:
    """Seconds of one worker for the missing parts of several sweeps."""
    return _seconds(dict.fromkeys(sweeps), missing_of_all(sweeps, store))


def _seconds(sweeps: Mapping[Sweep, Progress | None], left: Sequence[TrainTask | Batch]) -> float:
    """Seconds of one worker for the remaining tasks of sweeps, by the trials that have run.

    The parts of a batch draw once.
    """
    costs: dict[tuple[Benchmark, Method, TrialDesign], MethodCost] = {}
    networks: dict[Training, float] = {}
    for sweep, progress in sweeps.items():
        for method in sweep.methods:
            cost = of(sweep, method, progress)
            costs[sweep.benchmark, method, effective_design(sweep.design, method)] = cost
            read = _networks(sweep, method)
            networks |= dict.fromkeys(read, cost.training / max(1, len(read)))
    seconds = 0.0
    for task in left:
        if isinstance(task, Batch):
            parts = [costs[p.source.benchmark, p.method, p.design] for p in task.parts]
            drawing = [cost.drawing for cost in parts]
            each = sum(cost.trial for cost in parts) - sum(drawing) + max(drawing)
            seconds += task.parts[0].count * each
    trained = {one for task in left if isinstance(task, TrainTask) for one in task.trainings}
    behind = trained - set(networks)  # those that q is drawn from
    return seconds + sum(networks[one] for one in trained - behind) + _learning(behind)


def maps(studies: Iterable[MapTask]) -> float:
    """Seconds to train and compute these maps."""
    return machine_slowdown() * sum(_MAP + _mapping(study) for study in studies)


def trainings(tasks: Sequence[object]) -> float:
    """Seconds to train the networks that these tasks read, and to compute their maps."""
    networks = {network for task in tasks for network in getattr(task, "trainings", ())}
    return maps(task for task in tasks if isinstance(task, MapTask)) + _learning(networks)


def _learning(networks: Iterable[Training]) -> float:
    return machine_slowdown() * sum(learning_seconds(network.recipe) for network in networks)


def _mapping(study: MapTask) -> float:
    """Seconds to train a localizer, and to draw for it and for its map."""
    recipe, source = study.training.recipe, study.training.source
    assert isinstance(source, Simulated)
    assert isinstance(recipe, Localizer)
    draws = recipe.anchors * recipe.draws + 2 * study.n * study.k + 2300 * study.places
    return learning_seconds(recipe) + draws / 1e6 * _drawing(source.benchmark)


def _drawing(benchmark: Benchmark) -> float:
    """Seconds to draw a million rows."""
    if isinstance(benchmark, Trained):
        return _FLOWED * benchmark.dims[0]
    denoised = getattr(benchmark, "model", "") == "diffusion"
    return _DENOISED if denoised else _DRAWN * max(2, sum(benchmark.dims) / 2)


def _rows(sweep: Sweep, method: Method) -> int:
    """Rows drawn for one test."""
    return method.rows(sweep.design.n, sweep.design.k, sweep.design.protocol == "pooled")


def _fits(benchmark: Benchmark, gamma: float, count: int) -> float:
    """Seconds to infer q at `count` different x, where a benchmark infers it."""
    if not isinstance(benchmark, BayesModel) or benchmark.inference == "exact" or not count:
        return 0.0
    each = _INFERRED[benchmark.model]["laplace" not in benchmark.inference]
    return gamma * (_STEPPED + each * count)


def _trial(sweep: Sweep, method: Method) -> float:
    """Seconds of one test, with its draws."""
    n, k = sweep.design.n, sweep.design.k
    rows = _rows(sweep, method) / 1e6
    if method.scores_by_number:
        rows *= relative_width(sum(sweep.benchmark.dims))
    tested = method.cost(Work(rows, n, k, sweep.benchmark.dims[0]))
    return TEST_SECONDS + _drawn(sweep, method) + tested


def _drawn(sweep: Sweep, method: Method) -> float:
    """Seconds of the draws of one test."""
    at = sum(sweep.gammas) / len(sweep.gammas)
    places = method.places(sweep.design.n, sweep.design.k)
    drawn = _rows(sweep, method) / 1e6 * _drawing(sweep.benchmark)
    return drawn + _fits(sweep.benchmark, at, places)


def _training(sweep: Sweep, method: Method) -> float:
    """Seconds of all its networks."""
    return sum(
        learning_seconds(network.recipe) + _fits(sweep.benchmark, at, network.recipe.places)
        for network, at in _networks(sweep, method).items()
    )


def _networks(sweep: Sweep, method: Method) -> dict[Training, float]:
    """Each network that it reads, of any seed, once, and a gamma at which it does."""
    read = (
        (one.network(method, gamma), gamma)
        for one, gamma in product(sweep.of_one_network, sweep.gammas)
    )
    return {network: gamma for network, gamma in read if network is not None}


def learning_seconds(recipe: Recipe | None) -> float:
    """Training seconds of a recipe; 0 without one."""
    return 0.0 if recipe is None else recipe.cost()


def _memory(sweep: Sweep, method: Method) -> float:
    rows, width = _rows(sweep, method), sum(sweep.benchmark.dims) + 1
    if isinstance(sweep.benchmark, Pairs) and method.layout == "table":
        width = sweep.benchmark.dims[0] + 1  # its x are not repeated
    return method.memory(sweep.design.n, rows, width)
