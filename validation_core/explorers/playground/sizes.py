"""Sizes, rates and names that the panels of the playground share."""

from __future__ import annotations

from typing import NamedTuple

from validation_core.drawing import style
from validation_core.methods.base import Method
from validation_core.types import Array

LEVEL = 0.05
PANEL_HEIGHT = 214
SHOWN_BINS = 20  # of the ranks' histogram
SHOWN_DRAWS = 64  # draws of p, and of q, in a picture of the plane
LINE_BINS = 30  # of a single theta
PROBABILITY_TICKS = 5
COLT = style.method_style("colt").color


class PlaygroundRates(NamedTuple):
    """Rejection rate of each method, at every beta of the slider."""

    rate: Array  # (methods, BETAS, G)
    trials: int


def short_title(method: Method) -> str:
    """A method's title on this page, where every conformal test is one of conformal C2ST's."""
    return method.title.removeprefix("Conformal C2ST, ")
