"""How wrong q is, drawn: coverage, bias and width of the worst parameters, and of the whole.

Names come from the user and are escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from validation_core.answers.base import Found, called
from validation_core.figures import skl, style
from validation_core.figures.outcome import Drawn
from validation_core.types import Array

SHOWN = 6
"""Parameters that are drawn; the table has them all."""

_ROW = 40  # pixels high
_LONG = 14  # letters of a name that fit beside a row on a narrow screen
_LETTER = 7.5  # pixels wide
_MARKS = ("diamond", "circle", "square")

Numbers = Mapping[str, Any]


def drawn(found: Found, names: Sequence[str]) -> tuple[Drawn, ...]:
    """What there is to see of these sizes: at most the six worst parameters, then the whole."""
    worst = list(found.plain.get("parameters", ()))[:SHOWN]
    pictures: list[Drawn] = []
    if worst:
        called = [_short(one, names) for one in worst]
        hidden = len(found.plain["parameters"]) - len(worst)
        pictures = [_coverage(worst, called, hidden), _misfit(worst, called)]
        pictures += _contraction(worst, called)
    if "regions" in found.arrays:
        pictures.append(_regions(found.arrays["regions"]))
    if found.plain.get("divergence") and "d_counts" in found.arrays:
        pictures += _whole(found.arrays, found.plain)
    return tuple(pictures)


def _short(one: Numbers, names: Sequence[str]) -> str:
    name = called(names, int(one["index"]))
    return escape(style.short(name, _LONG, ends=True), quote=False)  # sigma_1, sigma_2 end apart


def _coverage(worst: Sequence[Numbers], called: Sequence[str], hidden: int) -> Drawn:
    rates = [one["coverage"] for one in worst]
    levels = [rate["level"] for rate in rates[0]]
    lowest = min(rate["covers_low"] for each in rates for rate in each)
    places = np.arange(len(worst), 0.0, -1.0)
    traces = []
    for j, level in enumerate(levels):
        # Levels stand a little above one another, so that whiskers do not hide each other.
        at = places + 0.2 * (1 - j)
        part = [each[j] for each in rates]
        part = [
            [each[j][end] for end in ("covers", "covers_low", "covers_high")] for each in rates
        ]
        hover = f"nominal {100 * level:g}%: true %{{x:.1%}}"
        symbol = _MARKS[j % len(_MARKS)]
        traces.append(_whiskers(np.array(part), at, hover=hover, symbol=symbol))
    notes = [
        {**style.note(f"{100 * level:g}%", level, 1, style.NULL, anchor="center"),
         "yref": "paper", "yanchor": "bottom"}
        for level in levels
    ]  # fmt: skip
    axis = style.Axis("share of truths covered", (min(0.4, lowest - 0.04), 1.01), percent=True)
    figure = _rows(
        traces, axis, called, notes=notes,
        shapes=[style.upright(level, style.NULL, dash="dash", width=1) for level in levels],
    )  # fmt: skip
    more = f" {hidden} more parameters are in the table." if hidden else ""
    return Drawn(
        "True coverage of nominal intervals",
        figure,
        "Diamond, circle and square: how often q's central 50, 80 and 95% intervals hold the "
        "truth, with 95% intervals. If q were right, each mark's whisker would meet its own "
        f"dashed line in about 95 of 100 cases; left of it q is over-confident.{more}",
    )


def _misfit(worst: Sequence[Numbers], called: Sequence[str]) -> Drawn:
    places = np.arange(len(worst), 0.0, -1.0)
    biases = _ends(worst, "bias")
    reach = max(0.2, 1.1 * float(np.nanmax(np.abs(biases), initial=0)))
    ratios = _ends(worst, "ratio")
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
        called,
        shapes=[
            style.upright(0, style.NULL, dash="dash", width=1),
            {**style.upright(1, style.NULL, dash="dash", width=1), "xref": "x2"},
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


def _ends(worst: Sequence[Numbers], name: str) -> Array:
    """Estimate and both ends of each parameter: (P, 3), NaN where there is none."""
    keys = (name, f"{name}_low", f"{name}_high")
    return np.array([[np.nan if one[key] is None else one[key] for key in keys] for one in worst])


def _contraction(worst: Sequence[Numbers], called: Sequence[str]) -> list[Drawn]:
    told = [(one, name) for one, name in zip(worst, called, strict=True)
            if None not in (one["contraction"], one["z_mean"], one["z_sd"])]  # fmt: skip
    if not told:
        return []
    x = np.array([one["contraction"] for one, _ in told])
    mean, sd = (np.array([one[key] for one, _ in told]) for key in ("z_mean", "z_sd"))
    reach = max(2.0, 1.25 * float((np.abs(mean) + sd).max()))
    low = min(-0.05, float(x.min()) - 0.1)
    trace = {
        "type": "scatter", "mode": "markers", "x": style.f4(x), "y": style.f4(mean),
        "marker": {"color": style.Q, "size": 9}, "text": [name for _, name in told],
        "error_y": {"type": "data", "array": style.f4(sd), "color": style.Q, "thickness": 1.5,
                    "width": 4},
        "hovertemplate": "%{text}: contraction %{x:.2f}, mean z %{y:+.2f}<extra></extra>",
    }  # fmt: skip
    # Names stand where their dots are apart; those that would lie on another are left to hover.
    notes: list[style.Trace] = []
    taken: list[float] = []
    for place, top, (_, name) in sorted(
        zip(x, mean + sd, told, strict=True), key=lambda one: one[0]
    ):
        if all(abs(place - other) > 0.2 * (1.05 - low) for other in taken):
            taken.append(float(place))
            edge = "right" if place > 0.8 else "left" if place < low + 0.2 else "center"
            tip = style.note(name, place, top, None, anchor=edge)
            notes.append({**tip, "yanchor": "bottom", "yshift": 3})
    figure = style.figure(
        [trace],
        x=style.Axis("contraction: 1 − posterior variance / prior variance", (low, 1.05)),
        y=style.Axis("z-score: mean ± sd", (-reach, reach)),
        shapes=[style.room(-1, 1, 0.15), style.level(0), style.upright(0, style.NULL, dash="dot"),
                style.upright(1, style.NULL, dash="dot")],
        notes=notes,
    )  # fmt: skip
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
            style.area(levels, np.clip(low, 0, 1), np.clip(high, 0, 1), style.NULL, 0.25),
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


def _whole(arrays: Mapping[str, Array], plain: Numbers) -> list[Drawn]:
    """The symmetric divergence: by log densities where they are there, or by a classifier."""
    nats = plain["divergence"]
    ends = nats["beyond"]
    more = f" {ends} more extreme ones stand in the bars at the ends." if ends else ""
    learned = nats["source"] == "classifier"
    interval = ("boot_low", "boot_high") if learned else ("low", "high")
    figure = skl.terms(
        arrays["d_edges"], arrays["d_counts"], nats["estimate"], *(nats[end] for end in interval)
    )
    caption = skl.LEARNT if learned else skl.TERMS
    pictures = [Drawn("Symmetric divergence, simulation by simulation", figure, caption + more)]
    if "d_null_counts" in arrays:
        figure = skl.null(arrays["d_null_edges"], arrays["d_null_counts"], nats["estimate"])
        pictures.append(Drawn("The divergence against its null", figure, skl.NULLS))
    if weighed := nats.get("weighted"):
        one = {"m": 1, **{name: nats[name] for name in ("estimate", "low", "high")}}
        pictures.append(
            Drawn("What importance sampling leaves", skl.weighted([one, *weighed]), skl.WEIGHTED)
        )
    if estimate := plain.get("estimate"):
        pictures.append(
            Drawn("Beside a classifier's estimate", skl.compared(nats, estimate), skl.COMPARED)
        )
    return pictures


def _rows(
    traces: Sequence[style.Trace],
    axis: style.Axis,
    called: Sequence[str],
    *,
    notes: Sequence[style.Trace] = (),
    shapes: Sequence[style.Trace] = (),
    extra: Mapping[str, Any] | None = None,
    domain: tuple[float, float] = (0, 1),
) -> go.Figure:
    """A row for each name, the first on top."""
    rows = len(called)
    left = 22 + round(_LETTER * max(len(name) for name in called))
    names = {
        "tickvals": list(range(rows, 0, -1)), "ticktext": list(called), "tickmode": "array",
        "range": [0.45, rows + 0.55], "showgrid": False, "zeroline": False, "fixedrange": True,
        "ticks": "",
    }  # fmt: skip
    across = {**axis.layout(), "showgrid": False, "domain": list(domain), "nticks": 5}
    return style.figure(
        traces, x=axis, y=style.Axis("", (0.45, rows + 0.55)), height=84 + _ROW * max(rows, 2),
        notes=notes, shapes=shapes,
        extra={"xaxis": across, "yaxis": names, "margin": {"l": left, "r": 16, "t": 26, "b": 44},
               **(extra or {})},
    )  # fmt: skip


def _whiskers(ends: Array, at: Array, *, hover: str, symbol: str = "circle") -> style.Trace:
    """Dots with horizontal intervals: estimate, low and high of each (P, 3)."""
    middle, low, high = ends.T
    return {
        "type": "scatter", "mode": "markers", "x": style.f4(middle), "y": style.f4(at),
        "marker": {"color": style.Q, "size": 7, "symbol": symbol},
        "error_x": {"type": "data", "symmetric": False, "array": style.f4(high - middle),
                    "arrayminus": style.f4(middle - low), "color": style.Q, "thickness": 1.5,
                    "width": 4},
        "hovertemplate": f"{hover}<extra></extra>",
    }  # fmt: skip
