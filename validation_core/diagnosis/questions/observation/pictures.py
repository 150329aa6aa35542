"""Figures of q at one observation: L-C2ST's draws and nulls, CoLT's ball."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.questions.base import short_name
from validation_core.diagnosis.questions.observation.ball import LocalBall
from validation_core.diagnosis.questions.observation.local_test import LocalTest
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Bars, Panel, Points, VLine
from validation_core.methods import lc2st
from validation_core.relabelling.claims import parameter_name
from validation_core.types import Array

_LONG = 32  # letters of a name on an axis


def local_figures(test: LocalTest, names: Sequence[str]) -> tuple[Drawn, ...]:
    """L-C2ST at an observation: q's draws by the learned chance d, and d on its null."""
    labels = [short_name(parameter_name(names, index), _LONG) for index in test.mapped]
    d, theta, null_d, t_null = (
        np.asarray(array, np.float64) for array in (test.d, test.theta, test.null_d, test.t_null)
    )
    return (
        Drawn(
            "q's draws at this observation",
            lc2st.map_of(theta, d, labels),
            "Coloured by d, the learned chance that a draw is the true value: orange where q "
            "puts too much mass, blue where too little. If q were correct here, all would be "
            "pale but for the classifier's noise.",
        ),
        Drawn(
            "How sure the classifier is here",
            lc2st.pp_plot(d, null_d),
            "The share of q's draws whose d is at most this; grey: 95% of the null "
            "classifiers at each d. If q were correct here, the line would stay near the dashed "
            "step and in the grey.",
        ),
        Drawn(
            "T on its null here",
            lc2st.null_of_t(test.T, t_null),
            "Grey: T of classifiers whose labels were swapped within pairs at random. If q "
            "were correct here, the red line would be one of them, anywhere in the grey.",
        ),
    )


def ball_drawn(ball: LocalBall, names: Sequence[str]) -> Drawn:
    """CoLT's ball among q's draws at an observation."""
    labels = [short_name(parameter_name(names, index), _LONG) for index in ball.mapped]
    theta = np.asarray(ball.theta, np.float64)
    return Drawn(
        "CoLT's region at this observation",
        _ball_figure(theta, ball.inside, ball.centre, labels),
        "q's draws, those in the region in its colour, its centre a star. If q were correct "
        "near this x, true values would lie in the region as often as q's draws do.",
    )


def _ball_figure(
    theta: Array, inside: Array, centre: Sequence[float], names: Sequence[str]
) -> Panel:
    """Draws (K, 1) as two histograms, or (K, 2) as dots."""
    within = inside > 0
    color = style.method_style("colt").color
    limits = [_room(theta[:, axis], centre[axis]) for axis in range(theta.shape[1])]
    if theta.shape[1] == 1:
        edges = np.linspace(*limits[0], 31)
        counts = np.histogram(theta[:, 0], edges)[0]
        inside_counts = np.histogram(theta[within, 0], edges)[0]
        return Panel(
            [
                Bars(edges, counts, color=style.NULL, opacity=0.5),
                Bars(edges, inside_counts, color=color, opacity=0.8),
                VLine(centre[0], color=color),
            ],
            x=Axis(limits[0], names[0]),
            y=Axis((0, 1.1 * float(max(counts.max(), 1))), "q's draws"),
            height=style.HEIGHT,
        )
    return Panel(
        [
            *(
                Points(*theta[mask].T, color=shade, size=5, opacity=0.7)
                for mask, shade in ((~within, style.NULL), (within, color))
            ),
            Points(centre[:1], centre[1:], color=color, size=13, symbol="star", hover="centre"),
        ],
        x=Axis(limits[0], names[0]),
        y=Axis(limits[1], names[1]),
        height=320,
    )


def _room(values: Array, centre: float) -> tuple[float, float]:
    low, high = min(float(values.min()), centre), max(float(values.max()), centre)
    spare = 0.05 * (high - low) or 0.05 * max(abs(high), 1.0)
    return low - spare, high + spare
