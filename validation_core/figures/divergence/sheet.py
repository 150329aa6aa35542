"""Panels side by side on one sheet, with one legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.divergence import axes
from validation_core.figures.divergence.traces import traces
from validation_core.figures.style import Axis, Trace
from validation_core.simulations.curves import DivergenceCurve

_COLUMNS = 3
_PANEL, _HEADING, _BETWEEN = 170, 26, 52  # pixels: of a panel, above it, below it to the next
_TOP, _BOTTOM, _LEGEND = 8, 96, 60  # around all of them; the legend lies that far below
_APART = 0.055  # of the sheet's width, between panels


class Subplot(NamedTuple):
    """A model and its lines."""

    title: str
    curves: Sequence[DivergenceCurve]


def sheet(panels: Sequence[Subplot], along: str) -> go.Figure:
    """All panels, what lies along them being iterations or M."""
    if not any(np.isfinite(c.found.mean).any() or c.gap.any() for p in panels for c in p.curves):
        return style.empty("No run has ended yet", height=_PANEL + _TOP + _BOTTOM)
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    inside = rows * (_PANEL + _HEADING) + (rows - 1) * _BETWEEN
    put: list[Trace] = []
    layout: dict[str, object] = {
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": -_LEGEND / inside,
            "yanchor": "top",
            "font": {"size": 12},
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "margin": {"l": 56, "r": 12, "t": _TOP, "b": _BOTTOM},
    }
    notes, legend_names = [], set[str]()
    for i, panel in enumerate(panels):
        place = _SubplotPlace.of(i, columns, rows)
        x, y = axes.along(panel.curves, along), axes.up(panel.curves)
        layout |= place.layout(x, y, first=i % columns == 0)
        notes.append(place.heading(panel.title))
        for trace in traces(panel.curves, x, y, along):
            in_legend = bool(trace.get("name")) and trace["name"] not in legend_names
            legend_names.add(str(trace.get("name", "")))
            put.append({**trace, "showlegend": in_legend, **place.refs})
    return style.figure(put, x=x, y=y, height=inside + _TOP + _BOTTOM, notes=notes, extra=layout)


class _SubplotPlace(NamedTuple):
    """Where a panel lies on the sheet, in shares of it."""

    number: str
    left: float
    right: float
    low: float
    high: float

    @classmethod
    def of(cls, i: int, columns: int, rows: int) -> _SubplotPlace:
        row, column = divmod(i, columns)
        wide = (1 - _APART * (columns - 1)) / columns
        left = column * (wide + _APART)
        inside = rows * (_PANEL + _HEADING) + (rows - 1) * _BETWEEN
        top = _HEADING + row * (_PANEL + _HEADING + _BETWEEN)
        return cls(
            str(i + 1) if i else "",
            left,
            min(left + wide, 1.0),
            1 - (top + _PANEL) / inside,
            1 - top / inside,
        )

    @property
    def refs(self) -> dict[str, str]:
        return {"xaxis": f"x{self.number}", "yaxis": f"y{self.number}"}

    def layout(self, x: Axis, y: Axis, *, first: bool) -> dict[str, object]:
        up = {**y.layout(), "ticktext": [axes.number(tick) for tick in y.ticks or ()]}
        if not first:
            up["title"] = {"text": ""}
        return {
            f"xaxis{self.number}": {
                **x.layout(),
                "showgrid": False,
                "anchor": f"y{self.number}",
                "domain": [self.left, self.right],
            },
            f"yaxis{self.number}": {
                **up,
                "anchor": f"x{self.number}",
                "domain": [self.low, self.high],
            },
        }

    def heading(self, title: str) -> Trace:
        note = style.note(title, self.left, self.high, None, paper=True)
        return {**note, "yanchor": "bottom", "yshift": 6}
