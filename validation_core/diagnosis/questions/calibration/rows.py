"""The table of parameters: every number of their errors with its interval."""

from __future__ import annotations

import math

from validation_core.diagnosis.questions.base import Row
from validation_core.diagnosis.questions.calibration.result import ParameterErrors
from validation_core.relabelling.claims import Claims
from validation_core.text import signed_text
from validation_core.types import Interval


def parameter_row(errors: ParameterErrors, name: str, claims: Claims) -> Row:
    """Return a parameter's numbers by the titles of their columns, intervals beside them."""
    row: Row = {"parameter": name}
    for rate in errors.coverage:
        row |= _cell(f"covered by {100 * rate.level:g}% intervals, %", rate.covers, 1, 100)
    row |= _cell("below q's median, %", errors.below_median, 1, 100)
    row |= _cell("bias, posterior sd (+ is too high)", open_ended(errors), 3)
    row |= _cell("width / needed width", errors.width, 3)
    row |= {"bias and width by": "q's mean and sd" if errors.by == "moments" else "ranks"}
    row |= _cell("contraction", errors.contraction, 3)
    return row | {
        "mean z-score": _rounded(errors.z_mean, 3),
        "sd of z-scores": _rounded(errors.z_sd, 3),
        "outside all draws, %": round(100 * errors.outside, 1),
        "p": float(f"{errors.pvalue:.3g}"),
        "p, corrected": float(f"{claims.parameter(errors.index):.3g}"),
    }


def open_ended(errors: ParameterErrors) -> Interval:
    """A bias with infinite ends for open ones."""
    bias = errors.bias
    if not (errors.open and bias.known):
        return bias
    return Interval(
        bias.estimate,
        -math.inf if math.isnan(bias.low) else bias.low,
        math.inf if math.isnan(bias.high) else bias.high,
    )


def _cell(column: str, rate: Interval, digits: int, scale: float = 1) -> Row:
    if not rate.known:
        return {column: "", f"{column}, 95% interval": ""}
    low, high = (_end(scale * end, digits) for end in (rate.low, rate.high))
    return {
        column: round(scale * rate.estimate, digits),
        f"{column}, 95% interval": f"{low} to {high}",
    }


def _end(value: float, digits: int) -> str:
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return signed_text(value, f".{digits}f")


def _rounded(value: float, digits: int) -> float | str:
    return "" if math.isnan(value) else round(value, digits)
