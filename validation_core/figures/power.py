"""What a power curve draws: how often each method rejects along gamma, beta or m."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core import statistics
from validation_core.figures import live, plotly, style
from validation_core.figures.marks import Axis, Band, HLine, Line, Mark, Panel, Points, VLine
from validation_core.figures.outcome import Drawn
from validation_core.types import Array, PowerCell

Along = Literal["gamma", "beta", "m"]


class Curve(NamedTuple):
    """One method's counts along x, seeds pooled."""

    method: str
    label: str
    x: Array
    trials: Array
    rejections: Array

    @property
    def rate(self) -> Array:
        """Share rejected."""
        return self.rejections / self.trials

    @property
    def interval(self) -> tuple[Array, Array]:
        """95% Wilson interval of the share."""
        low, high = statistics.wilson(self.rejections, self.trials)
        return np.asarray(low), np.asarray(high)


def curves(cells: Sequence[PowerCell], x: Along) -> list[Curve]:
    """Cells gathered into curves by method and label; cells at one place are added up."""
    counts: dict[tuple[str, str], dict[float, list[int]]] = defaultdict(dict)
    for cell in cells:
        label = cell.method if x == "m" else cell.label or cell.method
        count = counts[cell.method, label].setdefault(_place(cell, x), [0, 0])
        count[0] += cell.trials
        count[1] += cell.rejections
    gathered = []
    for (method, label), at in counts.items():
        places = sorted(place for place in at if np.isfinite(place))
        if places:
            trials, rejections = np.array([at[place] for place in places], dtype=float).T
            gathered.append(Curve(method, label, np.array(places), trials, rejections))
    return gathered


def _place(cell: PowerCell, x: Along) -> float:
    if x == "gamma":
        return cell.gamma
    return cell.beta if x == "beta" else float(cell.options.get("m", np.nan))


AXES: dict[Along, str] = {
    "gamma": "perturbation strength gamma",
    "beta": "classifier degradation beta",
    "m": "calibration draws per test point m",
}


def panel(
    lines: Sequence[Curve],
    along: Along,
    places: Sequence[float],
    alpha: float,
    *,
    at: float | None = None,
    caption: str = "",
) -> Panel:
    """Power curves with their bands, the names where they end.

    Args:
        lines: of methods.
        along: what x is; m has a logarithmic axis.
        places: the axis, also where nothing has run yet.
        alpha: the level, where every curve would lie were q right.
        at: a place to mark.
    """
    place: Callable[[ArrayLike], Array] = np.log10 if along == "m" else np.asarray
    where = place(np.array(places, dtype=float))
    room = 0.02 * (where[-1] - where[0]) or 0.5
    marks: list[Mark] = [HLine(alpha, dash="6 4", color=style.NULL)]
    if at is not None:
        marks.append(VLine(place(at)))
    for line in lines:
        marks += _marks(line, place(line.x))
    return Panel(
        marks,
        x=Axis(
            (where[0] - room, where[-1] + room),
            AXES[along],
            ticks=where,
            names=[f"{value:g}" for value in places],
        ),
        y=Axis((-0.03, 1.04), "share of trials rejected", percent=True),
        height=300,
        margin=92,
        caption=caption,
    )


def _marks(curve: Curve, x: Array) -> list[Mark]:
    color, dash, symbol = live.look(style.method_style(curve.method))
    low, high = curve.interval
    return [
        Band(x, low, high, color=color, opacity=0.16),
        Line(x, curve.rate, color=color, dash=dash, label=curve.label),
        Points(x, curve.rate, color=color, symbol=symbol, size=6),
    ]


def drawn(lines: Sequence[Curve], along: Along, fixed: str, alpha: float) -> Drawn:
    """The same picture standing still, with its title and how to read it.

    Args:
        fixed: what is the same everywhere, for the title.
    """
    places = sorted({float(x) for line in lines for x in line.x}) or [1.0]
    trials = sorted({int(count) for line in lines for count in line.trials})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return Drawn(
        f"Power over {along}, {fixed}",
        plotly.figure(replace(panel(lines, along, places, alpha), margin=110)),
        f"{count} trials a point. Bands are 95% Wilson intervals of these trials with this one "
        "trained network. The dashed line is the level, where every curve would lie were q right.",
    )
