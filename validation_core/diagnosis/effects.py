"""What a test found beyond its p-value, by plain names: what scripts and sentences read."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.records import Effect
from validation_core.methods.base import Method
from validation_core.types import Array, Outcome

LISTED = 20
"""Numbers of an observation that a reader of JSON can use."""


def told(method: Method, outcome: Outcome) -> dict[str, Effect]:
    """Names and numbers of one outcome, no leading axes: those of its method, and of its null."""
    effects = method.effects(outcome)
    if not method.resamples:
        return effects
    least = outcome.effect.get("least_pvalue", 1 / (method.resamples + 1))
    return {**effects, "relabelings": method.resamples, "least_pvalue": float(least)}


def place(rows: np.ndarray, x: Array, worst: int) -> dict[str, Effect]:
    """Where a local test found most: its row of the upload, counted from 0, and x there.

    Args:
        rows: places (P,), among the rows that were read, of all observations it looked at.
        x: these observations (P, M).
        worst: which of them.
    """
    at: dict[str, Effect] = {"row": int(rows[worst])}
    if x.shape[1] <= LISTED:
        at["x_o"] = [float(value) for value in x[worst]]
    return at if len(rows) == 1 else {**at, "rows": [int(row) for row in rows]}
