"""What one test looks like: its ranks, its statistic on its null, how its score was learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Anchor,
    Axis,
    Band,
    Bars,
    Grid,
    HBand,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Picture,
    VLine,
    empty,
)
from validation_core.statistics.histograms import histogram, histogram_band
from validation_core.types import Array

if TYPE_CHECKING:
    import plotly.graph_objects as go


_NOTEBOOK_WIDTH = 640  # pixels


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture as a page, a report or a notebook shows it."""

    title: str
    picture: Picture
    caption: str
    """How to read it, and what it would look like if q were correct."""

    @cached_property
    def figure(self) -> go.Figure:
        """It as plotly draws it."""
        from validation_core.drawing import plotly

        return plotly.figure(self.picture)

    def _repr_svg_(self) -> str | None:
        """It as a notebook keeps it, without a script; several panels are for `figure` alone."""
        from validation_core.drawing.alt import describe_picture
        from validation_core.drawing.svg import svg

        if isinstance(self.picture, Grid):
            return None
        words = describe_picture(self.picture, self.title)
        return svg(self.picture, _NOTEBOOK_WIDTH, title=words, alone=True, paper="none")

    @property
    def wide(self) -> bool:
        """Whether panels stand side by side, so that it has a row to itself."""
        return isinstance(self.picture, Grid) and self.picture.columns > 1


def rank_histogram(
    u: Array,
    bins: int = 20,
    *,
    k: int | None = None,
    level: float = 0.95,
    words: tuple[str, str, str] = ("rank", "count", "if q = p"),
    height: int = style.HEIGHT,
) -> Panel:
    """Counts of ranks in [0, 1], over the grey band that all bins together keep to by chance.

    Args:
        k: where given, the axis shows the ranks 0 to k among k draws: all of them, seen or not.
        words: what lies along x and up y, and at the height that is expected.
    """
    if u.size == 0:
        return empty("No ranks yet", height=height)
    counts = histogram(u.ravel(), bins)
    ends, ticks = ((0.0, 1.0), None) if k is None else ((-0.5, k + 0.5), sorted({0, k // 2, k}))
    low, high = histogram_band(u.size, bins, level)
    along, up, expected = words
    hover = "rank %{x:.3f}: %{y}" if k is None else "rank %{x:.0f}: %{y}"
    return Panel(
        [
            HBand(low, high),
            Bars(np.linspace(*ends, bins + 1), counts, color=style.Q, opacity=0.6, hover=hover),
            HLine(u.size / bins, dash="dash", label=expected),
        ],
        x=Axis(ends, along, ticks=ticks),
        y=Axis((0, 1.12 * max(float(counts.max()), high)), up),
        height=height,
        margin=62,
    )


def ecdf_difference(
    u: Array, level: float = 0.95, *, points: int = 101, height: int = style.HEIGHT
) -> Panel:
    """F_n(u) - u, over the grey band it keeps to as a whole with this chance when q = p."""
    if u.size == 0:
        return empty("No ranks yet", height=height)
    grid = np.linspace(0, 1, points)
    difference = statistics.ecdf_difference(u, grid)
    low, high = statistics.ecdf_band(u.size, level, grid)
    reach = 1.15 * max(float(np.abs(difference).max()), float(high.max()), float(-low.min()))
    where = int(np.abs(difference).argmax())
    return Panel(
        [
            Band(grid, low, high, opacity=0.25),
            Line(grid, difference, color=style.Q, hover="u = %{x:.2f}: %{y:+.3f}"),
            HLine(0, dash="dash"),
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


def rank_figures(arrays: Mapping[str, Array]) -> list[Drawn]:
    """What conformal ranks show."""
    u = np.asarray(arrays.get("u", np.zeros(0)))
    return [
        Drawn(
            "Ranks",
            rank_histogram(u),
            "Each bar counts ranks; all bars together stay within the grey band in 95 of 100 "
            "tables if q is correct.",
        ),
        Drawn(
            "Distance from uniform",
            ecdf_difference(u),
            "The ECDF of the ranks less the diagonal; it stays within the grey band as a "
            "whole in 95 of 100 tables if q is correct.",
        ),
    ]


def rank_figures_of(u: Array, meaning: str) -> tuple[Drawn, ...]:
    """Ranks with what a heap of them means."""
    return (
        Drawn(
            "Ranks",
            rank_histogram(u),
            f"If q were correct, all bars would stay in the grey band. {meaning}",
        ),
        Drawn(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were correct, the line would stay in the grey band as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )


_NULL_BINS = 40


def permutation_histogram(
    values: Array, observed: float, label: str, *, hover: str, height: int = style.HEIGHT
) -> Panel:
    """Statistics (B,) of relabelled tables in grey, what was seen in red.

    Args:
        label: the statistic's name, for the axis.
        hover: what a bar says.
    """
    if values.size == 0 or not np.isfinite(observed):
        return empty("No permutations yet", height=height)
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
) -> Panel:
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
    return Panel(marks, x=x, y=Axis((0, top), label), height=height)


def beside(words: str, x: float, y: float, color: str, axis: Axis) -> Note:
    """Words beside a vertical line at x, on the roomier side."""
    right = x > sum(axis.limits) / 2
    side: Anchor = "end" if right else "start"
    return Note(x, y, words, color=color, anchor=side, shift=-6 if right else 6)


def statistic_on_null(
    observed: float, *, mean: float, sd: float, critical: float, label: str, height: int = 190
) -> Panel:
    """The normal null in grey, the critical value dashed, what was seen in red.

    Args:
        label: the statistic's name, for the axis.
    """
    if not np.isfinite(observed) or not sd > 0:
        return empty(f"No {label} yet", height=height)
    reach = max(4.2 * sd, 1.12 * abs(observed - mean))
    axis = Axis((mean - max(4.2 * sd, 1.12 * (mean - observed)), mean + reach), label)
    x = np.linspace(mean - 4.2 * sd, mean + 4.2 * sd, 121)
    density = np.exp(-(((x - mean) / sd) ** 2) / 2)
    return Panel(
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


_CHANCE = float(np.log(2))  # the loss of a classifier that knows nothing
_EPOCH = "epoch %{x}: "


def loss_curve(
    history: Mapping[str, Array] | Mapping[str, Sequence[float]], *, height: int = style.HEIGHT
) -> Picture:
    """Loss (0.693 is guessing) and held-out AUC (one half is guessing) against epochs.

    Args:
        history: arrays "epoch", "loss", "auc" of one length; "held_loss" where it was kept.
    """
    epoch = np.asarray(history.get("epoch", ()))
    if epoch.size == 0:
        return empty("Not trained yet", height=height)
    loss, auc = np.asarray(history["loss"]), np.asarray(history["auc"])
    held_out = np.asarray(history.get("held_loss", ()))
    losses: list[Mark] = [
        HLine(_CHANCE, dash="dot"),
        Line(epoch, loss, color=style.NULL, label="training loss", hover=_EPOCH + "loss %{y:.4f}"),
    ]
    if held_out.size:
        losses.append(Line(epoch, held_out, color=style.P, dash="dot", label="held-out loss"))
    label, hover = f"held-out AUC {auc[-1]:.3f}", _EPOCH + "AUC %{y:.4f}"
    learned = Line(epoch, auc, color=style.P, label=label, hover=hover)
    x = Axis((0.0, max(float(epoch[-1]), 1.0)), "epoch")
    loss_axis = Axis(style.padded(np.concatenate([loss, held_out, [_CHANCE]]), 0.08), "loss")
    auc_axis = Axis(style.padded(np.concatenate([auc, [0.5]]), 0.08), "AUC")
    half = height // 2 + 16
    return Grid(
        [
            Panel(losses, x=x, y=loss_axis, height=half, margin=128),
            Panel([HLine(0.5, dash="dot"), learned], x=x, y=auc_axis, height=half, margin=128),
        ],
        columns=1,
    )
