"""The true error of each estimator of a task over the simulations that it learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from validation_core.benchmarks.trained import Trained
from validation_core.drawing import live, style
from validation_core.drawing.marks import Axis, Mark, Panel
from validation_core.drawing.power_curves import Rates, places_axis, point_key, rate_bars
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training import scoreboard
from validation_core.explorers.training.nats import (
    below_zero,
    mean_of_trainings,
    nats_over_trainings,
)
from validation_core.explorers.training.scoreboard import SEEDS, Scoreboard
from validation_core.simulators import Simulator
from validation_core.statistics.areas import Estimate
from validation_core.text import interval_text, list_text
from validation_core.types import Interval, MethodStyle

if TYPE_CHECKING:
    from validation_core.store import Store

_LOOKS = (
    MethodStyle(style.NULL, "6 3", "square"),
    MethodStyle(style.NULL, "2 3", "diamond"),
    MethodStyle(style.NULL, "9 3 2 3", "triangle"),
    MethodStyle(style.NULL, "", "ring"),
)
"""Of the estimators beside the one that is shown."""
_NAMED = 0.05  # chance that an estimator is named alone though another is as near
_TICKS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # nats


class ErrorAt(NamedTuple):
    """KL(p || q) of estimators that learnt from so many simulations, in nats."""

    simulations: int
    trainings: tuple[Estimate, ...]
    """Of each, at the same pairs."""

    @property
    def nats(self) -> Interval:
        """The mean over trainings, and the ends of their intervals."""
        return nats_over_trainings(self.trainings)


Curves = Mapping[str, Sequence[ErrorAt]]
"""By estimator; each over simulations, rising."""


def learning_curves(simulator: Simulator, store: Store) -> Curves:
    """Of a task's estimators, with their usual options: where all trainings are in the store."""
    benchmarks = [board.benchmark for board in scoreboard.shipped()]
    found: dict[str, list[ErrorAt]] = {
        benchmark.estimator: _errors(benchmark, store)
        for benchmark in benchmarks
        if benchmark.simulator == simulator
    }
    return {name: errors for name, errors in found.items() if errors}


def _errors(benchmark: Trained, store: Store) -> list[ErrorAt]:
    columns = scoreboard.columns(Scoreboard(benchmark=benchmark, sizes=()), store)
    return [
        ErrorAt(int(column.gamma), tuple(one.forward for one in column.nats))
        for column in columns
        if len(column.nats) == len(SEEDS)
    ]


def payload(curves: Curves, shown: str, quasi: str = "") -> live.Payload:
    """Every estimator's error over simulations, that of the one shown in q's colour.

    Args:
        curves: at least one.
        shown: the estimator that the page shows.
        quasi: what is to be said of a posterior that is not exact.
    """
    return live.payload(panels=[_panel(curves, shown, quasi)], headline=sentence(curves, shown))


def _panel(curves: Curves, shown: str, quasi: str) -> Panel:
    looks = dict(zip((name for name in curves if name != shown), _LOOKS, strict=False))
    if shown in curves:  # drawn last, above the others
        looks[shown] = MethodStyle(style.Q, "", "circle")
    marks: list[Mark] = []
    for name, look in looks.items():
        rates = np.clip([one.nats for one in curves[name]], _TICKS[0], None)
        at = np.log10([one.simulations for one in curves[name]])
        marks += rate_bars(at, Rates(*np.log10(rates).T), look)
    every = [one for errors in curves.values() for one in errors]
    counts = sorted({one.simulations for one in every})
    caption = [
        f"Means of {len(SEEDS)} trainings; bars, and brackets above, reach from the lowest to the "
        "highest end of their 95% intervals. Both axes are logarithmic; what is below "
        f"{_TICKS[0]:g} is drawn there.",
        *below_zero(one.nats.estimate for one in every),
        quasi,
    ]
    return Panel(
        marks,
        title="True error by simulations of training",
        x=places_axis(
            counts,
            "simulations that q learnt from",
            at=np.log10(counts),
            names=[f"{count:,}" for count in counts],
        ),
        y=Axis(
            (np.log10(_TICKS[0]) - 0.1, np.log10(_TICKS[-1]) + 0.1),
            "KL(p‖q), nats",
            ticks=np.log10(_TICKS),
            names=[f"{tick:g}" for tick in _TICKS],
        ),
        height=260,
        legend=[point_key(ESTIMATORS[name].title, looks[name]) for name in curves],
        caption=" ".join(caption).rstrip(),
    )


def sentence(curves: Curves, shown: str) -> str:
    """What more simulations are worth to the estimator shown, and which one is nearest."""
    title = ESTIMATORS[shown].title
    said = _falls(title, curves[shown]) if shown in curves else f"Not counted for {title}."
    return f"{said} {_nearest(curves)}".strip()


def _falls(title: str, errors: Sequence[ErrorAt]) -> str:
    first, last = errors[0], errors[-1]
    ends = [f"{interval_text(one.nats)} nats with {one.simulations:,}" for one in (first, last)]
    if last is first:
        return f"{title}: KL(p‖q) is {ends[0]} simulations."
    apart = last.nats.high < first.nats.low
    verb = "falls from" if apart else "is"
    return f"{title}: KL(p‖q) {verb} {ends[0]} simulations {'to' if apart else 'and'} {ends[1]}."


def _nearest(curves: Curves) -> str:
    """The estimator nearest to p with the most simulations that all have, and those not told
    from it at 5%, Bonferroni's share for each."""
    counts = [{one.simulations for one in errors} for errors in curves.values()]
    common = set.intersection(*counts)
    if len(curves) < 2 or not common:
        return ""
    most = max(common)
    errors = {
        name: next(one for one in curve if one.simulations == most)
        for name, curve in curves.items()
    }
    least, *others = sorted(errors, key=lambda name: errors[name].nats.estimate)
    share = _NAMED / len(others)
    near = [name for name in others if _pvalue(errors[least], errors[name]) > share]
    said = (
        f"Of the {len(errors)} with {most:,}, {len(SEEDS)} trainings each, the nearest to p is: "
        f"{_said(least, errors)}."
    )
    if not near:
        return said
    return f"{said} Not told from it: {list_text([_said(name, errors) for name in near])}."


def _said(name: str, errors: Mapping[str, ErrorAt]) -> str:
    return f"{ESTIMATORS[name].title}, {interval_text(errors[name].nats)}"


def _pvalue(one: ErrorAt, other: ErrorAt) -> float:
    """Two-sided p-value that these trainings are as far from p on average.

    Standard errors add up as of independent pairs. They are the same pairs, at which the
    estimators' log densities rise and fall together: the p-value is too large, if anything.
    """
    first, second = (mean_of_trainings(each.trainings) for each in (one, other))
    error = np.hypot(first.error, second.error)
    return float(2 * ndtr(-abs(first.value - second.value) / error))
