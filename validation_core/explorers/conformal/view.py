"""View of the Conformal C2ST page: its settings, and its values over the sliders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.marks import formatted, over
from validation_core.explorers.conformal.power_study import ConformalPower, ConformalTrials
from validation_core.explorers.conformal.study import BETAS, Conformal, ConformalStudy
from validation_core.types import Array

PANEL_HEIGHT = 214
PROBABILITY_TICKS = 5
SHOWN_DRAWS = 150  # draws of p, and of q
FRAME = 0.005  # of the draws, left outside at either end


class ConformalView(NamedTuple):
    """Setting, view and level of the page."""

    study: ConformalStudy
    view: str
    alpha: float
    over_m: bool = False
    """Power over m instead of over gamma and beta."""
    oracle: bool = False
    """Whether the scores are the oracle's: no network has learnt yet."""


class MeasuredPower(NamedTuple):
    """Finished trials, and whether they are of an earlier setting."""

    study: ConformalPower
    trials: ConformalTrials
    old: bool = False

    @property
    def said(self) -> str:
        """Number and size of the trials, and their setting, in words."""
        uniform = self.study.ms[0]
        m = f", m = {uniform}" if len(self.study.ms) == 1 else ""
        return f"{self.study.trials} trials a point, n = {self.study.n}{m}"


def _fine(
    seen: Conformal, values: Array | NDArray[np.str_]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Values (G, B, ...) at every beta of the slider, by the nearest computed one.

    Those of the oracle (G, 1, ...) follow gamma alone.
    """
    if len(seen.betas) == 1:
        return np.asarray(values)[:, 0], ("gamma",)
    nearest = np.abs(np.array(BETAS)[:, None] - seen.betas).argmin(1)
    return np.asarray(values)[:, nearest], ("gamma", "beta")


def over_sliders(
    seen: Conformal, values: Array | NDArray[np.str_], *, coarse: bool = False
) -> Any:
    """Values (G, B, ...) over the sliders gamma and beta."""
    fine, sliders = _fine(seen, values)
    return over(fine, *sliders, coarse=coarse)


def slider_texts(seen: Conformal, values: Any, write: Callable[[float], str]) -> Any:
    """Format values (G, B, ...) as text over the sliders, each distinct one once."""
    return over_sliders(seen, formatted(values, write))
