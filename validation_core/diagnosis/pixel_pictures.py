"""Images of what is wrong with each pixel: bias, width, and draws of q."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.pixels import PixelMaps
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
from validation_core.text import level_text, numbered
from validation_core.types import Array, ImageShape

_HEIGHT = 230
_LOG_P = 6.0  # decimal places of a p-value with the full colour


def payload(
    maps: PixelMaps,
    shape: ImageShape,
    x_shape: ImageShape | None,
    alpha: float,
    centre: Array | None = None,
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
        signed.append(("Where CoLT's region is centred", centre, "from q's mean, in its sds"))
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
            f"{rejected:,} of {pixels:,} pixels reject at {level_text(alpha)} after Bonferroni.",
        ),
    )
    if x_shape is not None:
        panels.append(_picture("x", maps.x, x_shape, _limits([maps.x])))
    panels += [
        _picture("Truth", maps.truth, shape, limits),
        _picture("q's mean", maps.mean, shape, limits),
        _picture("One draw of q", maps.draw, shape, limits),
    ]
    slider = Slider("row", np.arange(count), names=numbered(count), label="Simulation shown")
    return live.payload(sliders=[slider], panels=panels, columns=4)


def _limits(parts: Sequence[Array]) -> tuple[float, float]:
    values = np.concatenate([np.ravel(part) for part in parts]).astype(float)
    low, high = np.quantile(values[np.isfinite(values)], [0.002, 0.998])
    return float(low), float(max(high, low + 1e-12))


def grey_pixels(
    values: Array, shape: ImageShape, limits: tuple[float, float]
) -> NDArray[np.uint8]:
    """Rows (..., D) as pixels (..., H, W, 3): the lower limit black, the upper white."""
    low, high = limits
    levels = np.clip((np.asarray(values, float) - low) / (high - low), 0, 1) * 255
    pixels = np.rint(levels).astype(np.uint8).reshape(*values.shape[:-1], *shape)
    return np.broadcast_to(pixels, (*pixels.shape[:-1], 3)).copy()


def sheet(marks: Sequence[Mark], shape: ImageShape, title: Words, caption: Words = "") -> Panel:
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


def _picture(title: str, rows: Array, shape: ImageShape, limits: tuple[float, float]) -> Panel:
    pixels = over(grey_pixels(rows, shape, limits), "row")
    return sheet([Image((0, shape[1]), (0, shape[0]), pixels)], shape, title)


def _heat(values: Array, shape: ImageShape, limit: float, label: str) -> Heat:
    """Numbers (D,) at their pixels, blue below 0 and orange above; colours are averaged."""
    height, width, _ = shape
    grid = np.asarray(values, float).reshape(shape).mean(-1)[::-1]
    shades = Shades(grid, limit=limit, low=style.P, high=style.Q, label=label)
    return Heat(np.arange(width + 1.0), np.arange(height + 1.0), shades)
