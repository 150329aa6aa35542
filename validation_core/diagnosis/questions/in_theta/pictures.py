"""Pictures of shares in tenths of the learned ratio, and of maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.questions.base import heat_map, short_name
from validation_core.diagnosis.questions.in_theta.result import MassInTheta, RatioMap
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, HLine, Line, Panel, Points
from validation_core.relabelling.claims import parameter_name

_LEAST_REACH = 0.2  # of the colours: a classifier that guesses leaves the map pale
_LONG = 32  # letters of a name on an axis
_FRAMES = {"sd": "sd from q's mean", "own": "its own units"}


def tenths_picture(result: MassInTheta) -> Drawn:
    """Draw the share of true values in each tenth of q's draws by learned ratio."""
    tenths = result.deciles
    at = np.arange(1, len(tenths) + 1)
    shares = [(tenth.share.truth, tenth.share.low, tenth.share.high) for tenth in tenths]
    value, low, high = np.array(shares).T
    claimed = np.array([tenth.claimed for tenth in tenths]) / len(tenths)
    top = 1.1 * float(max(high.max(), 2 / len(tenths)))
    hover = "tenth %{x}: %{y:.1%} of the true values"
    panel = Panel(
        [
            HLine(1 / len(tenths), dash="dash"),
            Line(at, np.minimum(claimed, top), color=style.NULL, width=1.5),
            Points(at, value, low=low, high=high, color=style.P, size=9, hover=hover),
        ],
        x=Axis((0.5, len(tenths) + 0.5), "tenth of q's draws, by learned ratio", ticks=at),
        y=Axis((0, top), "share of the true values", percent=True),
        height=style.HEIGHT,
    )
    return Drawn(
        "Do true values fall where q expects them?",
        panel,
        "Points: the share of held-out true values, with exact intervals that hold together. "
        "If q were correct, all would lie at the dashed 10% within their intervals. On the "
        "right, above it: q puts too little mass there; on the left, below it: too much. Grey "
        "line: what the score claims.",
    )


def map_picture(ratio_map: RatioMap, scored: str, names: Sequence[str]) -> Drawn:
    """Draw a map of the learned ratio over one parameter or two."""
    frame = _FRAMES[ratio_map.frame]
    labels = [parameter_name(names, which) for which in ratio_map.of]
    where = "in q's sds around its mean" if ratio_map.frame == "sd" else "on their own axes"
    if len(labels) == 1:
        figure = _line_figure(ratio_map, f"{short_name(labels[0], _LONG)}, {frame}")
        return Drawn(
            f"Learned ratio over {labels[0]}, {where}",
            figure,
            f"Learned log ratio of p's mass to q's, from {scored} draws of q; band: 95%, of "
            "this average alone. Above 0: q puts too little mass there; below 0: too much. If "
            "q were correct, the line would stay near 0 but for the score's noise. Ticks "
            "below: held-out true values.",
        )
    figure = _plane_figure(ratio_map, [f"{short_name(name, _LONG)}, {frame}" for name in labels])
    return Drawn(
        f"Learned ratio over {labels[0]} and {labels[1]}, {where}",
        figure,
        f"Colour: learned log ratio of p's mass to q's in each cell, from {scored} draws of q; "
        "blank below ten. Blue: q puts too little mass there; orange: too much. If q were "
        "correct, all would be pale but for the score's noise. Dots: held-out true values.",
    )


def _line_figure(ratio_map: RatioMap, name: str) -> Panel:
    mean, half = np.asarray(ratio_map.ratio, np.float64)
    edges = np.asarray(ratio_map.edges, np.float64)
    at, some = (edges[1:] + edges[:-1]) / 2, np.isfinite(mean)
    reach = max(_LEAST_REACH, 1.1 * float(np.max((np.abs(mean) + half)[some], initial=0)))
    band = (mean - half)[some], (mean + half)[some]
    feet = np.full(len(ratio_map.truth), -reach)
    return Panel(
        [
            HLine(0, dash="dash"),
            Band(at[some], *band, color=style.P, opacity=0.2),
            Line(at[some], mean[some], color=style.P, hover="%{x}: %{y:.2f}"),
            Points(
                ratio_map.truth, feet, color=style.P, size=6, symbol="line-ns-open", opacity=0.6
            ),
        ],
        x=Axis((float(edges[0]), float(edges[-1])), name),
        y=Axis((-1.1 * reach, reach), "learned log p/q"),
        height=style.HEIGHT,
    )


def _plane_figure(ratio_map: RatioMap, names: Sequence[str]) -> Panel:
    sides = np.asarray(ratio_map.edges, np.float64)
    z = np.asarray(ratio_map.ratio, np.float64)
    reach = max(_LEAST_REACH, float(np.nanmax(np.abs(z), initial=0)))
    return heat_map(
        z, tuple(sides), names, ratio_map.truth, reach=reach, bar="log p/q", color=style.P
    )
