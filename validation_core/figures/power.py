"""Power curves: how often each method rejects along gamma, beta or m."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from validation_core import statistics
from validation_core.figures import style
from validation_core.types import Array, PowerCell

Along = Literal["gamma", "beta", "m"]

_WORDS: dict[Along, str] = {
    "gamma": "perturbation strength γ", "beta": "classifier degradation β",
    "m": "calibration draws per test point m",
}  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


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


def power_curves(
    cells: Sequence[PowerCell], x: Along, alpha: float = 0.05, mark: float | None = None, *,
    places: Sequence[float] = (), height: int = 300,
) -> go.Figure:  # fmt: skip
    """Rejection rates with Wilson bands, labels at the ends, the level dashed.

    Args:
        mark: where the reader stands: a thin upright line.
        places: where the finished curve will have points; fixes the axis while it grows.
    """
    drawn = curves(cells, x)
    if not drawn:
        return style.empty("No power yet", height=height)
    limits = _limits(np.concatenate([*(curve.x for curve in drawn), places]), log=x == "m")
    last = max(curve.x[-1] for curve in drawn)
    ends = style.apart([float(curve.rate[-1]) for curve in drawn], 0.075)
    over = max(0.0, max(ends) - 1.03)
    seen: dict[str, int] = defaultdict(int)
    traces, notes = [], []
    for curve, end in zip(drawn, ends, strict=True):
        traces += _traces(curve, seen[curve.method])
        seen[curve.method] += 1
        at = np.log10(last) if x == "m" else last
        color = style.method_style(curve.method).color
        notes.append(style.note(curve.label, at, end - over, color, shift=10))
    return style.figure(
        traces, y=style.Axis("share of trials rejected", (-0.03, 1.05), percent=True),
        x=style.Axis(_WORDS[x], limits, log=x == "m", ticks=_ticks(drawn) if x == "m" else None),
        height=height, notes=notes, right=24 + 7 * max(len(curve.label) for curve in drawn),
        shapes=[style.level(alpha)] + ([] if mark is None else [style.upright(mark, style.NULL)]),
    )  # fmt: skip


def _traces(curve: Curve, variant: int) -> list[style.Trace]:
    look = style.method_style(curve.method)
    low, high = statistics.wilson(curve.rejections, curve.trials)
    hover = f"{curve.label} at %{{x:.3g}}: %{{y:.1%}} of %{{customdata}} trials"
    return [
        style.area(curve.x, low, high, look.color, 0.16),
        {**style.line(curve.x, curve.rate, look.color, name=curve.label, hover=hover,
                      dash=look.dash if variant == 0 else _DASHES[variant % len(_DASHES)]),
         "mode": "lines+markers", "customdata": curve.trials.astype(np.int32),
         "marker": {"color": look.color, "symbol": look.symbol, "size": 6}},
    ]  # fmt: skip


def _place(cell: PowerCell, x: Along) -> float:
    if x == "gamma":
        return cell.gamma
    return cell.beta if x == "beta" else float(cell.options.get("m", np.nan))


def _limits(x: Array, *, log: bool) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    if log:
        return low / 1.2, high * 1.2
    room = 0.02 * (high - low) or 0.5
    return low - room, high + room


def _ticks(drawn: Sequence[Curve]) -> list[float]:
    return sorted({float(place) for curve in drawn for place in curve.x})
