"""The likely cause: each cause's weight, and the table among those that were injected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.answers.base import Found
from validation_core.answers.cause import TITLES
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.types import Array

_COLORS = ("#CC6677", "#2E9B8A", "#6A5ACD", "#A8791B")
_LINE = 24  # pixels that one cause takes
_PLANE = 380


def drawn(found: Found, names: Sequence[str]) -> tuple[Drawn, ...]:
    """Weights as bars, then the plane in which the likeliest causes lie apart."""
    del names
    return _weights(found), _plane(found)


def _weights(found: Found) -> Drawn:
    every = found.plain["causes"][::-1]  # the likeliest on top
    colors = [_color(len(every) - 1 - i) for i in range(len(every))]
    bars = {
        "type": "bar", "orientation": "h", "x": style.f4([one["weight"] for one in every]),
        "y": list(range(len(every))), "marker": {"color": colors},
        "customdata": [TITLES[one["cause"]] for one in every],
        "hovertemplate": "%{customdata}: %{x:.1%}<extra></extra>",
    }  # fmt: skip
    axis = style.Axis("", (-0.6, len(every) - 0.4))
    ticks = {"tickvals": list(range(len(every))), "ticktext": [_short(one) for one in every]}
    sheet = style.figure(
        [bars], x=style.Axis("weight", (0, 1), percent=True), y=axis,
        height=70 + _LINE * len(every),
        extra={"yaxis": {**axis.layout(), **ticks, "showgrid": False},
               "margin": {"l": 150, "r": 16, "t": 18, "b": 44}},
    )  # fmt: skip
    return Drawn(
        "Which known defect does it resemble?", sheet,
        "Each bar: resemblance to tables with that defect; they sum to 1 whether or not anything "
        "is off. If q were correct, no cause would be named (here p = "
        f"{found.plain['pvalue']:.2g} for standing out at all).",
    )  # fmt: skip


def _plane(found: Found) -> Drawn:
    places, causes = found.arrays["places"], found.arrays["causes"]
    null = found.arrays["null_places"]
    shown = found.plain["causes"][: len(_COLORS)]
    traces = [_points(places[causes >= len(shown)], style.NULL, 0.25, "another cause", 4)]
    for i in reversed(range(len(shown))):
        traces.append(_points(places[causes == i], _color(i), 0.75, TITLES[shown[i]["cause"]], 6))
    traces.append(_points(null, style.NULL, 0.9, "no defect", 4, symbol="x-thin-open"))
    own = _points(np.zeros((1, 2)), style.OBSERVED, 1.0, "this table", 16, symbol="star")
    around = np.concatenate([places[causes < len(shown)], null, np.zeros((1, 2))])
    low, high = np.quantile(around, [0.01, 0.99], axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-6)
    low, high = np.minimum(low - pad, -pad), np.maximum(high + pad, pad)
    axes = [
        style.Axis(label, (float(low[i]), float(high[i])))
        for i, label in enumerate(("first direction", "second direction"))
    ]
    sheet = style.figure(
        [*traces, own], x=axes[0], y=axes[1], height=_PLANE,
        extra={"showlegend": True, "legend": {"orientation": "h", "y": -0.2}},
    )  # fmt: skip
    return Drawn(
        "Your table among simulated defects", sheet,
        "Each point is a table: the star is yours, crosses are simulated tables with a correct q, "
        "dots those with a simulated defect of some size. The plane is the one in which the "
        "likeliest causes lie apart. If q were correct, the star would lie among the crosses.",
    )  # fmt: skip


def _points(
    at: Array, color: str, opacity: float, name: str, size: float, symbol: str = "circle"
) -> style.Trace:
    return {
        "type": "scatter", "mode": "markers", "x": style.f4(at[:, 0]), "y": style.f4(at[:, 1]),
        "name": name, "hovertemplate": f"{name}<extra></extra>",
        "marker": {"color": color, "size": size, "opacity": opacity, "symbol": symbol},
    }  # fmt: skip


def _color(place: int) -> str:
    return _COLORS[place] if place < len(_COLORS) else style.NULL


def _short(one: dict[str, str]) -> str:
    return one["cause"].replace("_", " ")
