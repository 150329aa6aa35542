"""A statistic on its null: the null in grey, the observed value in red."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Anchor,
    Axis,
    Band,
    Bars,
    Mark,
    Note,
    Number,
    Panel,
    VLine,
    Words,
    empty,
    values_and_sliders,
)
from validation_core.types import Array

_BINS = 40
_REACH = 4.2  # sds of a normal null to either side


def permutation_histogram(
    values: Array, observed: float, label: str, *, hover: str, height: int = style.HEIGHT
) -> Panel:
    """Plot the permutation null of a statistic, and the observed value.

    Args:
        values: statistics (B,) of relabelled tables.
        observed: the statistic of the table itself.
        label: the statistic's name, for the axis.
        hover: hover text of a bar.
        height: of the panel, in pixels.
    """
    if values.size == 0 or not np.isfinite(observed):
        return empty("No permutations yet", height=height)
    x = Axis(style.padded(np.append(values, observed)), label)
    counts, edges = np.histogram(values, _BINS, x.limits)
    return null_histogram(edges, counts, observed, x, "count", hover=hover, height=height)


def relabelling_histogram(values: Array, observed: float, label: str) -> Panel:
    """Plot the null of a statistic by relabelling with its 5% point, and the observed value.

    Args:
        values: statistics (B,) of relabelings.
        observed: the statistic of the labels as they are.
        label: the statistic's name, for the axis.
    """
    if values.size == 0 or not np.isfinite(observed):
        return empty("No relabelings yet")
    x = Axis(style.padded(np.append(values, observed)), label)
    counts, edges = np.histogram(values, _BINS)
    critical = float(np.quantile(values, 0.95))
    hover = "%{x:.3g}: %{y}"
    return null_histogram(
        edges, counts, observed, x, "relabelings", hover=hover, critical=critical
    )


def null_histogram(
    edges: Array,
    counts: Number,
    observed: Number,
    x: Axis,
    up: str,
    *,
    hover: str = "",
    critical: float | None = None,
    title: Words = "",
    caption: Words = "",
    height: int = style.HEIGHT,
) -> Panel:
    """Plot the counts of a null, possibly over sliders, and the observed value.

    Args:
        edges: of the bins (B + 1,).
        counts: in the bins (..., B).
        observed: the value that was seen; written beside its line where no slider moves it.
        x: the statistic's axis.
        up: name of the counts.
        hover: hover text of a bar.
        critical: a value to mark, dashed.
    """
    top = 1.25 * max(1.0, float(values_and_sliders(counts)[0].max()))
    marks: list[Mark] = [Bars(edges, counts, color=style.NULL, opacity=0.6, hover=hover)]
    if critical is not None:
        marks.append(VLine(critical, dash="dash"))
    marks += _seen(observed, 0.95 * top, x)
    y = Axis((0, top), up)
    return Panel(marks, x=x, y=y, title=title, caption=caption, height=height)


def statistic_on_null(
    observed: Number,
    *,
    mean: float,
    sd: float,
    critical: float,
    label: str,
    title: Words = "",
    caption: Words = "",
    height: int = 190,
) -> Panel:
    """Plot a statistic, possibly over sliders, on its normal null.

    Args:
        observed: the value that was seen.
        mean: of the null.
        sd: of the null.
        critical: where the test begins to reject, dashed.
        label: the statistic's name, for the axis.
    """
    seen = np.asarray(values_and_sliders(observed)[0], float)
    if not np.isfinite(seen).all() or not sd > 0:
        return empty(f"No {label} yet", height=height)
    x = mean + sd * np.linspace(-_REACH, _REACH, 121)
    limits = (
        float(min(x[0], mean - 1.12 * (mean - seen.min()))),
        float(max(x[-1], mean + 1.12 * (seen.max() - mean))),
    )
    axis = Axis(limits, label)
    return Panel(
        [
            Band(x, 0 * x, np.exp(-(((x - mean) / sd) ** 2) / 2), opacity=0.35),
            VLine(critical, dash="dash"),
            *_seen(observed, 1.02, axis),
            Note(mean, 0.42, "if q = p", anchor="middle"),
            beside(f"rejects beyond {critical:.3g}", critical, 1.22, style.NULL, axis),
        ],
        x=axis,
        y=Axis((0, 1.3), hidden=True),
        title=title,
        caption=caption,
        height=height,
    )


def drawn_on_normal_null(
    observed: float,
    alpha: float,
    names: tuple[str, str],
    reading: str,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
) -> tuple[Drawn, ...]:
    """A statistic on its normal null, with the level at which its test rejects by itself.

    Args:
        observed: the value that was seen.
        alpha: level of the test.
        names: of the picture, and of its axis.
        reading: how to read it, and its form if q is correct.
        mean: of the null.
        sd: of the null.
    """
    title, label = names
    critical = mean + ndtri(1 - alpha) * sd
    figure = statistic_on_null(observed, mean=mean, sd=sd, critical=critical, label=label)
    return (Drawn(title, figure, f"{reading} Dashed: this test's own level, uncorrected."),)


def _seen(observed: Number, y: float, x: Axis) -> list[Mark]:
    """A red line at the observed value, with its number where no slider moves it."""
    value, sliders = values_and_sliders(observed)
    if sliders:
        return [VLine(observed, color=style.OBSERVED, width=2.5, label="seen")]
    line = VLine(observed, color=style.OBSERVED, width=2.5)
    return [line, beside(f"seen {float(value):.3g}", float(value), y, style.OBSERVED, x)]


def beside(words: str, x: float, y: float, color: str, axis: Axis) -> Note:
    """Text beside a vertical line at x, on the side with more room."""
    right = x > sum(axis.limits) / 2
    side: Anchor = "end" if right else "start"
    return Note(x, y, words, color=color, anchor=side, shift=-6 if right else 6)
