"""High dimensions: what the page shows of spheres, images and lenses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core import statistics
from validation_core.drawing import live
from validation_core.drawing.marks import Key, Line, Mark, Over, Points, over, written
from validation_core.drawing.style import method_style
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.methods.base import Method
from validation_core.types import Array, Score

LEVEL = 0.05
BETAS = (0.0, 0.95)
"""Degradations of the paper: as trained, and nearly the random start."""
METHODS: tuple[Method, ...] = (C2ST(), Multiple(), Uniform(m=20))
"""What the paper compares on images, Uniform at the largest of its m."""


# ---- How often methods reject, as curves and in a sentence: what several systems draw alike ----


def rejections(
    methods: Sequence[Method], rates: Array, *sliders: str
) -> tuple[str, dict[str, Over]]:
    """A part of a sentence that names each method's rate, and its {parts} over the sliders.

    Args:
        rates: (methods, ...), the sliders' axes in their order.
    """
    names = ", ".join(f"{method.label} in {{power{i}}}" for i, method in enumerate(methods))
    percents = (over(written(rate, "{:.0%}".format), *sliders) for rate in rates)
    return names, {f"power{i}": part for i, part in enumerate(percents)}


def rate_curves(
    methods: Sequence[Method],
    grid: Array,
    rejections: ArrayLike,
    trials: int,
    slider: str,
    lines: Array | None = None,
) -> tuple[list[Mark], list[Key]]:
    """Rates with 95% Wilson intervals along a grid while a slider moves, and their legend.

    Args:
        rejections: (methods, slider's values, grid) of the trials.
        lines: what lines show, of that shape: the rates themselves otherwise.
    """
    marks: list[Mark] = []
    legend: list[Key] = []
    counts = np.asarray(rejections, float)
    low, high = statistics.wilson(counts, np.full_like(counts, trials))
    rates = counts / trials
    for i, method in enumerate(methods):
        color, dash, symbol = live.browser_style(method_style(method.name))
        line = over((rates if lines is None else lines)[i], slider)
        marks += [
            Line(grid, line, color=color, dash=dash, width=1.6),
            Points(
                grid,
                over(rates[i], slider),
                color=color,
                symbol=symbol,
                size=7,
                low=over(low[i], slider),
                high=over(high[i], slider),
            ),
        ]
        legend.append((method.label, color, symbol))
    return marks, legend


# ---- Where in an image a score looks: a patch is slid over it, and the score is told again ----


def occlusion_sensitivity(
    score: Score,
    images: NDArray[np.floating],
    instead: NDArray[np.floating],
    x: Array,
    patch: int,
    stride: int,
) -> NDArray[np.float64]:
    """Change of the scores of images (n, H, W, C) where a patch of others replaces each place.

    Zeiler, Fergus (2014), Visualizing and understanding convolutional networks, Section 4.2.

    Args:
        score: of rows (n, H W C) and x.
        images: square ones.
        instead: what the patches are taken from, of their shape.
        x: (n, M).
        patch: pixels of a patch's side.
        stride: pixels between patches.

    Returns:
        (n, C, C), rows from above; C = (H - patch) / stride + 1, rounded down.
    """
    before = score(images.reshape(len(images), -1), x)
    places = list(_places(images.shape[1], patch, stride))
    out = np.empty((len(images), len(places), len(places)))
    for i, down in enumerate(places):
        for j, across in enumerate(places):
            hidden = images.copy()
            hidden[:, down, across] = instead[:, down, across]
            out[:, i, j] = score(hidden.reshape(len(images), -1), x) - before
    return out


def _places(side: int, patch: int, stride: int) -> Iterator[slice]:
    for first in range(0, side - patch + 1, stride):
        yield slice(first, first + patch)
