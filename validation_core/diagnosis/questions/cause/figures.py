"""The likely cause: each cause's weight, and the table among those that were injected."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.questions.cause.causes import TITLES
from validation_core.diagnosis.questions.cause.study import LikelyCause
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.types import Array

_COLORS = ("#CC6677", "#2E9B8A", "#6A5ACD", "#A8791B")
_LINE = 24  # pixels that one cause takes
_PLANE = 380


def figures(result: LikelyCause) -> tuple[Drawn, ...]:
    """Weights as bars, then the plane in which the likeliest causes lie apart."""
    return _weights(result), _plane(result)


def _weights(result: LikelyCause) -> Drawn:
    causes = result.causes[::-1]  # the likeliest on top
    colors = [_color(len(causes) - 1 - i) for i in range(len(causes))]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": style.f4([candidate.weight for candidate in causes]),
        "y": list(range(len(causes))),
        "marker": {"color": colors},
        "customdata": [TITLES[candidate.cause] for candidate in causes],
        "hovertemplate": "%{customdata}: %{x:.1%}<extra></extra>",
    }
    axis = style.Axis("", (-0.6, len(causes) - 0.4))
    names = [candidate.cause.replace("_", " ") for candidate in causes]
    ticks = {"tickvals": list(range(len(causes))), "ticktext": names}
    sheet = style.figure(
        [bars],
        x=style.Axis("weight", (0, 1), percent=True),
        y=axis,
        height=70 + _LINE * len(causes),
        extra={
            "yaxis": {**axis.layout(), **ticks, "showgrid": False},
            "margin": {"l": 150, "r": 16, "t": 18, "b": 44},
        },
    )
    return Drawn(
        "Which known defect does it resemble?",
        sheet,
        "Each bar: resemblance to tables with that defect; they sum to 1 whether or not anything "
        "is off. If q were correct, no cause would be named (here p = "
        f"{result.pvalue:.2g} for standing out at all).",
    )


def _plane(result: LikelyCause) -> Drawn:
    places, causes, null = result.places, result.place_of, result.null_places
    likeliest = result.causes[: len(_COLORS)]
    traces = [_points(places[causes >= len(likeliest)], style.NULL, 0.25, "another cause", 4)]
    for i in reversed(range(len(likeliest))):
        traces.append(_points(places[causes == i], _color(i), 0.75, TITLES[likeliest[i].cause], 6))
    traces.append(_points(null, style.NULL, 0.9, "no defect", 4, symbol="x-thin-open"))
    own = _points(np.zeros((1, 2)), style.OBSERVED, 1.0, "this table", 16, symbol="star")
    around = np.concatenate([places[causes < len(likeliest)], null, np.zeros((1, 2))])
    low, high = np.quantile(around, [0.01, 0.99], axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-6)
    low, high = np.minimum(low - pad, -pad), np.maximum(high + pad, pad)
    axes = [
        style.Axis(label, (float(low[i]), float(high[i])))
        for i, label in enumerate(("first direction", "second direction"))
    ]
    sheet = style.figure(
        [*traces, own],
        x=axes[0],
        y=axes[1],
        height=_PLANE,
        extra={"showlegend": True, "legend": {"orientation": "h", "y": -0.2}},
    )
    return Drawn(
        "Your table among simulated defects",
        sheet,
        "Each point is a table: the star is yours, crosses are simulated tables with a correct q, "
        "dots those with a simulated defect of some size. The plane is the one in which the "
        "likeliest causes lie apart. If q were correct, the star would lie among the crosses.",
    )


def _points(
    at: Array, color: str, opacity: float, name: str, size: float, symbol: str = "circle"
) -> style.Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(at[:, 0]),
        "y": style.f4(at[:, 1]),
        "name": name,
        "hovertemplate": f"{name}<extra></extra>",
        "marker": {"color": color, "size": size, "opacity": opacity, "symbol": symbol},
    }


def _color(place: int) -> str:
    return _COLORS[place] if place < len(_COLORS) else style.NULL
