"""About how long work takes on one core, to be said before it is asked for."""

from collections.abc import Sequence

from validation_core.maps import MapTask
from validation_core.models import Simulated
from validation_core.scores.localizer import Localizer
from validation_core.tasks import PowerTask
from validation_core.types import Benchmark

# Seconds, timed on a 2.x GHz core: of a step for each anchor in it, of scoring a million draws.
_STEP = {"identity": 1e-4, "residual": 9e-4, "mlp": 9e-4, "fourier": 3e-4}
_MILLION = {"identity": 0.1, "residual": 3.7, "mlp": 3.7, "fourier": 1.2}
_DRAWING = 0.05  # of drawing and measuring a million numbers
_DENOISING = 6.0  # of drawing a million times from a trained diffusion
_CLASSIFIER = 2.0
_MAP, _START = 6.0, 3.0


def about(seconds: float) -> str:
    """A duration as one guesses it."""
    if seconds < 90:
        return f"about {max(10, 10 * round(seconds / 10))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.0f} h"


def power(tasks: Sequence[PowerTask]) -> float:
    """Seconds of training what the tasks read and of testing, each network counted once."""
    networks = {training for task in tasks for training in task.trainings.values()}
    learning = sum(_training(training.recipe) for training in networks)
    return learning + sum(_testing(task) for task in tasks)


def maps(tasks: Sequence[MapTask]) -> float:
    """Seconds of training and mapping."""
    seconds = 0.0
    for task in tasks:
        recipe, benchmark = task.training.recipe, _benchmark(task.training.source)
        million = 1e-6 * (recipe.anchors * recipe.draws + 2 * task.n * task.k + 2300 * task.places)
        seconds += _training(recipe) + _MAP + million * _drawing(benchmark)
    return seconds


def _training(recipe: object) -> float:
    if not isinstance(recipe, Localizer):
        return _CLASSIFIER
    learning = round((1 - recipe.held * recipe.keep_best) * recipe.anchors)
    rows = recipe.batch if recipe.fresh else min(recipe.batch, learning)
    steps = recipe.steps * recipe.stages + recipe.blur_steps * (recipe.start == "best")
    few = recipe.draws_step or recipe.draws
    return _START + steps * rows * (few / 32) * _STEP[recipe.embedding]


def _testing(task: PowerTask) -> float:
    design, benchmark = task.design, _benchmark(task.training.source)
    if task.methods[0].layout == "blocks":
        return _CLASSIFIER
    million = 1e-6 * design.trials * design.n * design.k
    scored = sum(_MILLION[getattr(method, "embedding", "identity")] for method in task.methods)
    return million * (scored + _drawing(benchmark))


def _drawing(benchmark: Benchmark) -> float:
    if getattr(benchmark, "model", "") == "diffusion":
        return _DENOISING
    return _DRAWING * max(2, sum(benchmark.dims) / 2)


def _benchmark(source: object) -> Benchmark:
    assert isinstance(source, Simulated)
    return source.benchmark
