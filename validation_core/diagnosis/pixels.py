"""Parameters that are the pixels of an image: what is wrong with each, as an image again."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.localization import Maps
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.types import Array, ImageShape, PosteriorTable

FEWEST = 16
"""Numbers below which nobody calls them an image."""
_SHOWN = 8  # simulations that are shown
_PIECE = 1 << 22  # numbers ranked at a time


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


def shape_of(text: str, numbers: int) -> ImageShape:
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


def pixel_maps(table: PosteriorTable) -> PixelMaps:
    """Bias, spread and rank test of every pixel; truths and draws at some simulations."""
    n, k, d = table.q.shape
    step = max(1, _PIECE // (k * d))
    standard, ranks = np.empty((n, d)), np.empty((d, n))
    rng = stream(0, "pixels")
    for part in slices(n, step):
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
