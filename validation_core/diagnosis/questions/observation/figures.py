"""At one observation: q's draws by the learned chance, T on its null, and CoLT's ball there."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from validation_core.diagnosis.claims import called
from validation_core.diagnosis.questions.observation.study import AtObservation, Ball, LocalTest
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.methods import lc2st as lc2st
from validation_core.types import Array

_LONG = 32  # letters of a name on an axis


def figures(result: AtObservation, names: Sequence[str] = ()) -> tuple[Drawn, ...]:
    """Figures of the parts that are done."""
    local = () if result.local is None else _local(result.local.test, names)
    return local if result.ball is None else (*local, _ball(result.ball, names))


def _local(test: LocalTest, names: Sequence[str]) -> tuple[Drawn, ...]:
    labels = [_short(called(names, index)) for index in test.mapped]
    d, theta, null_d, t_null = (
        np.asarray(array, np.float64) for array in (test.d, test.theta, test.null_d, test.t_null)
    )
    return (
        Drawn(
            "q's draws at this observation",
            lc2st.map_of(theta, d, labels),
            "Coloured by d, the learned chance that a draw is the truth: orange where q puts "
            "too much mass, blue where too little. If q were right here, all would be grey "
            "but for the classifier's noise.",
        ),
        Drawn(
            "How sure the classifier is here",
            lc2st.pp_plot(d, null_d),
            "The share of q's draws whose d is at most this; grey: 95% of the null "
            "classifiers at each d. If q were right here, the line would stay near the dashed "
            "step and in the grey.",
        ),
        Drawn(
            "T on its null here",
            lc2st.null_of_t(test.T, t_null),
            "Grey: T of classifiers whose labels were swapped within pairs at random. If q "
            "were right here, the red line would be one of them, anywhere in the grey.",
        ),
    )


def _ball(ball: Ball, names: Sequence[str]) -> Drawn:
    labels = [_short(called(names, index)) for index in ball.mapped]
    theta = np.asarray(ball.theta, np.float64)
    return Drawn(
        "CoLT's ball at this observation",
        _ball_figure(theta, ball.inside, ball.centre, labels),
        "q's draws, those in the ball in its colour, its centre a star. If q were right near this "
        "x, the truth would lie in the ball as often as q's draws do.",
    )


def _short(name: str) -> str:
    return escape(style.short(name, _LONG), quote=False)


def _ball_figure(
    theta: Array, inside: Array, centre: Sequence[float], names: Sequence[str]
) -> go.Figure:
    """Draws (K, 1) as two histograms, or (K, 2) as dots."""
    within = inside > 0
    color = style.method_style("colt").color
    limits = [_room(theta[:, axis], centre[axis]) for axis in range(theta.shape[1])]
    if theta.shape[1] == 1:
        edges = np.linspace(*limits[0], 31)
        counts = np.histogram(theta[:, 0], edges)[0]
        inside_counts = np.histogram(theta[within, 0], edges)[0]
        return style.figure(
            [
                style.bars(edges, counts, style.NULL, opacity=0.5),
                style.bars(edges, inside_counts, color, opacity=0.8),
            ],
            x=style.Axis(names[0], limits[0]),
            shapes=[style.vline(centre[0], color)],
            y=style.Axis("q's draws", (0, 1.1 * float(max(counts.max(), 1)))),
            extra={"barmode": "overlay"},
        )
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": style.f4(theta[mask, 0]),
            "y": style.f4(theta[mask, 1]),
            "hoverinfo": "skip",
            "marker": {"size": 5, "opacity": 0.7, "color": shade},
        }
        for mask, shade in ((~within, style.NULL), (within, color))
    ]
    star = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(centre[:1]),
        "y": style.f4(centre[1:]),
        "hovertemplate": "centre<extra></extra>",
        "marker": {"size": 13, "symbol": "star", "color": color},
    }
    return style.figure(
        [*dots, star],
        x=style.Axis(names[0], limits[0]),
        y=style.Axis(names[1], limits[1]),
        height=320,
    )


def _room(values: Array, centre: float) -> tuple[float, float]:
    low, high = min(float(values.min()), centre), max(float(values.max()), centre)
    spare = 0.05 * (high - low) or 0.05 * max(abs(high), 1.0)
    return low - spare, high + spare
