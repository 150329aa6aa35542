"""Figures of the CoLT paper that no other view has: trees, statistics and power side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from validation_core.drawing import live
from validation_core.drawing.marks import Axis, Heat, Mark, Panel
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.drawing.power_curves import (
    curve_keys,
    level_line,
    places_axis,
    rate_curve,
    rejection_axis,
)
from validation_core.localization import Maps
from validation_core.panels.colt.power import curve_style, distance_curve, distance_panel
from validation_core.panels.colt.theta import ThetaAxes, theta_panels
from validation_core.panels.gamma_scale import GammaScale
from validation_core.panels.power import FAINT, curves
from validation_core.text import share_text
from validation_core.types import MethodStyle, PowerCell


class PowerPanel(NamedTuple):
    """Rejection counts of one benchmark along its gammas, under a title."""

    title: str
    cells: Sequence[PowerCell]
    gammas: Sequence[float]


def power(panels: Sequence[PowerPanel], label: str) -> live.Payload:
    """Power of CoLT and its competitors, a panel for each benchmark.

    Args:
        panels: at least one.
        label: of the axis of gamma.
    """
    return live.payload(panels=[_power_panel(panel, label) for panel in panels])


def _power_panel(panel: PowerPanel, label: str) -> Panel:
    """One benchmark's curves, with the keys of those that it has."""
    marks: list[Mark] = [level_line(panel.cells[0].alpha)]
    looks: dict[str, MethodStyle] = {}
    for curve in curves(panel.cells, "gamma"):
        look = looks.setdefault(curve.label, curve_style(curve))
        marks += rate_curve(curve.x, curve.rates, look, opacity=FAINT)
    return Panel(
        marks,
        title=panel.title,
        height=270,
        x=places_axis(panel.gammas, label),
        y=rejection_axis(),
        legend=curve_keys(looks),
    )


def distances(
    series: Mapping[str, tuple[Sequence[float], Sequence[Maps]]], label: str
) -> live.Payload:
    """Distance of the ranks from uniform along gamma, a curve for each series.

    Args:
        series: gammas and a map at each, by name.
        label: of the axis of gamma.
    """
    lines = {
        name: distance_curve(list(zip(gammas, maps, strict=True)))
        for name, (gammas, maps) in series.items()
    }
    first = next(iter(lines.values()))
    panel = replace(
        distance_panel(lines, first.gamma.tolist(), GammaScale(axis=label)),
        caption=f"Each point on {first.n} fresh simulations, with 95% intervals, by one localizer "
        "for all points of a curve. If q were correct, each point would lie in the grey band in "
        "19 of 20 samples.",
    )
    return live.payload(panels=[panel], columns=1)


def trees(alphas: Sequence[float], maps: Sequence[Maps]) -> live.Payload:
    """The ball on the tree at each alpha."""
    panels = theta_panels(maps, ThetaAxes())
    drawn = [
        _tree(alpha, each, panel) for alpha, each, panel in zip(alphas, maps, panels, strict=True)
    ]
    return live.payload(panels=drawn, columns=3)


def _tree(alpha: float, tree: Maps, panel: Panel) -> Panel:
    """Panel of one tree with its ball, at an x of the upper tree."""
    at = int(np.argmax(tree.x_at[:, 0] >= 0))
    cloud = np.concatenate([tree.q[at], tree.truth[at]])
    low, high = np.quantile(cloud, [0.005, 0.995], axis=0) + np.array([[-0.06], [0.06]])
    share = float(tree.truth_inside[at].mean())
    still = freeze_sliders(panel, {"x": at})
    return replace(
        still,
        marks=[
            replace(mark, shades=replace(mark.shades, label=""))
            if isinstance(mark, Heat)
            else mark
            for mark in still.marks
        ],
        legend=(),
        x=Axis((low[0], high[0]), "θ₁"),
        y=Axis((low[1], high[1]), "θ₂"),
        title=f"alpha = {alpha:g}: q {float(tree.u_star):.0%}, truth {share_text(share)}",
    )
