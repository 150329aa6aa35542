"""How wrong q is, drawn: coverage, bias and width of the worst parameters, and of the whole.

Names come from the user and are escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from validation_core.diagnosis.questions.base import as_numbers, called
from validation_core.diagnosis.questions.calibration.errors import (
    Calibration,
    DensityDivergence,
    LearnedDivergence,
    ParameterErrors,
)
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.methods import skl as skl
from validation_core.types import Array

SHOWN = 6
"""Parameters that are drawn; the table has them all."""

_ROW = 40  # pixels high
_LONG = 14  # letters of a name that fit beside a row on a narrow screen
_LETTER = 7.5  # pixels wide
_MARKS = ("diamond", "circle", "square")


def figures(result: Calibration, names: Sequence[str]) -> tuple[Drawn, ...]:
    """What there is to see of these sizes: at most the six worst parameters, then the whole."""
    worst = result.parameters[:SHOWN]
    pictures: list[Drawn] = []
    if worst:
        labels = [_short(called(names, errors.index)) for errors in worst]
        hidden = len(result.parameters) - len(worst)
        pictures = [_coverage(worst, labels, hidden), _misfit(worst, labels)]
        pictures += _contraction(worst, labels)
    if result.regions is not None:
        pictures.append(_regions(result.regions.curve))
    if result.divergence is not None:
        pictures += _whole(result.divergence, result.estimate)
    return tuple(pictures)


def _short(name: str) -> str:
    return escape(style.short(name, _LONG, ends=True), quote=False)  # sigma_1, sigma_2 end apart


def _coverage(worst: Sequence[ParameterErrors], labels: Sequence[str], hidden: int) -> Drawn:
    rates = [errors.coverage for errors in worst]
    levels = [rate.level for rate in rates[0]]
    lowest = min(rate.covers.low for each in rates for rate in each)
    places = np.arange(len(worst), 0.0, -1.0)
    traces = []
    for j, level in enumerate(levels):
        # Levels stand a little above one another, so that whiskers do not hide each other.
        at = places + 0.2 * (1 - j)
        part = [each[j].covers for each in rates]
        hover = f"nominal {100 * level:g}%: true %{{x:.1%}}"
        symbol = _MARKS[j % len(_MARKS)]
        traces.append(_whiskers(np.array(part), at, hover=hover, symbol=symbol))
    notes = [
        {
            **style.note(f"{100 * level:g}%", level, 1, style.NULL, anchor="center"),
            "yref": "paper",
            "yanchor": "bottom",
        }
        for level in levels
    ]
    axis = style.Axis("share of truths covered", (min(0.4, lowest - 0.04), 1.01), percent=True)
    figure = _rows(
        traces,
        axis,
        labels,
        notes=notes,
        shapes=[style.vline(level, style.NULL, dash="dash", width=1) for level in levels],
    )
    more = f" {hidden} more parameters are in the table." if hidden else ""
    return Drawn(
        "True coverage of nominal intervals",
        figure,
        "Diamond, circle and square: how often q's central 50, 80 and 95% intervals hold the "
        "truth, with 95% intervals. If q were right, each mark's whisker would meet its own "
        f"dashed line in about 95 of 100 cases; left of it q is over-confident.{more}",
    )


def _misfit(worst: Sequence[ParameterErrors], labels: Sequence[str]) -> Drawn:
    places = np.arange(len(worst), 0.0, -1.0)
    biases = np.array([errors.bias for errors in worst])
    reach = max(0.2, 1.1 * float(np.nanmax(np.abs(biases), initial=0)))
    ratios = np.array([errors.ratio for errors in worst])
    finite = ratios[np.isfinite(ratios) & (ratios > 0)]
    wide = max(1.5, 1.1 * float(np.exp(np.abs(np.log(finite)).max(initial=0))))
    ratios = np.clip(ratios, 1 / wide, wide)
    right = _whiskers(ratios, places, hover="width / needed width: %{x:.2f}")
    left = _whiskers(biases, places, hover="bias: %{x:+.2f} posterior sd")
    ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20) if 1 / wide <= tick <= wide]
    if len(ticks) < 3:
        ticks = [0.7, 1, 1.4]
    second = style.Axis("width / needed", (1 / wide, wide), log=True, ticks=ticks)
    figure = _rows(
        [left, {**right, "xaxis": "x2"}],
        style.Axis("bias, posterior sd", (-reach, reach)),
        labels,
        shapes=[
            style.vline(0, style.NULL, dash="dash", width=1),
            {**style.vline(1, style.NULL, dash="dash", width=1), "xref": "x2"},
        ],
        extra={
            "xaxis2": {**second.layout(), "showgrid": False, "domain": [0.54, 1], "anchor": "y"}
        },
        domain=(0, 0.46),
    )
    return Drawn(
        "Bias and width",
        figure,
        "Left: how far q sits too high (right of the dashed line) or too low, in its own "
        "posterior sd. Right: q's width by the width it needs, below 1 over-confident, above 1 "
        "under-confident. If q were right, about 95 of 100 whiskers would cross the dashed lines.",
    )


def _contraction(worst: Sequence[ParameterErrors], labels: Sequence[str]) -> list[Drawn]:
    points = [
        (errors, name)
        for errors, name in zip(worst, labels, strict=True)
        if np.isfinite([errors.contraction.estimate, errors.z_mean, errors.z_sd]).all()
    ]
    if not points:
        return []
    x = np.array([errors.contraction.estimate for errors, _ in points])
    mean = np.array([errors.z_mean for errors, _ in points])
    sd = np.array([errors.z_sd for errors, _ in points])
    reach = max(2.0, 1.25 * float((np.abs(mean) + sd).max()))
    low = min(-0.05, float(x.min()) - 0.1)
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(x),
        "y": style.f4(mean),
        "marker": {"color": style.Q, "size": 9},
        "text": [name for _, name in points],
        "error_y": {
            "type": "data",
            "array": style.f4(sd),
            "color": style.Q,
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": "%{text}: contraction %{x:.2f}, mean z %{y:+.2f}<extra></extra>",
    }
    # Names stand where their dots are apart; those that would lie on another are left to hover.
    notes: list[style.Trace] = []
    occupied: list[float] = []
    by_place = sorted(zip(x, mean + sd, points, strict=True), key=lambda point: point[0])
    for place, top, (_, name) in by_place:
        if all(abs(place - other) > 0.2 * (1.05 - low) for other in occupied):
            occupied.append(float(place))
            edge = "right" if place > 0.8 else "left" if place < low + 0.2 else "center"
            tip = style.note(name, place, top, None, anchor=edge)
            notes.append({**tip, "yanchor": "bottom", "yshift": 3})
    figure = style.figure(
        [trace],
        x=style.Axis("contraction: 1 − posterior variance / prior variance", (low, 1.05)),
        y=style.Axis("z-score: mean ± sd", (-reach, reach)),
        shapes=[
            style.hband(-1, 1, 0.15),
            style.hline(0),
            style.vline(0, style.NULL, dash="dot"),
            style.vline(1, style.NULL, dash="dot"),
        ],
        notes=notes,
    )
    return [
        Drawn(
            "Contraction and z-score",
            figure,
            "Dot and whisker: mean and sd over simulations of (q's mean − truth) / q's sd. If q "
            "were right and near normal, dots would lie on the dashed line and whiskers fill the "
            "grey room. Left of contraction 0, q is wider than the prior; at 1 it is a point.",
        )
    ]


def _regions(curve: Array) -> Drawn:
    levels, share, low, high = curve
    figure = style.figure(
        [
            style.band(levels, np.clip(low, 0, 1), np.clip(high, 0, 1), style.NULL, 0.25),
            style.line([0, 1], [0, 1], style.NULL, dash="dash", width=1),
            style.line(levels, share, style.Q, hover="nominal %{x:.0%}: true %{y:.1%}"),
        ],
        x=style.Axis("nominal mass of the region", (0, 1), percent=True),
        y=style.Axis("share of truths covered", (0, 1), percent=True),
    )
    return Drawn(
        "Highest-density regions",
        figure,
        "If q were right, the curve would stay in the grey room as a whole in 95 of 100 tables. "
        "Below the dashed line q is over-confident, above it under-confident.",
    )


def _whole(
    nats: DensityDivergence | LearnedDivergence, estimate: LearnedDivergence | None
) -> list[Drawn]:
    """The symmetric divergence: by log densities where they are there, or by a classifier."""
    more = (
        f" {nats.beyond} more extreme ones stand in the bars at the ends." if nats.beyond else ""
    )
    title = "Symmetric divergence, simulation by simulation"
    if isinstance(nats, LearnedDivergence):
        terms = skl.terms(*nats.bars, nats.estimate, nats.boot_low, nats.boot_high)
        return [Drawn(title, terms, skl.LEARNT + more)]
    terms = skl.terms(*nats.bars, nats.estimate, nats.low, nats.high)
    null = skl.null(*nats.null, nats.estimate)
    pictures = [
        Drawn(title, terms, skl.TERMS + more),
        Drawn("The divergence against its null", null, skl.NULLS),
    ]
    if nats.weighted:
        unweighted = {"m": 1, "estimate": nats.estimate, "low": nats.low, "high": nats.high}
        left = skl.weighted([unweighted, *map(as_numbers, nats.weighted)])
        pictures.append(Drawn("What importance sampling leaves", left, skl.WEIGHTED))
    if estimate is not None:
        both = skl.compared(as_numbers(nats), as_numbers(estimate))
        pictures.append(Drawn("Beside a classifier's estimate", both, skl.COMPARED))
    return pictures


def _rows(
    traces: Sequence[style.Trace],
    axis: style.Axis,
    labels: Sequence[str],
    *,
    notes: Sequence[style.Trace] = (),
    shapes: Sequence[style.Trace] = (),
    extra: Mapping[str, Any] | None = None,
    domain: tuple[float, float] = (0, 1),
) -> go.Figure:
    """A row for each name, the first on top."""
    rows = len(labels)
    left = 22 + round(_LETTER * max(len(name) for name in labels))
    names = {
        "tickvals": list(range(rows, 0, -1)),
        "ticktext": list(labels),
        "tickmode": "array",
        "range": [0.45, rows + 0.55],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "ticks": "",
    }
    across = {**axis.layout(), "showgrid": False, "domain": list(domain), "nticks": 5}
    return style.figure(
        traces,
        x=axis,
        y=style.Axis("", (0.45, rows + 0.55)),
        height=84 + _ROW * max(rows, 2),
        notes=notes,
        shapes=shapes,
        extra={
            "xaxis": across,
            "yaxis": names,
            "margin": {"l": left, "r": 16, "t": 26, "b": 44},
            **(extra or {}),
        },
    )


def _whiskers(ends: Array, at: Array, *, hover: str, symbol: str = "circle") -> style.Trace:
    """Dots with horizontal intervals: estimate, low and high of each (P, 3)."""
    middle, low, high = ends.T
    return {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(middle),
        "y": style.f4(at),
        "marker": {"color": style.Q, "size": 7, "symbol": symbol},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": style.f4(high - middle),
            "arrayminus": style.f4(middle - low),
            "color": style.Q,
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": f"{hover}<extra></extra>",
    }
