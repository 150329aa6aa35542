"""Parameters that are the pixels of an image: what is wrong with each, as an image again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Heat,
    Image,
    Mark,
    Panel,
    Shades,
    Slider,
    Words,
    over,
)
from validation_core.localization import Maps
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

FEWEST = 16
"""Numbers below which nobody calls them an image."""

_SHOWN = 8  # simulations that are shown
_PIECE = 1 << 22  # numbers ranked at a time

Shape = tuple[int, int, int]
"""Height, width, colours (1 or 3)."""


class PixelMaps(NamedTuple):
    """D pixels over N simulations, S of which are shown."""

    bias: Array
    """(D,) mean of q's mean less the truth, in q's sds: above 0 where q is too high."""
    spread: Array
    """(D,) sd of that: above 1 where q is too narrow."""
    pvalue: Array
    """(D,) of the exact KS test of the truth's ranks, pixel by pixel, not adjusted."""
    truth: Array
    """(S, D)."""
    mean: Array
    """(S, D) of q's draws there."""
    draw: Array
    """(S, D) one of them."""
    x: Array
    """(S, M)."""


def ball_centre(maps: Maps) -> Array:
    """Where CoLT's ball lies: its centre less q's mean, in q's sds, averaged over places: (D,)."""
    mean, sd = maps.q.mean(1, dtype=float), maps.q.std(1, dtype=float)
    return np.asarray(((maps.centre - mean) / np.where(sd > 0, sd, np.inf)).mean(0))


def shape_of(text: str, numbers: int) -> Shape:
    """The shape that a user named, as "16 x 16" or "32,32,3", for so many numbers.

    Raises:
        ValueError: where it is not two or three whole numbers, or has another number of pixels.
    """
    sides = [int(side) for side in re.findall(r"\d{1,6}", text)]
    if len(sides) not in (2, 3) or re.sub(r"[\d\s,x×*()]", "", text.lower()):
        raise ValueError(
            f"A shape is height x width, or height x width x 3 in colour; got {text!r}. Write "
            f"16 x 16, say."
        )
    height, width, colours = (*sides, 1)[:3]
    if colours not in (1, 3) or height * width * colours != numbers:
        raise ValueError(
            f"An image of {height} x {width} x {colours} has {height * width * colours:,} "
            f"numbers; got {numbers:,} in a row. Name a shape of that many, of 1 or 3 colours."
        )
    return height, width, colours


def pixel_maps(table: PosteriorTable, seed: int = 0) -> PixelMaps:
    """Bias, spread and rank test of every pixel; truths and draws at some simulations."""
    n, k, d = table.q.shape
    step = max(1, _PIECE // (k * d))
    standard, ranks = np.empty((n, d)), np.empty((d, n))
    rng = stream(seed, "pixels")
    for first in range(0, n, step):
        part = slice(first, first + step)
        truth, q = table.theta[part], np.asarray(table.q[part])
        mean, sd = q.mean(1, dtype=float), q.std(1, ddof=min(1, k - 1), dtype=float)
        standard[part] = (mean - truth) / np.where(sd > 0, sd, np.inf)
        below, equal = (q < truth[:, None]).sum(1), (q == truth[:, None]).sum(1)
        ranks[:, part] = statistics.randomised_ranks(below, equal, k, rng).T
    places = np.unique(np.linspace(0, n - 1, _SHOWN).astype(int))
    return PixelMaps(
        standard.mean(0),
        standard.std(0),
        np.asarray(statistics.ks(ranks).pvalue),
        table.theta[places],
        np.stack([table.q[i].mean(0) for i in places]),
        np.stack([table.q[i][0] for i in places]),
        table.x[places],
    )


# ---- Maps over the pixels of an image: where q is too high, too narrow, and what it draws ----


_HEIGHT = 230
_LOG_P = 6.0  # decimal places of a p-value with the full colour


def payload(
    maps: PixelMaps, shape: Shape, x_shape: Shape | None, alpha: float, centre: Array | None = None
) -> live.Payload:
    """The maps of all simulations, and x, truth, q's mean and a draw of some.

    Args:
        centre: of CoLT's ball (D,), see `ball_centre`.
    """
    count, pixels = len(maps.truth), len(maps.pvalue)
    limits = _limits([maps.truth, maps.mean, maps.draw])
    rejected = int((maps.pvalue <= alpha / pixels).sum())
    spread = np.log2(np.maximum(maps.spread, 1e-3))
    signed = [
        ("q too high (orange) or too low", maps.bias, "bias, in sds of q"),
        ("q too narrow (orange) or too wide", spread, "doublings of spread"),
    ]
    if centre is not None:
        signed.append(("Where CoLT's ball is centred", centre, "from q's mean, in its sds"))
    panels = [
        sheet([_heat(values, shape, float(np.abs(values).max()) or 1.0, label)], shape, title)
        for title, values, label in signed
    ]
    log_p = np.minimum(-np.log10(maps.pvalue), _LOG_P)
    panels.insert(
        2,
        sheet(
            [_heat(log_p, shape, _LOG_P, "−log10 p")],
            shape,
            "p-value of each pixel's ranks",
            f"{rejected:,} of {pixels:,} pixels reject at {alpha:.0%} after Bonferroni.",
        ),
    )
    if x_shape is not None:
        panels.append(_picture("x", maps.x, x_shape, _limits([maps.x])))
    panels += [
        _picture("Truth", maps.truth, shape, limits),
        _picture("q's mean", maps.mean, shape, limits),
        _picture("One draw of q", maps.draw, shape, limits),
    ]
    slider = Slider(
        "row",
        np.arange(count),
        names=[f"{i + 1} of {count}" for i in range(count)],
        label="Simulation shown",
    )
    return live.payload(sliders=[slider], panels=panels, columns=4)


def _limits(parts: Sequence[Array]) -> tuple[float, float]:
    values = np.concatenate([np.ravel(part) for part in parts]).astype(float)
    low, high = np.quantile(values[np.isfinite(values)], [0.002, 0.998])
    return float(low), float(max(high, low + 1e-12))


def grey_pixels(values: Array, shape: Shape, limits: tuple[float, float]) -> NDArray[np.uint8]:
    """Rows (..., D) as pixels (..., H, W, 3): the lower limit black, the upper white."""
    low, high = limits
    levels = np.clip((np.asarray(values, float) - low) / (high - low), 0, 1) * 255
    pixels = np.rint(levels).astype(np.uint8).reshape(*values.shape[:-1], *shape)
    return np.broadcast_to(pixels, (*pixels.shape[:-1], 3)).copy()


def sheet(marks: Sequence[Mark], shape: Shape, title: Words, caption: Words = "") -> Panel:
    """Marks on an image's own axes, a unit a pixel."""
    return Panel(
        marks,
        x=Axis((0, shape[1]), hidden=True),
        y=Axis((0, shape[0]), hidden=True),
        title=title,
        caption=caption,
        equal=True,
        height=_HEIGHT,
    )


def _picture(title: str, rows: Array, shape: Shape, limits: tuple[float, float]) -> Panel:
    pixels = over(grey_pixels(rows, shape, limits), "row")
    return sheet([Image((0, shape[1]), (0, shape[0]), pixels)], shape, title)


def _heat(values: Array, shape: Shape, limit: float, label: str) -> Heat:
    """Numbers (D,) at their pixels, blue below 0 and orange above; colours are averaged."""
    height, width, _ = shape
    grid = np.asarray(values, float).reshape(shape).mean(-1)[::-1]
    shades = Shades(grid, limit=limit, low=style.P, high=style.Q, label=label)
    return Heat(np.arange(width + 1.0), np.arange(height + 1.0), shades)
