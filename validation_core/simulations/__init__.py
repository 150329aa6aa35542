"""Symmetric divergence over simulations: runs that the store keeps, and what figures make of them.

One run is a model, an inference, a number of iterations and K simulated data sets; every figure of
Domke (2021) is drawn from such runs.
"""

from validation_core.simulations.collect import Memory, Summary, Terms, collect, missing, summary
from validation_core.simulations.plan import FOUR, GRID, Plan, figure, tested
from validation_core.simulations.runs import MS, RunResult, InferenceRun, RunTermsStudy

__all__ = [
    "FOUR",
    "GRID",
    "MS",
    "Found",
    "Memory",
    "Plan",
    "Run",
    "Summary",
    "Summed",
    "Terms",
    "collect",
    "figure",
    "missing",
    "summary",
    "tested",
]
