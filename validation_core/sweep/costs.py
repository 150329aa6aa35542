"""What a sweep or a diagnosis costs here, said before it is run, and which test is worth it.

Seconds are those of one 2.x GHz core, scaled by how fast this machine does a small fixed piece of
arithmetic. They are guesses to plan by, within a factor of about two; once trials have run, what
they took is used instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.diagnosis import learning
from validation_core.localization import MapTask
from validation_core.methods import LC2ST, SBC, TARP, CoLT, Multiple, Uniform, WithinX
from validation_core.methods.base import RANKED, Method, Work
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, TrainTask
from validation_core.sweep.plan import Batch, Progress, Sweep, missing
from validation_core.tables import Upload
from validation_core.types import Benchmark, Pairs

if TYPE_CHECKING:
    from validation_core.store import Store


_REFERENCE = 0.0125  # seconds of `_arithmetic` on the machine that the numbers below are from
_MAP = 6.0  # seconds of a map beyond its draws
_PROCESS = 450e6  # bytes of a worker with torch before it does anything

# Seconds for a million numbers drawn.
_DRAWN = 0.045
_DENOISED = 6.0
_TEST = 1e-3  # of a test's own bookkeeping
_WITHIN = 5.0  # seconds for a million slots that a score within x scores

# Seconds for one step of an inference on one data set: Laplace's, and those with random draws.
_INFERRED = {
    "glm_binomial": (0.4e-6, 6e-6),
    "heart_transplants": (0.1e-6, 1.5e-6),
    "hospitals": (0.4e-6, 8e-6),
    "ionosphere": (5e-6, 60e-6),
    "concrete": (0.7e-6, 9e-6),
}
_STEPPED = 2e-4  # for one step, whatever the number of data sets


class _Cost(NamedTuple):
    """What one method costs."""

    training: float
    """Seconds for all networks that it reads, once."""
    trial: float
    """Seconds for one test, its draws included."""
    memory: float
    """Bytes that a worker needs at its largest."""


class _RemainingCost(NamedTuple):
    """What is still to be spent."""

    seconds: float
    memory: float
    """Bytes, over all workers."""


@cache
def machine_slowdown() -> float:
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


def of(sweep: Sweep, method: Method, progress: Progress | None = None) -> _Cost:
    """What a method costs in this sweep, by its own trials where some have run."""
    training, trial = _training(sweep, method), _trial(sweep, method)
    cells = [cell for cell in progress.cells if cell.label == method.label] if progress else []
    if cells and progress:
        trial = sum(cell.seconds for cell in cells) / sum(cell.trials for cell in cells)
        training = progress.training[method.label] or training
        return _Cost(training, trial, _memory(sweep, method))
    return _Cost(machine_slowdown() * training, machine_slowdown() * trial, _memory(sweep, method))


def on_table(upload: Upload, method: Method) -> _Cost:
    """What a method costs on a user's table, its network included."""
    n, k, (d, m) = upload.n, max(1, upload.k), upload.dims
    half = n if not method.needs_training else max(1, n // 2)
    recipe = learning.recipe(upload, method)
    wide = max(1, (d + m) / 6)
    work = Work(method.rows(half, k) / 1e6 * wide, half, k, d, n // 2)
    training, trial = _learning(recipe), _TEST + method.cost(work)
    if isinstance(recipe, Classifier):
        training = recipe.cost(0.8 * half)
    memory = 4.0 * (n + half) * k * d + 8.0 * half * k
    return _Cost(machine_slowdown() * training, machine_slowdown() * trial, _PROCESS + memory)


def within_x_cost(upload: Upload) -> _Cost:
    """What the score costs that sees each draw among the others at its x."""
    recipe = learning.slot_recipe(upload)
    n, k, (d, m) = upload.n, max(1, upload.k), upload.dims
    slots = (n - n // 2) * (recipe.scored + 1) / 1e6
    trial = (_WITHIN + RANKED) * slots * max(1, (d + m) / 6)
    memory = 4.0 * n * k * d + 150e6  # of features and forest, bounded
    return _Cost(
        machine_slowdown() * _learning(recipe), machine_slowdown() * trial, _PROCESS + memory
    )


def estimate(
    sweep: Sweep, left: Sequence[TrainTask | Batch], workers: int, progress: Progress | None = None
) -> _RemainingCost:
    """Seconds until these tasks are done, and the memory that they need meanwhile."""
    costs = {method.label: of(sweep, method, progress) for method in sweep.methods}
    places = len(sweep.gammas)
    seconds, counted = 0.0, set()
    for batch in left:
        for part in batch.parts if isinstance(batch, Batch) else ():
            seconds += costs[part.method.label].trial * part.count
            if part.network is not None and part.network not in counted:
                counted.add(part.network)
                seconds += costs[part.method.label].training / places
    memory = sorted((cost.memory for cost in costs.values()), reverse=True)[:workers]
    return _RemainingCost(seconds / max(1, workers), sum(memory) + _PROCESS * workers)


def remaining(sweeps: Iterable[Sweep], store: Store) -> float:
    """Seconds of one worker for what is missing of several sweeps."""
    return sum(estimate(sweep, missing(sweep, store), 1).seconds for sweep in sweeps)


def maps(studies: Iterable[MapTask]) -> float:
    """Seconds of training and mapping."""
    return machine_slowdown() * sum(_MAP + _mapping(study) for study in studies)


def describe_duration(seconds: float) -> str:
    """A duration as one guesses it."""
    if seconds < 90:
        return f"about {max(10, 10 * round(seconds / 10))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.0f} h"


def _mapping(study: MapTask) -> float:
    """Seconds to train a localizer, and to draw for it and for its map."""
    recipe, source = study.training.recipe, study.training.source
    assert isinstance(source, Simulated)
    assert isinstance(recipe, Localizer)
    draws = recipe.anchors * recipe.draws + 2 * study.n * study.k + 2300 * study.places
    return _learning(recipe) + draws / 1e6 * _drawing(source.benchmark)


def _drawing(benchmark: Benchmark) -> float:
    """Seconds to draw a million rows."""
    denoised = getattr(benchmark, "model", "") == "diffusion"
    return _DENOISED if denoised else _DRAWN * max(2, sum(benchmark.dims) / 2)


def _rows(sweep: Sweep, method: Method) -> int:
    """Rows drawn for one test."""
    return method.rows(sweep.design.n, sweep.design.k, sweep.design.protocol == "pooled")


def _fits(benchmark: Benchmark, gamma: float, count: int) -> float:
    """Seconds to infer q at so many x, where a benchmark does that."""
    if not isinstance(benchmark, BayesModel) or benchmark.inference == "exact" or not count:
        return 0.0
    each = _INFERRED[benchmark.model]["laplace" not in benchmark.inference]
    return gamma * (_STEPPED + each * count)


def _trial(sweep: Sweep, method: Method) -> float:
    """Seconds of one test, its draws included."""
    at, (n, k) = sum(sweep.gammas) / len(sweep.gammas), (sweep.design.n, sweep.design.k)
    rows = _rows(sweep, method) / 1e6
    drawn = rows * _drawing(sweep.benchmark)
    tested = method.cost(Work(rows, n, k, sweep.benchmark.dims[0]))
    return _TEST + drawn + tested + _fits(sweep.benchmark, at, method.places(n, k))


def _training(sweep: Sweep, method: Method) -> float:
    recipes = [getattr(sweep.network(method, at), "recipe", None) for at in sweep.gammas]
    return sum(
        _learning(recipe) + _fits(sweep.benchmark, at, _learnt_from(recipe))
        for recipe, at in zip(recipes, sweep.gammas, strict=True)
    )


def _learnt_from(recipe: Recipe | None) -> int:
    """Distinct x at which a recipe asks for draws of q."""
    return 0 if recipe is None else recipe.places


def _learning(recipe: Recipe | None) -> float:
    """Seconds that a recipe trains for; 0 without one."""
    return 0.0 if recipe is None else recipe.cost()


def _memory(sweep: Sweep, method: Method) -> float:
    rows, width = _rows(sweep, method), sum(sweep.benchmark.dims) + 1
    if isinstance(sweep.benchmark, Pairs) and method.layout == "table":
        width = sweep.benchmark.dims[0] + 1  # its x are not repeated
    return method.memory(sweep.design.n, rows, width)


# ---- Which test, given what is cheap and what is wanted ----
#
# After Bansal, Chen, Scott (2025), Appendix D: Uniform where draws from p are cheap, Multiple
# where they are not; and after what the other tests can and cannot see.


Want = Literal["verdict", "exact", "place", "observation"]

WANTS: dict[Want, str] = {
    "verdict": "one verdict, with the most power",
    "exact": "a p-value that is exact at any sample size",
    "place": "where in theta and x it is wrong",
    "observation": "whether it is right at one observation",
}

_FEW_DRAWS = 20  # of q at an x: fewer make ranks coarse and a ball's mass noisy
_QUICK = 5.0  # seconds in which no network is worth training
_FEW_POINTS = 200  # test points below which asymptotic laws are not to be trusted
_MOST_M = 50  # the rank's noise falls as 1/m: more calibration draws buy little
_LEAST_ROWS = 40  # half of them train, a quarter of those are held out


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What there is to work with."""

    pairs: int
    """True pairs (theta, x) kept for testing."""
    more: int = 0
    """Further true pairs that a simulator could give at little cost, for calibration."""
    draws: int = 100
    """Draws of q that can be had at each x."""
    seconds: float = 60.0
    want: Want = "verdict"

    def __post_init__(self) -> None:
        if self.pairs < 2 or self.draws < 1 or self.more < 0 or self.seconds <= 0:
            raise ValueError(
                "Advice needs at least 2 true pairs, 1 draw of q at each x, no negative number of "
                f"further pairs and some time; got {self.pairs}, {self.draws}, {self.more} and "
                f"{self.seconds:g} s. Change what is too small."
            )


class _Advice(NamedTuple):
    """A method, why, what it cannot see, and the next best."""

    method: Method
    why: tuple[str, ...]
    limits: str
    instead: Method | None
    """What to run beside it, or where it is in doubt."""
    instead_why: str


def advise(at: Situation) -> _Advice:
    """The method for a situation."""
    return _WANTED[at.want](at)


def calibration(at: Situation) -> int:
    """The m that Uniform can afford: further true pairs for each test point, 50 at most."""
    return min(_MOST_M, at.more // at.pairs)


def _verdict(at: Situation) -> _Advice:
    if at.seconds < _QUICK:
        return _Advice(
            TARP(reference="x") if at.draws >= _FEW_DRAWS else SBC(),
            (
                f"{at.seconds:g} s train no network; ranks of the draws themselves take "
                "milliseconds.",
            ),
            "It sees little of what is wrong in the shape of the joint posterior.",
            SBC(),
            "It names the parameters that are off.",
        )
    m = calibration(at)
    if m >= 5:
        return _Advice(
            Uniform(m=m),
            (
                f"{at.more:,} further true pairs give each of the {at.pairs:,} test points m = "
                f"{m} calibration draws of its own.",
                "The rank's noise falls as 1/m"
                + (f"; beyond {_MOST_M} little is gained." if m == _MOST_M else "."),
                "It uses the order of the scores only, so that a weak classifier costs power, "
                "never validity.",
            ),
            "It needs the most draws from p of all.",
            Multiple(),
            f"The same question with {at.pairs:,} draws from p, if its law may be asymptotic.",
        )
    if at.draws >= _FEW_DRAWS:
        return _Advice(
            WithinX(),
            (
                "True pairs are few, draws of q are not: each true value is ranked among "
                f"{at.draws} draws at its own x.",
                "Exact for any classifier, and no row is spent on a second block.",
            ),
            "It needs the true value and the draws of q at the same x.",
            CoLT(),
            "It looks where the error is largest, and says where that is.",
        )
    return _Advice(
        Multiple(),
        (
            "Neither true pairs nor draws of q are cheap: it takes one of each per row, as C2ST "
            "does.",
            "It does not collapse with the classifier: it reads the order of the scores, not "
            "their threshold.",
        ),
        "Its law is asymptotic"
        + (f"; {at.pairs} points are few for that." if at.pairs < _FEW_POINTS else "."),
        SBC(),
        "Exact and at no further cost, but blind to a q that ignores x.",
    )


def _exact(at: Situation) -> _Advice:
    m = calibration(at)
    if m >= 1 and at.draws < _FEW_DRAWS:
        return _Advice(
            Uniform(m=m),
            (
                "Each test point has calibration draws of its own: its ranks are exactly uniform "
                "under q = p, at any size and for any classifier.",
            ),
            "Small m makes ranks coarse: power grows up to m of about 50.",
            SBC(),
            "Exact for each parameter, with no network.",
        )
    if at.draws >= 2 and at.seconds >= _QUICK:
        return _Advice(
            WithinX(),
            (
                f"Given x, the true value and q's {at.draws} draws are exchangeable if q is "
                "correct: the rank is exactly uniform for any score learnt on other rows.",
                "It needs no true pair beyond those that it tests.",
            ),
            "The score is learnt on half of the rows.",
            SBC(),
            "Exact too, uses every row, but looks at one parameter at a time.",
        )
    return _Advice(
        SBC(),
        ("Ranks of the true parameters among q's draws are exactly uniform under q = p.",),
        "Blind to correlations between parameters and to a q that ignores x.",
        TARP(reference="x"),
        "Exact too, and its points that follow x see a q that ignores it.",
    )


def _place(at: Situation) -> _Advice:
    few = at.draws < _FEW_DRAWS or at.pairs < _LEAST_ROWS
    return _Advice(
        CoLT(),
        (
            "It learns a centre at each x and a distance: the ball to which q gives the "
            "wrong mass.",
            "Its p-value is exact, its place was learnt on other rows.",
        ),
        f"{at.pairs} pairs with {at.draws} draws are few to learn a place from: bring at least "
        f"{_LEAST_ROWS} and {_FEW_DRAWS}."
        if few
        else "It names one ball at each x: further errors elsewhere may stay unnamed.",
        LC2ST(points=1),
        "It asks at one x and colours q's draws there by what is wrong.",
    )


def _observation(at: Situation) -> _Advice:
    del at
    return _Advice(
        LC2ST(points=1),
        (
            "It asks at your x alone, and needs no true parameter there.",
            "Its null is learnt by swapping true value and draw within each pair.",
        ),
        "Exact only if q is correct at every x; at one x its law is asymptotic.",
        CoLT(),
        "Its map over x shows whether your x lies where q fails.",
    )


_WANTED: dict[Want, Callable[[Situation], _Advice]] = {
    "verdict": _verdict,
    "exact": _exact,
    "place": _place,
    "observation": _observation,
}
