"""Power of CoLT along gamma, beside its competitors and the untrained localizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import kstwo

from validation_core import statistics
from validation_core.drawing import live, style
from validation_core.drawing.ecdf_difference import counted_difference
from validation_core.drawing.marks import (
    Axis,
    HBand,
    Line,
    Mark,
    Note,
    Number,
    Panel,
    Points,
    VLine,
    over,
)
from validation_core.drawing.over_sliders import join_over
from validation_core.drawing.power_curves import (
    curve_keys,
    level_line,
    method_look,
    places_axis,
    rate_curve,
    rejection_axis,
)
from validation_core.drawing.rank_histogram import rank_counts
from validation_core.localization import Maps
from validation_core.panels.colt.theta import ANOTHER_SEED, gamma_slider
from validation_core.panels.gamma_scale import STRENGTH, GammaScale
from validation_core.panels.power import PowerCurve, by_network, curves, level_said, trials_text
from validation_core.sweep.rates import rate_interval
from validation_core.sweep.trials import TrialDesign
from validation_core.text import by_chance_text, interval_text, level_text, said_equals, share_text
from validation_core.types import Array, Benchmark, MethodStyle, PowerCell

UNTRAINED = "CoLT untrained"

_COLT_STYLE = style.method_style("colt")

# One family of colours, a dash and a symbol of their own.
_EMBEDDINGS = {
    "fourier": MethodStyle(_COLT_STYLE.color, "", "circle"),
    "identity": MethodStyle("#9A62C7", "7 5", "square"),
    "residual": MethodStyle("#5C82D6", "3 3", "diamond"),
    "mlp": MethodStyle("#B0579A", "9 3 2 3", "triangle"),
}


def named(cells: Sequence[PowerCell]) -> list[PowerCell]:
    """Cells with their curves' names: a localizer at beta = 1 is untrained."""
    return [
        replace(cell, label=UNTRAINED) if cell.beta == 1 and cell.method == "colt" else cell
        for cell in cells
    ]


def power(
    cells: Sequence[PowerCell], benchmark: Benchmark, design: TrialDesign, start: float
) -> live.Payload:
    """Power of CoLT and its competitors against gamma, a curve for each test.

    Args:
        cells: rejection counts.
        benchmark: source of the draws.
        design: number and size of the trials.
        start: initial gamma of the slider.
    """
    gammas = benchmark.gammas
    several = len(gammas) > 1
    scale = GammaScale.of(benchmark)
    places = scale.places(gammas)
    cursor = VLine(over(places, "gamma") if several else float(places[0]))
    marks: list[Mark] = [level_line(design.alpha), cursor]
    looks: dict[str, MethodStyle] = {}
    for curve in curves(cells, "gamma"):
        label = curve.label.split(" paper")[0] if curve.method == "colt" else curve.label
        looks[label] = curve_style(curve)
        marks += rate_curve(scale.places(curve.x), curve.rates, looks[label])
    panel = Panel(
        marks,
        height=340,
        legend=curve_keys(looks),
        x=places_axis(gammas, scale.axis, at=places),
        y=rejection_axis(),
        caption=f"{trials_text(cells)} A trial is a table of {design.n:,} simulations with "
        f"{design.k} draws of q each; C2ST learns from one such table and is tested on as many "
        "draws of p and of q as there are simulations. The grey curve is the localizer before "
        f"training: what lies above it was learnt. {level_said(design.alpha)}",
    )
    return live.payload(
        sliders=gamma_slider(gammas, start, scale),
        panels=[panel],
        columns=1,
        headline=join_over(
            "gamma", [_answer(cells, gamma, benchmark, design.alpha) for gamma in gammas]
        ),
    )


def _answer(cells: Sequence[PowerCell], gamma: float, benchmark: Benchmark, alpha: float) -> str:
    """Tests that reject q at this gamma, the most powerful first, in words."""
    here = sorted((c for c in cells if c.gamma == gamma), key=lambda c: (-c.rate, c.label))
    shares = ", ".join(f"{c.label} in {share_text(c.rate)}" for c in here)
    if not here:
        return ""
    if benchmark.is_exact(gamma):
        return (
            f"At {benchmark.place(gamma)} q is correct. It is rejected by {shares} of tables, "
            f"where the level is {level_text(alpha)}."
        )
    return f"At {benchmark.place(gamma)}, q is rejected by {shares} of tables."


def curve_style(curve: PowerCurve) -> MethodStyle:
    """Colour, dash and symbol of a curve."""
    if curve.label == UNTRAINED:
        return MethodStyle(style.NULL, "2 3", "circle")
    if curve.method == "colt":
        return _EMBEDDINGS[curve.label.split()[1]]
    return method_look(curve.method)


def table(cells: Sequence[PowerCell]) -> pd.DataFrame:
    """Table of the counts behind the curves; power by each network where there are several."""
    several = any(cell.networks for cell in cells)
    return pd.DataFrame(
        {
            "Test": c.label,
            "gamma": c.gamma,
            "Rejected": c.rejections,
            "Trials": c.trials,
            "Power": c.rate,
            **({"By network": by_network(c)} if several else {}),
            "95% from": rate_interval(c).low,
            "to": rate_interval(c).high,
            "Mean statistic": c.statistic,
        }
        for c in cells
    ).sort_values(["Test", "gamma"])


BINS = 20

_POINTS = np.linspace(0, 1, 101)

_COLOR = style.method_style("colt").color


def ranks(
    maps: Sequence[Maps],
    alpha: float,
    gammas: Sequence[float],
    start: float,
    correct: Sequence[bool] = (),
    scale: GammaScale = STRENGTH,
) -> live.Payload:
    """Histogram and ECDF of the ranks at each gamma, with their distance from uniform along it.

    Args:
        maps: one for each gamma.
        alpha: the level.
        gammas: of the slider; there is none for one.
        start: its initial value.
        correct: whether q is correct, at each gamma; unknown by default.
        scale: of the gammas.
    """
    several = len(gammas) > 1
    known = correct or [False] * len(maps)
    return live.payload(
        sliders=gamma_slider(gammas, start, scale),
        headline=join_over(
            "gamma", [_uniform(*each, alpha) for each in zip(maps, known, strict=True)]
        ),
        panels=[
            join_over("gamma", [_histogram(each) for each in maps]),
            join_over("gamma", [_difference(each) for each in maps]),
            *([_along_gamma(maps, gammas, scale)] if several else []),
        ],
    )


def _uniform(maps: Maps, correct: bool, alpha: float) -> str:
    """The test's answer in words."""
    at, low, high = (float(value) for value in maps.distance)
    p = said_equals(float(maps.pvalue))
    conclusion = "are not uniform" if maps.pvalue <= alpha else "give no evidence against q"
    size = f"their distance from uniform is {interval_text((at, low, high), '.3f')}"
    if correct and maps.pvalue <= alpha:
        chance = by_chance_text(alpha, ANOTHER_SEED)
        return f"True values' ranks have KS p-value {p}; {size}. {chance}"
    return (
        f"True values' ranks {conclusion} at level {level_text(alpha)} (KS p-value {p}): {size}."
    )


def _histogram(maps: Maps) -> Panel:
    return rank_counts(
        statistics.histogram(maps.u_quote, BINS),
        len(maps.u_quote),
        Axis((0, 1), "rank U: low where the true value lies near the centre"),
        "simulations",
        color=_COLOR,
        title="Ranks of true values among q's draws",
    )


def _difference(maps: Maps) -> Panel:
    panel = counted_difference(
        _POINTS,
        statistics.ecdf_difference(maps.u_quote, _POINTS),
        len(maps.u_quote),
        "p's mass in it, less u",
        color=_COLOR,
        title="p's mass less q's, region by region",
    )
    u, inside = float(maps.u_star), float(maps.inside)
    foot = 0.9 * panel.y.limits[0]
    right = u < 0.7
    return replace(
        panel,
        x=Axis((0, 1), "q's mass in the region, u"),
        marks=[
            *panel.marks,
            VLine(u, color=_COLOR, dash="4 3", width=1.2),
            Points(
                [u],
                [inside - u],
                low=[float(maps.inside_low) - u],
                high=[float(maps.inside_high) - u],
                color=_COLOR,
                size=8,
            ),
            Note(
                u + (0.015 if right else -0.015),
                foot,
                f"the region, u = {u:.2f}",
                color=_COLOR,
                anchor="start" if right else "end",
            ),
        ],
    )


def _along_gamma(maps: Sequence[Maps], gammas: Sequence[float], scale: GammaScale) -> Panel:
    """Panel of the distance at every gamma, where a press moves the slider."""
    curve = distance_curve(list(zip(gammas, maps, strict=True)))
    panel = distance_panel({"": curve}, gammas, scale, over(scale.places(gammas), "gamma"))
    places = np.stack([scale.places(curve.gamma), curve.distance], axis=1)
    return replace(
        panel,
        title=f"Distance from uniform along {'gamma' if scale == STRENGTH else scale.axis}",
        caption=f"Each on {curve.n} fresh simulations, with 95% intervals, by one localizer for "
        "all. If q were correct, each point would lie in the grey band in 19 of 20 samples.",
        click="gamma",
        at=places,
    )


class DistanceCurve(NamedTuple):
    """Distances with their 95% intervals along gamma: (G,) each."""

    gamma: Array
    distance: Array
    low: Array
    high: Array
    n: int
    """Fresh simulations behind each."""


def distance_curve(maps: Sequence[tuple[float, Maps]]) -> DistanceCurve:
    """Curve of distances of maps, at one gamma or more."""
    rising = sorted(maps, key=lambda pair: pair[0])
    at, low, high = np.stack([localization.distance for _, localization in rising]).T
    gammas = np.array([gamma for gamma, _ in rising])
    return DistanceCurve(gammas, at, low, high, len(rising[0][1].u_quote))


_SERIES = ((_COLOR, "", "circle"), (style.OBSERVED, "7 5", "square"))


def distance_panel(
    curves: Mapping[str, DistanceCurve],
    gammas: Sequence[float],
    scale: GammaScale,
    now: Number | None = None,
) -> Panel:
    """Panel of the distance of the ranks from uniform along gamma, a curve for each series.

    Args:
        curves: by name; at least one.
        gammas: ticks of the axis.
        scale: of the axis.
        now: the place of a gamma to mark.
    """
    n = max(curve.n for curve in curves.values())
    chance = float(kstwo.isf(0.05, n))
    marks: list[Mark] = [HBand(0, chance)]
    if now is not None:
        marks.append(VLine(now, width=1))
    for (name, curve), (color, dash, symbol) in zip(curves.items(), _SERIES, strict=False):
        marks += [
            Line(scale.places(curve.gamma), curve.distance, color=color, dash=dash, label=name),
            Points(
                scale.places(curve.gamma),
                curve.distance,
                low=curve.low,
                high=curve.high,
                color=color,
                size=7,
                symbol=symbol,
            ),
        ]
    top = max(float(curve.high.max()) for curve in curves.values())
    return Panel(
        marks,
        height=260,
        margin=128 if any(curves) else 0,
        x=places_axis(gammas, scale.axis, at=scale.places(gammas)),
        y=Axis((0, 1.08 * max(top, chance)), "KS distance of the ranks"),
    )
