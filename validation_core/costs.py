"""About how long a sweep or a diagnosis takes here, and how much memory: said before it is run.

Seconds are those of one 2.x GHz core, scaled by how fast this machine does a small fixed piece of
arithmetic. They are guesses to plan by, within a factor of about two; once trials have run, what
they took is used instead.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.diagnosis import learning
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier, TableClassifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.slots import Slots
from validation_core.sweep import Progress, Sweep, TrialsTask
from validation_core.tasks import TrainTask
from validation_core.types import Anew, Benchmark, Method, Pairs, learnt
from validation_core.uploads import Upload

_REFERENCE = 0.0125  # seconds of `_arithmetic` on the machine that the numbers below are from
_PROCESS = 450e6  # bytes of a worker with torch before it does anything
_COPIES = 4  # of a table while it is drawn, scored and ranked

# Seconds for a million numbers drawn, and rows scored, by what scores them.
_DRAWN = 0.045
_DENOISED = 6.0
_SCORED = {"classifier": 5.0, "scorer": 0.4, "witness": 7.0, "reference": 0.12, "rows": 0.02,
           "coordinates": 0.01, "ratio": 0.05}  # fmt: skip
_EMBEDDED = {"identity": 0.1, "residual": 3.7, "mlp": 3.7, "fourier": 1.2}
_RANKED = 0.02  # seconds for a million draws ranked
_TEST = 1e-3  # of a test's own bookkeeping
_PERMUTED = 1.5e-8  # for each simulation and permutation
_RELABELLED = 1.5e-7, 8e-8  # for each row and labelling, and for each parameter of those
_KERNELS = 20
_ENTRY = 2e-9  # seconds for one entry of a kernel matrix
_FLOP = 1e-11  # seconds for a multiplication in a matrix product
_STEP = 4.2e-5  # of a classifier's training, for each row of each epoch
_OWN = {"scorer": 1.5, "witness": 2.6, "reference": 0.05}
_SLOT = 1.3e-4  # of a score within x's training, for each slot that it learns from
_WITHIN = 5.0  # seconds for a million slots that it scores
_NULL = 2.5e-5  # of training one of L-C2ST's networks, for each row
_LOCALIZER = {"identity": 1e-4, "residual": 9e-4, "mlp": 9e-4, "fourier": 3e-4}


# Seconds for one step of an inference on one data set: Laplace's, and those with random draws.
_INFERRED = {
    "glm_binomial": (0.4e-6, 6e-6), "heart_transplants": (0.1e-6, 1.5e-6),
    "hospitals": (0.4e-6, 8e-6), "ionosphere": (5e-6, 60e-6), "concrete": (0.7e-6, 9e-6),
}  # fmt: skip
_STEPPED = 2e-4  # for one step, whatever the number of data sets


class Cost(NamedTuple):
    """What one method costs."""

    training: float
    """Seconds for all networks that it reads, once."""
    trial: float
    """Seconds for one test, its draws included."""
    memory: float
    """Bytes that a worker needs at its largest."""


class Estimate(NamedTuple):
    """What is still to be spent."""

    seconds: float
    memory: float
    """Bytes, over all workers."""


@cache
def machine() -> float:
    """How much slower this machine is than the one that the numbers are from."""
    return max(0.2, min(10.0, min(_arithmetic() for _ in range(3)) / _REFERENCE))


def _arithmetic() -> float:
    """Seconds of a fixed piece of arithmetic like that of the tests."""
    rng = stream(0, "costs")
    start = time.perf_counter()
    numbers = rng.standard_normal((256, 512)).astype(np.float32)
    for _ in range(8):
        np.tanh(numbers.T @ numbers)
    np.sort(rng.standard_normal(100_000))
    return time.perf_counter() - start


def of(sweep: Sweep, method: Method, progress: Progress | None = None) -> Cost:
    """What a method costs in this sweep, by its own trials where some have run."""
    training, trial = _training(sweep, method), _trial(sweep, method)
    cells = [cell for cell in progress.cells if cell.label == method.label] if progress else []
    if cells and progress:
        trial = sum(cell.seconds for cell in cells) / sum(cell.trials for cell in cells)
        training = progress.training[method.label] or training
        return Cost(training, trial, _memory(sweep, method))
    return Cost(machine() * training, machine() * trial, _memory(sweep, method))


def on_table(upload: Upload, method: Method) -> Cost:
    """What a method costs on a user's table, its network included."""
    n, k, (d, m) = upload.n, max(1, upload.k), upload.dims
    half = n if not learnt(method) else max(1, n // 2)
    budget = method.budget(half, k)
    rows, recipe = (budget.p + budget.q) / 1e6, learning.recipe(upload, method)
    training = _learning(recipe)
    if isinstance(recipe, Classifier):
        training = _STEP * 2 * 0.8 * half * recipe.epochs
    permuted = half * _relabelings(method) * _permuted(method, d)
    trial = _TEST + permuted + rows * _scoring(method) * max(1, (d + m) / 6)
    if method.name == "mmd_fuse":
        points, permutations = 2 * min(budget.p, n // 2), int(getattr(method, "permutations", 0))
        trial = _TEST + _KERNELS * points**2 * (_ENTRY + _FLOP * permutations)
    if isinstance(method, Anew):
        train = method.sizes(half, k)[0][0]
        trial = _NULL * train * (1 + int(getattr(method, "nulls", 0)))
    held = 4.0 * (n + half) * k * d + 8.0 * half * k
    return Cost(machine() * training, machine() * trial, _PROCESS + held)


def within(upload: Upload) -> Cost:
    """What the score costs that sees each draw among the others at its x."""
    recipe = learning.slot_recipe(upload)
    n, k, (d, m) = upload.n, max(1, upload.k), upload.dims
    slots = (n - n // 2) * (recipe.scored + 1) / 1e6
    trial = (_WITHIN + _RANKED) * slots * max(1, (d + m) / 6)
    held = 4.0 * n * k * d + 150e6  # of features and forest, bounded
    return Cost(machine() * _learning(recipe), machine() * trial, _PROCESS + held)


def estimate(
    sweep: Sweep, left: Sequence[TrainTask | TrialsTask], workers: int,
    progress: Progress | None = None,
) -> Estimate:  # fmt: skip
    """Seconds until these tasks are done, and the memory that they need meanwhile."""
    costs = {method.label: of(sweep, method, progress) for method in sweep.methods}
    places = len(sweep.gammas)
    seconds, counted = 0.0, set()
    for task in left:
        if isinstance(task, TrialsTask):
            seconds += costs[task.method.label].trial * task.count
            if task.network not in counted and task.network is not None:
                counted.add(task.network)
                seconds += costs[task.method.label].training / places
    memory = sorted((cost.memory for cost in costs.values()), reverse=True)[:workers]
    return Estimate(seconds / max(1, workers), sum(memory) + _PROCESS * workers)


def _rows(sweep: Sweep, method: Method) -> int:
    """Rows drawn for one test."""
    budget = method.budget(sweep.design.n, sweep.design.k)
    if method.name == "uniform" and sweep.design.protocol == "pooled":
        return 2 * sweep.design.n + 100 * sweep.design.n // 50  # the pool serves fifty trials
    return budget.p + budget.q


def _fits(benchmark: Benchmark, gamma: float, count: int) -> float:
    """Seconds to infer q at so many x, where a benchmark does that."""
    if not isinstance(benchmark, BayesModel) or benchmark.inference == "exact" or not count:
        return 0.0
    each = _INFERRED[benchmark.model]["laplace" not in benchmark.inference]
    return gamma * (_STEPPED + each * count)


def _met(sweep: Sweep, method: Method) -> int:
    """Distinct x at which one test asks for draws of q."""
    n, k = sweep.design.n, sweep.design.k
    if isinstance(method, Anew):
        (learn, _), (test, _) = method.sizes(n, k)
        return learn + test
    return n if method.layout == "table" else method.budget(n, 1).q


def _trial(sweep: Sweep, method: Method) -> float:
    at = sum(sweep.gammas) / len(sweep.gammas)
    return _read(sweep, method) + _fits(sweep.benchmark, at, _met(sweep, method))


def _read(sweep: Sweep, method: Method) -> float:
    """Seconds to draw and score for one test, q being there."""
    rows, (d, m) = _rows(sweep, method) / 1e6, sweep.benchmark.dims
    denoised = getattr(sweep.benchmark, "model", "") == "diffusion"
    seconds = _TEST + rows * (_DENOISED if denoised else _DRAWN * max(2, (d + m) / 2))
    if method.name == "mmd_fuse":
        points = method.budget(sweep.design.n, 1).p * 2
        permutations = int(getattr(method, "permutations", 0))
        return seconds + _KERNELS * points**2 * (_ENTRY + _FLOP * permutations)
    if isinstance(method, Anew):
        train = method.sizes(sweep.design.n, sweep.design.k)[0][0]
        return seconds + _NULL * train * (1 + int(getattr(method, "nulls", 0)))
    if method.reads == "localizer":
        return seconds + rows * _scoring(method)
    permuted = sweep.design.n * _relabelings(method) * _permuted(method, d)
    return seconds + permuted + rows * _scoring(method)


def _relabelings(method: Method) -> int:
    """Times that a test puts other draws in the truth's place."""
    return int(getattr(method, "permutations", getattr(method, "relabelings", 0)))


def _permuted(method: Method, d: int) -> float:
    """Seconds for one row of one relabeling of d parameters."""
    if method.reads != "table":
        return _PERMUTED
    each, of_parameter = _RELABELLED
    return each + of_parameter * min(d, 50)


def _scoring(method: Method) -> float:
    """Seconds to score and rank a million rows."""
    if method.reads == "localizer":
        return _EMBEDDED[getattr(method, "embedding", "mlp")] + _RANKED
    return _SCORED.get(method.reads, 0.0) + _RANKED


def _training(sweep: Sweep, method: Method) -> float:
    recipes = [getattr(sweep.network(method, at), "recipe", None) for at in sweep.gammas]
    return sum(
        _learning(recipe) + _fits(sweep.benchmark, at, _learnt_from(recipe))
        for recipe, at in zip(recipes, sweep.gammas, strict=True)
    )


def _learnt_from(recipe: object) -> int:
    """Distinct x at which a recipe asks for draws of q."""
    if isinstance(recipe, Classifier):
        return 2 * recipe.train
    if isinstance(recipe, Localizer):
        return recipe.spent()[0]
    return int(getattr(recipe, "n", getattr(recipe, "train", 0)))


def _learning(recipe: object) -> float:
    """Seconds that a recipe trains for; 0 without one."""
    if recipe is None:
        return 0.0
    if isinstance(recipe, TableClassifier):
        return _STEP * 2 * 0.8 * recipe.n * recipe.recipe.epochs
    if isinstance(recipe, Classifier):
        return _STEP * 2 * recipe.train * recipe.epochs
    if isinstance(recipe, Localizer):
        rows = recipe.batch if recipe.fresh else min(recipe.batch, recipe.anchors)
        steps = recipe.steps * recipe.stages + recipe.blur_steps * (recipe.start == "best")
        few = recipe.draws_step or recipe.draws
        return 3.0 + steps * rows * (few / 32) * _LOCALIZER[recipe.embedding]
    if isinstance(recipe, Slots):
        return 0.3 + _SLOT * recipe.n * (recipe.m + 1)
    return _OWN.get(_reads(recipe), 1.0)


def _reads(recipe: object) -> str:
    kinds = {"Scorer": "scorer", "Witness": "witness", "References": "reference"}
    return kinds.get(type(recipe).__name__, "")


def _memory(sweep: Sweep, method: Method) -> float:
    rows, width = _rows(sweep, method), sum(sweep.benchmark.dims) + 1
    if isinstance(sweep.benchmark, Pairs) and method.layout == "table":
        width = sweep.benchmark.dims[0] + 1  # its x are not repeated
    if method.name == "mmd_fuse":
        points = method.budget(sweep.design.n, 1).p * 2
        return 4.0 * points * (4 * points + 2 * int(getattr(method, "permutations", 0)))
    chunk = 10 if method.layout == "blocks" else 1  # trials drawn at once
    return 8.0 * _COPIES * rows * width * chunk
