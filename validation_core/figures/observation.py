"""At one observation: q's draws by the learned chance, T on its null, and CoLT's ball there."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from validation_core.answers.base import Found, called
from validation_core.figures import lc2st, style
from validation_core.figures.outcome import Drawn
from validation_core.types import Array

_LONG = 32  # letters of a name on an axis


def drawn(found: Found, names: Sequence[str] = ()) -> tuple[Drawn, ...]:
    """Figures of the parts that are done."""
    told, arrays = found.plain, found.arrays
    shown: list[Drawn] = []
    if "local" in told:
        labels = [_short(called(names, one)) for one in told["local"]["mapped"]]
        d, theta = np.asarray(arrays["d"], np.float64), np.asarray(arrays["theta"], np.float64)
        shown += [
            Drawn(
                "q's draws at this observation", lc2st.map_of(theta, d, labels),
                "Coloured by d, the learned chance that a draw is the truth: orange where q puts "
                "too much mass, blue where too little. If q were right here, all would be grey "
                "but for the classifier's noise.",
            ),
            Drawn(
                "How sure the classifier is here",
                lc2st.pp_plot(d, np.asarray(arrays["null_d"], np.float64)),
                "The share of q's draws whose d is at most this; grey: 95% of the null "
                "classifiers at each d. If q were right here, the line would stay near the dashed "
                "step and in the grey.",
            ),
            Drawn(
                "T on its null here",
                lc2st.statistic(told["local"]["T"], np.asarray(arrays["t_null"], np.float64)),
                "Grey: T of classifiers whose labels were swapped within pairs at random. If q "
                "were right here, the red line would be one of them, anywhere in the grey.",
            ),
        ]  # fmt: skip
    if "ball" in told:
        labels = [_short(called(names, one)) for one in told["ball"]["mapped"]]
        shown.append(Drawn(
            "CoLT's ball at this observation",
            _ball(np.asarray(arrays["ball.theta"], np.float64), np.asarray(arrays["ball.inside"]),
                  told["ball"]["centre"], labels),
            "q's draws, those in the ball in its colour, its centre a star. If q were right near "
            "this x, the truth would lie in the ball as often as q's draws do.",
        ))  # fmt: skip
    return tuple(shown)


def _short(name: str) -> str:
    return escape(style.short(name, _LONG), quote=False)


def _ball(theta: Array, inside: Array, centre: Sequence[float], names: Sequence[str]) -> go.Figure:
    """Draws (K, 1) as two histograms, or (K, 2) as dots."""
    within = inside > 0
    color = style.method_style("colt").color
    limits = [_room(theta[:, one], centre[one]) for one in range(theta.shape[1])]
    if theta.shape[1] == 1:
        edges = np.linspace(*limits[0], 31)
        every = np.histogram(theta[:, 0], edges)[0]
        held = np.histogram(theta[within, 0], edges)[0]
        return style.figure(
            [style.bars(edges, every, style.NULL, opacity=0.5),
             style.bars(edges, held, color, opacity=0.8)],
            x=style.Axis(names[0], limits[0]), shapes=[style.upright(centre[0], color)],
            y=style.Axis("q's draws", (0, 1.1 * float(max(every.max(), 1)))),
            extra={"barmode": "overlay"},
        )  # fmt: skip
    dots = [
        {"type": "scatter", "mode": "markers", "x": style.f4(theta[mask, 0]),
         "y": style.f4(theta[mask, 1]), "hoverinfo": "skip",
         "marker": {"size": 5, "opacity": 0.7, "color": shade}}
        for mask, shade in ((~within, style.NULL), (within, color))
    ]  # fmt: skip
    star = {
        "type": "scatter", "mode": "markers", "x": style.f4(centre[:1]),
        "y": style.f4(centre[1:]), "hovertemplate": "centre<extra></extra>",
        "marker": {"size": 13, "symbol": "star", "color": color},
    }  # fmt: skip
    return style.figure(
        [*dots, star], x=style.Axis(names[0], limits[0]), y=style.Axis(names[1], limits[1]),
        height=320,
    )  # fmt: skip


def _room(values: Array, centre: float) -> tuple[float, float]:
    low, high = min(float(values.min()), centre), max(float(values.max()), centre)
    spare = 0.05 * (high - low) or 0.05 * max(abs(high), 1.0)
    return low - spare, high + spare
