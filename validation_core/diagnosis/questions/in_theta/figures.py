"""Where in theta: the truth's share in each tenth of q's draws, and maps of the learned ratio."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from validation_core.diagnosis.claims import called
from validation_core.diagnosis.questions.in_theta.study import MassInTheta, RatioMap
from validation_core.figures import style
from validation_core.figures.outcome import Drawn

_SCALE = [[0.0, style.Q], [0.5, style.NULL], [1.0, style.P]]
_LEAST_REACH = 0.2  # of the colours: a classifier that guesses leaves the map grey
_MOST = 5  # maps
_LONG = 32  # letters of a name on an axis
_FRAMES = {"sd": "sd from q's mean", "own": "its own units"}


def figures(result: MassInTheta, names: Sequence[str] = ()) -> tuple[Drawn, ...]:
    """The tenths, then the maps of the pairs on which the log ratio depends most."""
    scored = f"{result.scored:,}"
    return (
        _tenths(result),
        *(_map(ratio_map, scored, names) for ratio_map in result.maps[:_MOST]),
    )


def _tenths(result: MassInTheta) -> Drawn:
    tenths = result.deciles
    at = np.arange(1, len(tenths) + 1)
    shares = [(tenth.share.truth, tenth.share.low, tenth.share.high) for tenth in tenths]
    value, low, high = np.array(shares).T
    claimed = np.array([tenth.claimed for tenth in tenths]) / len(tenths)
    top = 1.1 * float(max(high.max(), 2 / len(tenths)))
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": at,
        "y": style.f4(value),
        "marker": {"color": style.P, "size": 9},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": style.f4(high - value),
            "arrayminus": style.f4(value - low),
            "color": style.P,
            "thickness": 1.5,
            "width": 3,
        },
        "hovertemplate": "tenth %{x}: %{y:.1%} of the truths<extra></extra>",
    }
    learned = style.line(at, np.minimum(claimed, top), style.NULL, width=1.5)
    figure = style.figure(
        [learned, points],
        x=style.Axis(
            "tenth of q's draws, by learned ratio", (0.5, len(tenths) + 0.5), ticks=at.tolist()
        ),
        y=style.Axis("share of the truths", (0, top), percent=True),
        shapes=[style.hline(1 / len(tenths))],
    )
    return Drawn(
        "Truths in each tenth of q's draws",
        figure,
        "Points: the share of held-out truths, with exact intervals that hold together. If q were "
        "right, all would lie at the dashed 10% within their intervals. On the right, above it: q "
        "puts too little mass there; on the left, below it: too much. Grey line: what the "
        "score claims.",
    )


def _map(ratio_map: RatioMap, scored: str, names: Sequence[str]) -> Drawn:
    frame = _FRAMES[ratio_map.frame]
    labels = [called(names, which) for which in ratio_map.of]
    where = "in q's sds around its mean" if ratio_map.frame == "sd" else "on their own axes"
    if len(labels) == 1:
        figure = _line(ratio_map, f"{_short(labels[0])}, {frame}")
        return Drawn(
            f"Learned ratio over {labels[0]}, {where}",
            figure,
            f"Logarithm of the truth's mass over q's, as learned, by {scored} draws of q; band: "
            "95%, of this average alone. Above 0: q puts too little mass there; below 0: too "
            "much. If q were right, the line would stay near 0 but for the score's noise. "
            "Ticks below: held-out truths.",
        )
    figure = _plane(ratio_map, [f"{_short(name)}, {frame}" for name in labels])
    return Drawn(
        f"Learned ratio over {labels[0]} and {labels[1]}, {where}",
        figure,
        f"Colour: logarithm of the truth's mass over q's in each cell, as learned, by {scored} "
        "draws of q; blank below ten. Blue: q puts too little mass there; orange: too much. If q "
        "were right, all would be grey but for the score's noise. Dots: held-out truths.",
    )


def _short(name: str) -> str:
    return escape(style.short(name, _LONG), quote=False)


def _line(ratio_map: RatioMap, name: str) -> Any:
    mean, half = np.asarray(ratio_map.ratio, np.float64)
    edges = np.asarray(ratio_map.edges, np.float64)
    at, some = (edges[1:] + edges[:-1]) / 2, np.isfinite(mean)
    reach = max(_LEAST_REACH, 1.1 * float(np.max((np.abs(mean) + half)[some], initial=0)))
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(ratio_map.truth),
        "hoverinfo": "skip",
        "y": style.f4(np.full(len(ratio_map.truth), -reach)),
        "marker": {"size": 6, "symbol": "line-ns-open", "color": style.P, "opacity": 0.6},
    }
    return style.figure(
        [
            style.band(at[some], (mean - half)[some], (mean + half)[some], style.P, 0.2),
            style.line(at[some], mean[some], style.P, hover="%{x:.3g}: %{y:.2f}"),
            marks,
        ],
        x=style.Axis(name, (float(edges[0]), float(edges[-1]))),
        y=style.Axis("learned log p/q", (-1.1 * reach, reach)),
        shapes=[style.hline(0)],
    )


def _plane(ratio_map: RatioMap, names: Sequence[str]) -> Any:
    sides = np.asarray(ratio_map.edges, np.float64)
    z = np.asarray(ratio_map.ratio, np.float64)
    reach = max(_LEAST_REACH, float(np.nanmax(np.abs(z), initial=0)))
    heat = {
        "type": "heatmap",
        "x": style.f4(sides[0]),
        "y": style.f4(sides[1]),
        "z": style.f4(z),
        "colorscale": _SCALE,
        "zmin": -reach,
        "zmax": reach,
        "zsmooth": False,
        "colorbar": {
            "title": {"text": "log p/q"},
            "thickness": 10,
            "outlinewidth": 0,
            "nticks": 5,
        },
        "hovertemplate": "(%{x:.3g}, %{y:.3g}): %{z:.2f}<extra></extra>",
    }
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(ratio_map.truth[:, 0]),
        "y": style.f4(ratio_map.truth[:, 1]),
        "hoverinfo": "skip",
        "marker": {"size": 3, "color": style.P, "opacity": 0.6},
    }
    axes = [
        style.Axis(name, (float(side[0]), float(side[-1])))
        for name, side in zip(names, sides, strict=True)
    ]
    return style.figure([heat, marks], x=axes[0], y=axes[1], height=320, right=84)
