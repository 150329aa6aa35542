"""View of the Conformal C2ST page: its settings, and its values over the sliders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.marks import Axis, Slider, formatted, over
from validation_core.drawing.power_curves import Rates
from validation_core.explorers.conformal.power_study import ConformalPower, ConformalTrials
from validation_core.explorers.conformal.study import BETAS, Conformal, ConformalStudy, Learned
from validation_core.explorers.conformal.theory_study import ConformalTheory
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

    def correct(self, seen: Conformal) -> list[bool]:
        """Whether q is correct, at each gamma (G,)."""
        benchmark = self.study.learned.benchmark
        return [benchmark.is_exact(float(gamma)) for gamma in seen.gammas]


class MeasuredPower(NamedTuple):
    """Finished trials, and whether they are of an earlier setting."""

    study: ConformalPower
    """With the first network."""
    trials: tuple[ConformalTrials, ...]
    """With each network."""
    old: bool = False

    def rates(self, level: float) -> Rates:
        """Rejection rates (methods, B, G) at a level, means over networks.

        Their intervals reach from the lowest to the highest end of the networks' own.
        """
        each = Rates.of([one.at(level) for one in self.trials], self.study.trials)
        return Rates(each.rate.mean(0), each.low.min(0), each.high.max(0))

    @property
    def said(self) -> str:
        """Number and size of the trials, and their setting, in words."""
        uniform, networks = self.study.ms[0], len(self.trials)
        of_each = f" with each of {networks} networks" if networks > 1 else ""
        m = f", m = {uniform}" if len(self.study.ms) == 1 else ""
        return f"{self.study.trials} trials a point{of_each}, n = {self.study.n:,}{m}"


def gamma_and_beta(gammas: Sequence[float]) -> list[Slider]:
    """The two sliders of every picture of the page."""
    return [
        Slider(
            "gamma",
            gammas,
            names=[f"{gamma:g}" for gamma in gammas],
            start=gammas[len(gammas) // 2],
            label="Strength, gamma",
            ends=("q = p" if gammas[0] == 0 else "", "q far off"),
            play=True,
        ),
        Slider(
            "beta", BETAS, label="Degradation, beta", ends=("trained", "random network"), play=True
        ),
    ]


def gamma_axis(learned: Learned) -> Axis:
    """Axis of gamma in steps of its slider."""
    gammas = learned.gammas
    ticks = np.unique(np.round(np.linspace(0, len(gammas) - 1, PROBABILITY_TICKS)).astype(int))
    return Axis(
        (-0.5, len(gammas) - 0.5),
        "gamma" if learned.each else "gamma (axis stretched where curves rise)",
        ticks=ticks,
        names=[f"{gammas[i]:g}" for i in ticks],
    )


def at_each_beta(
    seen: Conformal | ConformalTheory, values: Array | NDArray[np.str_]
) -> NDArray[Any]:
    """Values (G, B, ...) at every beta of the slider, by the nearest computed one."""
    nearest = np.abs(np.array(BETAS)[:, None] - seen.betas).argmin(1)
    return np.asarray(values)[:, nearest]


def _fine(
    seen: Conformal | ConformalTheory, values: Array | NDArray[np.str_]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Values (G, B, ...) over gamma and beta; those of the oracle (G, 1, ...) over gamma alone."""
    if len(seen.betas) == 1:
        return np.asarray(values)[:, 0], ("gamma",)
    return at_each_beta(seen, values), ("gamma", "beta")


def over_sliders(
    seen: Conformal | ConformalTheory, values: Array | NDArray[np.str_], *, coarse: bool = False
) -> Any:
    """Values (G, B, ...) over the sliders gamma and beta."""
    fine, sliders = _fine(seen, values)
    return over(fine, *sliders, coarse=coarse)


def slider_texts(
    seen: Conformal | ConformalTheory, values: Any, write: Callable[[float], str]
) -> Any:
    """Format values (G, B, ...) as text over the sliders, each distinct one once."""
    return over_sliders(seen, formatted(values, write))
