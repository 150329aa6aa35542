"""The true error of each estimator of a task over the simulations that it learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.benchmarks.trained import Trained
from validation_core.drawing import live, style
from validation_core.drawing.marks import Axis, Mark, Panel
from validation_core.drawing.power_curves import Rates, places_axis, point_key, rate_bars
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training import scoreboard
from validation_core.explorers.training.nats import nats_text
from validation_core.explorers.training.scoreboard import SEEDS, Scoreboard
from validation_core.simulators import Simulator
from validation_core.statistics.areas import Estimate
from validation_core.text import list_text
from validation_core.types import MethodStyle

if TYPE_CHECKING:
    from validation_core.store import Store

_LOOKS = (
    MethodStyle(style.NULL, "6 3", "square"),
    MethodStyle(style.NULL, "2 3", "diamond"),
    MethodStyle(style.NULL, "9 3 2 3", "triangle"),
    MethodStyle(style.NULL, "", "ring"),
)
"""Of the estimators beside the one that is shown."""
_TICKS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # nats


class ErrorAt(NamedTuple):
    """KL(p || q) of estimators that learnt from so many simulations, in nats."""

    simulations: int
    nats: Estimate
    """The mean over trainings."""
    trainings: int


Curves = Mapping[str, Sequence[ErrorAt]]
"""By estimator; each over simulations, rising."""


def learning_curves(simulator: Simulator, store: Store) -> Curves:
    """What the store holds of a task's estimators, with their usual options."""
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
        ErrorAt(int(column.gamma), column.forward, len(column.nats))
        for column in columns
        if column.forward is not None
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
        rates = np.clip(
            [(one.nats.value, *one.nats.interval()) for one in curves[name]], _TICKS[0], None
        )
        at = np.log10([one.simulations for one in curves[name]])
        marks += rate_bars(at, Rates(*np.log10(rates).T), look)
    counts = sorted({one.simulations for errors in curves.values() for one in errors})
    once = any(one.trainings < len(SEEDS) for errors in curves.values() for one in errors)
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
        caption=f"Means of {len(SEEDS)} trainings"
        + ", or of one where one alone is here" * once
        + ", with 95% intervals"
        + f". Both axes are logarithmic; what is below {_TICKS[0]:g} is drawn there."
        + f" {quasi}" * bool(quasi),
    )


def sentence(curves: Curves, shown: str) -> str:
    """What more simulations are worth to the estimator shown, and which one is nearest."""
    title = ESTIMATORS[shown].title
    said = _falls(title, curves[shown]) if shown in curves else f"Not counted for {title}."
    return f"{said} {_nearest(curves)}".strip()


def _falls(title: str, errors: Sequence[ErrorAt]) -> str:
    first, last = errors[0], errors[-1]
    ends = [f"{nats_text(one.nats)} nats with {one.simulations:,}" for one in (first, last)]
    if last is first:
        return f"{title}: KL(p‖q) is {ends[0]} simulations."
    apart = last.nats.interval()[1] < first.nats.interval()[0]
    verb = "falls from" if apart else "is"
    return f"{title}: KL(p‖q) {verb} {ends[0]} simulations {'to' if apart else 'and'} {ends[1]}."


def _nearest(curves: Curves) -> str:
    """The estimator nearest to p with the most simulations that all have, if it stands apart."""
    counts = [{one.simulations for one in errors} for errors in curves.values()]
    common = set.intersection(*counts)
    if len(curves) < 2 or not common:
        return ""
    most = max(common)
    nats = {
        name: next(one.nats for one in errors if one.simulations == most)
        for name, errors in curves.items()
    }
    least, *others = sorted(nats, key=lambda name: nats[name].value)
    if all(nats[least].interval()[1] < nats[other].interval()[0] for other in others):
        return (
            f"Of the {len(nats)} with {most:,}, the nearest to p is: {ESTIMATORS[least].title}, "
            f"{nats_text(nats[least])}."
        )
    titles = list_text([ESTIMATORS[name].title for name in nats])
    return f"With {most:,}, none of {titles} stands apart as the nearest to p."
