"""Figures 1 to 3 of Domke (2021): the symmetric divergence over simulations, a panel per model.

The axis of the divergence is logarithmic. Intervals are formed before that: what is below the
axis' foot, 0 and negative values included, is drawn at the foot, and the pointer tells the number
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.figures.style import Axis, MethodStyle, Trace
from validation_core.simulations import MS, Plan, curves
from validation_core.simulations.curves import Curve, Found
from validation_core.types import Array

LOWEST = 1e-4
"""Nats below which no axis goes: nothing that anybody would notice is smaller."""

_COLUMNS, _HEIGHT, _LEGEND, _TITLE = 3, 250, 58, 30  # pixels of a row, its heading, the legend
_APART = 0.018  # of the axis' length, between the algorithms at one place
_TICKS = 6  # at most, along the divergence
_NOTHING = 0.01  # nats: where a panel ends at most, of which an estimate is nothing
_LARGEST = 1e37  # of what is drawn: numbers travel in single precision


class Panel(NamedTuple):
    """A model and its lines."""

    title: str
    curves: Sequence[Curve]


def drawn(
    number: int, plan: Plan, found: Found, ms: Sequence[int] | None = None
) -> tuple[Drawn, ...]:  # fmt: skip
    """One of the paper's figures, of what has run of its plan."""
    if number == 1:
        return (
            against_iterations(_panels(plan, lambda i: curves.along_iterations(plan, found, i))),
        )
    if number == 2:
        return tuple(
            against_m(_panels(plan, partial(_weighed, plan, found, n, ms or MS)), n)
            for n in plan.picked
        )
    last = plan.iterations[-1]
    made = _panels(plan, lambda i: curves.trained_with_m(plan, found, i, last))
    return (trained_with_m(made, last),)


def _weighed(
    plan: Plan, found: Found, iterations: int, ms: Sequence[int], model: int
) -> list[Curve]:  # fmt: skip
    return curves.along_m(plan, found, model, iterations, ms)


def _panels(plan: Plan, lines: Callable[[int], Sequence[Curve]]) -> list[Panel]:
    return [Panel(model.label, lines(i)) for i, model in enumerate(plan.models)]


def against_iterations(panels: Sequence[Panel]) -> Drawn:
    """Figure 1."""
    caption = (
        "Each point is the mean over the simulated data sets of an estimate of KL(p‖q) + KL(q‖p) "
        "in nats, with the normal 95% interval of that mean; if q were right, every interval "
        "would reach down to the foot of its panel."
    )
    return Drawn(
        "Figure 1: divergence against iterations of inference",
        _figure(panels, "iterations"), caption + _marks(panels),
    )  # fmt: skip


def against_m(panels: Sequence[Panel], iterations: int) -> Drawn:
    """Figure 2, of what inference gave after so many iterations."""
    caption = (
        "Lines fall as more draws of q are weighted, as far as importance sampling mends q, with "
        "normal 95% intervals; if q were right, they would lie at the foot of the panel from M = "
        "1 on."
    )
    return Drawn(
        f"Figure 2: importance sampling of q after {iterations:,} iterations, M draws weighted",
        _figure(panels, "M"), caption + _marks(panels),
    )  # fmt: skip


def trained_with_m(panels: Sequence[Panel], iterations: int) -> Drawn:
    """Figure 3, after so many iterations."""
    caption = (
        "Where the line of VI trained with M is lower, training for M gained more than weighting "
        "a q that was trained with M = 1, with normal 95% intervals; if q were right, both would "
        "lie at the foot of the panel."
    )
    return Drawn(
        f"Figure 3: VI trained and tested with M, {iterations:,} iterations",
        _figure(panels, "M"), caption + _marks(panels),
    )  # fmt: skip


def _marks(panels: Sequence[Panel]) -> str:
    """What the marks mean that are there."""
    curves = [curve for panel in panels for curve in panel.curves]
    low = any((curve.found.mean <= _foot(p.curves)).any() for p in panels for curve in p.curves)
    said = " Open marks: the estimate is at or below the foot, 0 or negative, say." * low
    if any(curve.gap.any() for curve in curves):
        said += (
            " Crosses along the top, and a gap below them: inference gave no q on some data sets."
        )
    return said


def _figure(panels: Sequence[Panel], along: str) -> go.Figure:
    if not any(np.isfinite(c.found.mean).any() or c.gap.any() for p in panels for c in p.curves):
        return style.empty("No run has ended yet", height=_HEIGHT)
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    height = rows * _HEIGHT + _LEGEND + _TITLE
    traces: list[Trace] = []
    layout: dict[str, object] = {
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": -(_LEGEND - 14) / (height - _LEGEND - 18),
                   "yanchor": "top", "font": {"size": 12}, "itemclick": False,
                   "itemdoubleclick": False},
        "margin": {"l": 56, "r": 12, "t": 18, "b": _LEGEND + 30},
    }  # fmt: skip
    notes, named = [], set[str]()
    for i, panel in enumerate(panels):
        place = _Place.of(i, columns, rows)
        x, y = _along(panel.curves, along), _up(panel.curves)
        layout |= place.axes(x, y, first=i % columns == 0)
        notes.append(place.heading(panel.title))
        for trace in _traces(panel.curves, x, y, along):
            shown = bool(trace.get("name")) and trace["name"] not in named
            named.add(str(trace.get("name", "")))
            traces.append({**trace, "showlegend": shown, **place.refs})
    extra = {name: value for name, value in layout.items() if name not in ("xaxis", "yaxis")}
    sheet = style.figure(
        traces, x=_along(panels[0].curves, along), y=_up(panels[0].curves), height=height,
        notes=notes, extra={**extra, "xaxis": layout["xaxis"], "yaxis": layout["yaxis"]},
    )  # fmt: skip
    return sheet


class _Place(NamedTuple):
    """Where a panel lies on the sheet, in shares of it."""

    number: str
    left: float
    right: float
    low: float
    high: float

    @classmethod
    def of(cls, i: int, columns: int, rows: int) -> _Place:
        row, column = divmod(i, columns)
        wide, tall = 1 / columns, 1 / rows
        gap = 0.055 * (columns > 1)
        left = column * wide
        bottom = 1 - (row + 1) * tall
        return cls(
            str(i + 1) if i else "", left + gap * (column > 0), left + wide - 0.005,
            bottom + 0.22 * tall * (row < rows - 1), bottom + 0.9 * tall,
        )  # fmt: skip

    @property
    def refs(self) -> dict[str, str]:
        return {"xaxis": f"x{self.number}", "yaxis": f"y{self.number}"}

    def axes(self, x: Axis, y: Axis, *, first: bool) -> dict[str, object]:
        up = {**y.layout(), "ticktext": [_power(tick) for tick in y.ticks or ()]}
        if not first:
            up["title"] = {"text": ""}
        return {
            f"xaxis{self.number}": {**x.layout(), "showgrid": False, "anchor": f"y{self.number}",
                                    "domain": [self.left, self.right]},
            f"yaxis{self.number}": {**up, "anchor": f"x{self.number}",
                                    "domain": [self.low, self.high]},
        }  # fmt: skip

    def heading(self, title: str) -> Trace:
        said = style.note(title, self.left, self.high, None, paper=True)
        return {**said, "yanchor": "bottom", "yshift": 6}


def _power(tick: float) -> str:
    """A power of ten, in figures where it has few."""
    power = round(np.log10(tick))
    return f"{tick:g}" if -3 < power < 4 else f"10<sup>{power}</sup>".replace("-", "−")


def _along(curves: Sequence[Curve], name: str) -> Axis:
    every = np.concatenate([curve.x for curve in curves])
    low, high = float(every.min()), float(every.max())
    room = (high / low) ** 0.07 if high > low else 2.0
    ticks = sorted(set(every))
    return Axis(name, (low / room, high * room), log=True, ticks=_fewer(ticks, high / low))


def _fewer(ticks: Sequence[float], span: float) -> list[float]:
    """Those of the places that do not write over one another: a 20th of the axis apart."""
    kept: list[float] = []
    for tick in ticks:
        if not kept or np.log(tick / kept[-1]) >= 0.09 * np.log(span) - 1e-9:
            kept.append(float(tick))
    return kept


def _foot(curves: Sequence[Curve]) -> float:
    """The lowest power of ten that an estimate or an interval's end above 0 asks for; lower where
    an estimate is nothing, which should not look like a hundred nats.
    """
    ends = np.concatenate([[*c.found.mean, *c.found.low] for c in curves])
    above = ends[np.isfinite(ends) & (ends > LOWEST)]
    foot = float(10.0 ** np.floor(np.log10(above.min()))) if above.size else LOWEST
    nothing = any((c.found.mean <= LOWEST).any() for c in curves)
    return min(foot, _NOTHING) if nothing else foot


def _up(curves: Sequence[Curve]) -> Axis:
    foot = _foot(curves)
    ends = np.concatenate([[*c.found.mean, *c.found.high] for c in curves])
    top = min(max(float(ends[np.isfinite(ends)].max(initial=0.0)), 10 * foot), _LARGEST)
    decades = np.arange(np.log10(foot).round(), np.floor(np.log10(top)) + 1)
    ticks = 10.0 ** decades[:: -(-len(decades) // _TICKS)]
    span = np.log10(top / foot)
    return Axis(
        "SKL, nats", (foot, top * 10 ** (0.12 * span)), log=True, ticks=list(map(float, ticks))
    )


def _traces(curves: Sequence[Curve], x: Axis, y: Axis, along: str) -> Iterator[Trace]:
    foot, roof = y.limits
    top = roof / (roof / foot) ** 0.04
    step = (x.limits[1] / x.limits[0]) ** _APART
    for j, curve in enumerate(curves):
        look = style.algorithm_style(curve.name)
        at = curve.x * step ** (j - (len(curves) - 1) / 2)
        told = _told(curve)
        symbols = [look.symbol + "-open" * bool(m <= foot) for m in curve.found.mean]
        mean, low, high = (_shown(values, foot) for values in curve.found[:3])
        yield _bars(at, low, high, look)
        yield {
            **style.line(at, mean, look.color, dash=look.dash, width=1.8, name=curve.label,
                         hover=f"{curve.label}, %{{customdata[0]:,}} {along}<br>%{{text}}"),
            "mode": "lines+markers", "customdata": curve.x[:, None].astype(int).tolist(),
            "text": told, "legendgroup": curve.label, "cliponaxis": False,
            "marker": {"color": look.color, "size": 8,
                       "symbol": symbols,
                       "line": {"width": 1.5, "color": look.color}},
        }  # fmt: skip
        if curve.gap.any():
            yield {
                **style.line(at[curve.gap], np.full(int(curve.gap.sum()), top), look.color,
                             hover=f"{curve.label}, %{{customdata[0]:,}} {along}<br>%{{text}}"),
                "mode": "markers", "customdata": curve.x[curve.gap][:, None].astype(int).tolist(),
                "text": [text for text, gap in zip(told, curve.gap, strict=True) if gap],
                "marker": {"color": look.color, "symbol": "x-thin", "size": 8,
                           "line": {"width": 2, "color": look.color}},
            }  # fmt: skip


def _shown(values: Array, foot: float) -> Array:
    """On the axis: what lies below its foot at the foot, NaN where there is nothing."""
    return np.where(np.isfinite(values), np.clip(values, foot, _LARGEST), np.nan)


def _bars(x: Array, low: Array, high: Array, look: MethodStyle) -> Trace:
    nothing = np.full(len(x), np.nan)
    trace = style.line(
        np.stack([x, x, nothing], 1).ravel(), np.stack([low, high, nothing], 1).ravel(),
        look.color, width=1.5, opacity=0.75,
    )  # fmt: skip
    return {**trace, "connectgaps": False}


def _told(curve: Curve) -> list[str]:
    """What the pointer reads at each place."""
    said = []
    for i, mean in enumerate(curve.found.mean):
        if np.isfinite(mean):
            low, high, median, largest, _ = (float(values[i]) for values in curve.found[1:])
            said.append(
                f"SKL {mean:.3g} [{low:.3g}, {high:.3g}] nats<br>median of d {median:.3g}, "
                f"largest {largest:.3g}, {curve.k} data sets"
            )
        elif curve.failures[i]:
            said.append(f"no q on {curve.failures[i]} of {curve.k} data sets")
        else:
            said.append("no finite estimate" if curve.done[i] else "no run yet")
    return said
