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
from validation_core.simulations.curves import Curve

_COLUMNS, _HEIGHT, _LEGEND, _TITLE = 3, 250, 58, 30  # pixels of a row, its heading, the legend


class Panel(NamedTuple):
    """A model and its lines."""

    title: str
    curves: Sequence[Curve]


def sheet(panels: Sequence[Panel], along: str) -> go.Figure:
    """All panels, what lies along them being iterations or M."""
    if not any(np.isfinite(c.found.mean).any() or c.gap.any() for p in panels for c in p.curves):
        return style.empty("No run has ended yet", height=_HEIGHT)
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    height = rows * _HEIGHT + _LEGEND + _TITLE
    put: list[Trace] = []
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
        x, y = axes.along(panel.curves, along), axes.up(panel.curves)
        layout |= place.layout(x, y, first=i % columns == 0)
        notes.append(place.heading(panel.title))
        for trace in traces(panel.curves, x, y, along):
            shown = bool(trace.get("name")) and trace["name"] not in named
            named.add(str(trace.get("name", "")))
            put.append({**trace, "showlegend": shown, **place.refs})
    return style.figure(put, x=x, y=y, height=height, notes=notes, extra=layout)


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

    def layout(self, x: Axis, y: Axis, *, first: bool) -> dict[str, object]:
        up = {**y.layout(), "ticktext": [axes.power(tick) for tick in y.ticks or ()]}
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
