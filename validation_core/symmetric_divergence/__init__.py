"""Symmetric divergence over simulations: stored runs, and the figures drawn from them.

A run is a model, an inference, a number of iterations and K simulated data sets; every figure of
Domke (2021) is drawn from such runs.
"""

from validation_core.symmetric_divergence.runs import (
    FOUR,
    GRID,
    MOST,
    MS,
    InferenceRun,
    Plan,
    RunMemory,
    RunResult,
    RunTermsStudy,
    Terms,
    collect,
    figure,
    importance_sample_size,
    missing,
)

__all__ = [
    "FOUR",
    "GRID",
    "MOST",
    "MS",
    "InferenceRun",
    "Plan",
    "RunMemory",
    "RunResult",
    "RunTermsStudy",
    "Terms",
    "collect",
    "figure",
    "importance_sample_size",
    "missing",
]
