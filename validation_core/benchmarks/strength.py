"""What gamma is called: most benchmarks perturb q by a strength, one counts iterations."""

from __future__ import annotations

from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.types import Benchmark


def counts(benchmark: Benchmark) -> bool:
    """Whether gamma is a number of iterations, by which q gets better, not worse."""
    return isinstance(benchmark, BayesModel)


def axis(benchmark: Benchmark) -> str:
    """Gamma on an axis."""
    return "iterations" if counts(benchmark) else "perturbation strength gamma"


def place(benchmark: Benchmark, gamma: float) -> str:
    """One gamma, after "at"."""
    if not counts(benchmark):
        return f"gamma = {gamma:g}"
    return f"{gamma:,g} iterations" if gamma else "gamma = 0, the exact posterior"
