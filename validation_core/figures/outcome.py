"""What one test looks like: its ranks, its statistic on its null, how its score was learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from validation_core import statistics
from validation_core.figures import plotly, style
from validation_core.figures.marks import (
    Anchor,
    Axis,
    Band,
    Bars,
    Line,
    Mark,
    Note,
    Panel,
    VLine,
    _HBand,
    _HLine,
)
from validation_core.statistics.curves import histogram, histogram_band
from validation_core.types import Array


class Drawn(NamedTuple):
    """A figure as a page shows it."""

    title: str
    figure: go.Figure
    caption: str
    """How to read it, and what it would look like if q were right."""


def rank_histogram(
    u: Array,
    bins: int = 20,
    *,
    k: int | None = None,
    level: float = 0.95,
    height: int = style.HEIGHT,
) -> go.Figure:
    """Counts of ranks in [0, 1], over the grey room that all bins together keep to by chance.

    Args:
        k: where given, the axis shows the ranks 0 to k among k draws: all of them, seen or not.
    """
    if u.size == 0:
        return style.empty("No ranks yet", height=height)
    counts = histogram(u.ravel(), bins)
    ends, ticks = ((0.0, 1.0), None) if k is None else ((-0.5, k + 0.5), sorted({0, k // 2, k}))
    low, high = histogram_band(u.size, bins, level)
    hover = "rank %{x:.3f}: %{y}" if k is None else "rank %{x:.0f}: %{y}"
    panel = Panel(
        [
            _HBand(low, high),
            Bars(np.linspace(*ends, bins + 1), counts, color=style.Q, opacity=0.6, hover=hover),
            _HLine(u.size / bins, dash="dash", label="if q = p"),
        ],
        x=Axis(ends, "rank", ticks=ticks),
        y=Axis((0, 1.12 * max(float(counts.max()), high)), "count"),
        height=height,
        margin=62,
    )
    return plotly.figure(panel)


def ecdf_difference(
    u: Array, level: float = 0.95, *, points: int = 101, height: int = style.HEIGHT
) -> go.Figure:
    """F_n(u) - u, over the grey room it keeps to as a whole with this chance when q = p."""
    if u.size == 0:
        return style.empty("No ranks yet", height=height)
    grid = np.linspace(0, 1, points)
    difference = statistics.ecdf_difference(u, grid)
    low, high = statistics.ecdf_band(u.size, level, grid)
    reach = 1.15 * max(float(np.abs(difference).max()), float(high.max()), float(-low.min()))
    where = int(np.abs(difference).argmax())
    panel = Panel(
        [
            Band(grid, low, high, opacity=0.25),
            Line(grid, difference, color=style.Q, hover="u = %{x:.2f}: %{y:+.3f}"),
            _HLine(0, dash="dash"),
            Note(
                grid[where],
                difference[where],
                f"{difference[where]:+.3f}",
                color=style.Q,
                anchor="middle",
                rise=10 * int(np.sign(difference[where])),
            ),
        ],
        x=Axis((0, 1), "u"),
        y=Axis((-reach, reach), "F(u) − u"),
        height=height,
    )
    return plotly.figure(panel)


def rank_figures(arrays: Mapping[str, Array]) -> list[Drawn]:
    """What conformal ranks show."""
    u = np.asarray(arrays.get("u", np.zeros(0)))
    return [
        Drawn(
            "Ranks",
            rank_histogram(u),
            "Each bar counts ranks; all bars together stay within the grey room in 95 of 100 "
            "tables if q is right.",
        ),
        Drawn(
            "Distance from uniform",
            ecdf_difference(u),
            "The ECDF of the ranks less the diagonal; it stays within the grey room as a whole in "
            "95 of 100 tables if q is right.",
        ),
    ]


def rank_figures_of(u: Array, meaning: str) -> tuple[Drawn, ...]:
    """Ranks with what a heap of them means."""
    return (
        Drawn(
            "Ranks",
            rank_histogram(u),
            f"If q were right, all bars would stay in the grey room. {meaning}",
        ),
        Drawn(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were right, the line would stay in the grey room as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )


_NULL_BINS = 40


def on_relabellings(
    values: Array, observed: float, label: str, *, hover: str, height: int = style.HEIGHT
) -> go.Figure:
    """Statistics (B,) of relabelled tables in grey, what was seen in red.

    Args:
        label: the statistic's name, for the axis.
        hover: what a bar says.
    """
    if values.size == 0 or not np.isfinite(observed):
        return style.empty("No permutations yet", height=height)
    x = Axis(style.padded(np.append(values, observed)), label)
    counts, edges = np.histogram(values, _NULL_BINS, x.limits)
    return null_histogram(edges, counts, observed, x, "count", hover=hover, height=height)


def null_histogram(
    edges: Array,
    counts: Array,
    observed: float,
    x: Axis,
    label: str,
    *,
    hover: str,
    critical: float | None = None,
    height: int = style.HEIGHT,
) -> go.Figure:
    """A histogram of what chance gives in grey, what was seen in red.

    Args:
        label: what is counted.
        hover: what a bar says.
        critical: a value to mark, dashed.
    """
    top = 1.25 * max(1.0, float(counts.max()))
    marks: list[Mark] = [Bars(edges, counts, color=style.NULL, opacity=0.6, hover=hover)]
    if critical is not None:
        marks.append(VLine(critical, dash="dash"))
    marks += [
        VLine(observed, color=style.OBSERVED, width=2.5),
        beside(f"seen {observed:.3g}", observed, 0.95 * top, style.OBSERVED, x),
    ]
    return plotly.figure(Panel(marks, x=x, y=Axis((0, top), label), height=height))


def beside(words: str, x: float, y: float, color: str, axis: Axis) -> Note:
    """Words beside a vertical line at x, on the roomier side."""
    right = x > sum(axis.limits) / 2
    side: Anchor = "end" if right else "start"
    return Note(x, y, words, color=color, anchor=side, shift=-6 if right else 6)


def on_null(
    observed: float, *, mean: float, sd: float, critical: float, label: str, height: int = 190
) -> go.Figure:
    """The normal null in grey, the critical value dashed, what was seen in red.

    Args:
        label: the statistic's name, for the axis.
    """
    if not np.isfinite(observed) or not sd > 0:
        return style.empty(f"No {label} yet", height=height)
    reach = max(4.2 * sd, 1.12 * abs(observed - mean))
    axis = Axis((mean - max(4.2 * sd, 1.12 * (mean - observed)), mean + reach), label)
    x = np.linspace(mean - 4.2 * sd, mean + 4.2 * sd, 121)
    density = np.exp(-(((x - mean) / sd) ** 2) / 2)
    panel = Panel(
        [
            Band(x, 0 * x, density, opacity=0.35),
            VLine(critical, dash="dash"),
            VLine(observed, color=style.OBSERVED, width=2.5),
            Note(mean, 0.42, "if q = p", anchor="middle"),
            beside(f"seen {observed:.3g}", observed, 1.02, style.OBSERVED, axis),
            beside(f"rejects beyond {critical:.3g}", critical, 1.22, style.NULL, axis),
        ],
        x=axis,
        y=Axis((0, 1.3), hidden=True),
        height=height,
    )
    return plotly.figure(panel)


_CHANCE = float(np.log(2))  # the loss of a classifier that knows nothing


def loss_curve(
    history: Mapping[str, Array] | Mapping[str, Sequence[float]], *, height: int = style.HEIGHT
) -> go.Figure:
    """Loss (0.693 is guessing) and held-out AUC (one half is guessing) against epochs.

    Args:
        history: arrays "epoch", "loss", "auc" of one length; "held_loss" where it was kept.
    """
    epoch = np.asarray(history.get("epoch", ()))
    if epoch.size == 0:
        return style.empty("Not trained yet", height=height)
    loss, auc = np.asarray(history["loss"]), np.asarray(history["auc"])
    held_out = np.asarray(history.get("held_loss", ()))
    low, high = style.padded(np.concatenate([loss, held_out, [_CHANCE]]), 0.08)
    area = style.padded(np.concatenate([auc, [0.5]]), 0.08)
    x = style.PlotAxis("epoch", (0.0, max(float(epoch[-1]), 1.0)))
    below = {"xaxis": "x", "yaxis": "y2"}
    traces = [
        style.line(epoch, loss, style.NULL, hover="epoch %{x}: loss %{y:.4f}"),
        {**style.line(epoch, auc, style.P, hover="epoch %{x}: AUC %{y:.4f}"), **below},
    ]
    notes = [
        style.note("training loss", epoch[-1], loss[-1], style.NULL, shift=6),
        {
            **style.note(f"held-out AUC {auc[-1]:.3f}", epoch[-1], auc[-1], style.P, shift=6),
            "yref": "y2",
        },
    ]
    if held_out.size:
        traces.append(style.line(epoch, held_out, style.P, dash="dot"))
        notes[0]["yshift"] = -8
        notes.append(
            {**style.note("held-out loss", epoch[-1], held_out[-1], style.P, shift=6), "yshift": 8}
        )
    return style.figure(
        traces,
        x=x,
        y=style.PlotAxis("loss", (low, high)),
        height=height,
        right=128,
        notes=notes,
        extra={
            "xaxis": {**x.layout(), "showgrid": False, "anchor": "y2"},
            "yaxis": {**style.PlotAxis("loss", (low, high)).layout(), "domain": [0.56, 1]},
            "yaxis2": {**style.PlotAxis("AUC", area).layout(), "domain": [0, 0.44]},
        },
        shapes=[
            {**style.hline(_CHANCE, dash="dot"), "yref": "y"},
            {**style.hline(0.5, dash="dot"), "yref": "y2"},
        ],
    )
