"""What a test found beyond its p-value, by plain names: what scripts and sentences read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from validation_core.diagnosis.records import Effect
from validation_core.statistics.coverage import reading
from validation_core.types import Array, Method, Outcome

LISTED = 20
"""Numbers of an observation that a reader of JSON can use."""


def told(method: Method, outcome: Outcome) -> dict[str, Effect]:
    """Names and numbers of one outcome, no leading axes: those of its method, and of its null."""
    own = _OWN.get(method.name)
    found = own(float(outcome.statistic), outcome.arrays) if own else {}
    named = ("permutations", "relabelings", "nulls")
    count: Any = next((getattr(method, name) for name in named if hasattr(method, name)), None)
    if count is None or getattr(method, "pvalue", "permutation") != "permutation":
        return found
    least = outcome.effect.get("least_pvalue", 1 / (count + 1))
    return {**found, "relabelings": int(count), "least_pvalue": float(least)}


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


def _coverage(statistic: float, arrays: Mapping[str, Array]) -> dict[str, Effect]:
    del statistic
    return {"reading": reading(float(arrays["atc_low"]), float(arrays["atc_high"]))}


def _divergence(statistic: float, arrays: Mapping[str, Array]) -> dict[str, Effect]:
    return {
        "divergence": statistic, "divergence_low": float(arrays["low"]),
        "divergence_high": float(arrays["high"]), "divergence_most": float(arrays["most"]),
    }  # fmt: skip


def _difference(statistic: float, arrays: Mapping[str, Array]) -> dict[str, Effect]:
    del arrays
    return {"tau": statistic}


def _local(statistic: float, arrays: Mapping[str, Array]) -> dict[str, Effect]:
    del arrays
    return {"T": statistic}


_OWN: Mapping[str, Callable[[float, Mapping[str, Array]], dict[str, Effect]]] = {
    "tarp": _coverage, "dc": _divergence, "automl": _difference, "lc2st": _local,
}  # fmt: skip
