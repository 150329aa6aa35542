"""The worst region of x: the window in which rows that choose are off most."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core import codec
from validation_core.diagnosis.questions.over_x.scan import window_z
from validation_core.diagnosis.questions.over_x.windows import ScanWindows
from validation_core.types import Array


@dataclass(frozen=True)
class Stretch:
    """A coordinate from `low` to below `high`, each None where it has no end."""

    low: float | None
    high: float | None
    outside_of: bool = False
    """Whether all of x but this is meant."""
    spread: float = field(metadata=codec.shown(hidden=True), default=0.0)
    """From the first to the last place where windows of the coordinate end: what tells the digits
    of a single end; 0 where it was not kept."""


@dataclass(frozen=True)
class Disc:
    """An ellipse in the plane of two columns of x."""

    centre: tuple[float, ...]
    radius: tuple[float, ...]
    """Along each of the two columns."""
    ends: tuple[tuple[float | None, float | None], ...] = ((None, None), (None, None))
    """Its ends along each column, None beyond all rows: an axis with two of them excludes
    nothing."""
    outside_of: bool = False
    """Whether all of x but this is meant."""


Region = Stretch | Disc


class Located(Protocol):
    """What lies in a region of x."""

    @property
    def along(self) -> str:
        """x: a column; component: a principal component; mean: q's mean; plane: two columns."""

    @property
    def which(self) -> int:
        """The column, component or parameter; -1 for the plane."""

    @property
    def region(self) -> Region:
        """From where to where."""


def clarity_by(
    over: ScanWindows, features: NDArray[np.float32], choose: NDArray[np.bool_]
) -> Array:
    """The largest |z| (F, C) of a change of features (F, n) along each coordinate, by the rows
    that choose alone."""
    strength = _strength(over, features, choose)
    return np.concatenate([np.abs(z).max(axis=2) for z in strength], axis=1)


def _strength(
    over: ScanWindows, features: NDArray[np.float32], choose: NDArray[np.bool_]
) -> list[Array]:
    """Signed z (F, C, W), (F, 1, V) of features (F, n) in every window, by rows that choose."""
    few = features[:, choose]
    sd = few.std(axis=1, keepdims=True)
    off = (few - few.mean(axis=1, keepdims=True)) / np.where(sd > 0, sd, np.inf)
    return window_z(off.astype(np.float32), _only(over, choose))


def worst_region(
    over: ScanWindows, feature: NDArray[np.float32], coordinate: int, choose: NDArray[np.bool_]
) -> tuple[Region, NDArray[np.bool_]]:
    """The stretch of a coordinate in which the chosen rows are off most, and its rows (n,).

    A stretch and what is outside it differ equally from one another: of the two, the one told of
    is farther from 0, which is where all features are if q is right.

    Args:
        over: the stretches of all rows.
        feature: (n,).
        coordinate: which; one more than there are means the discs.
        choose: (n,) the rows that choose.
    """
    strength = _strength(over, feature[None], choose)
    along = strength[0][0, coordinate] if coordinate < len(over.edges) else strength[1][0, 0]
    return farther_region(over, coordinate, int(np.abs(along).argmax()), feature, choose)


def farther_region(
    over: ScanWindows, coordinate: int, window: int, feature: Array, choose: NDArray[np.bool_]
) -> tuple[Region, NDArray[np.bool_]]:
    """A window or all outside it, whichever has the mean farther from 0; and its rows (n,).

    Args:
        over: the windows.
        coordinate: which; one more than there are means the discs.
        window: the stretch of the coordinate, or the disc.
        feature: (n,).
        choose: (n,) the rows that choose.
    """
    if coordinate < len(over.edges):
        first, last = int(over.first[window]), int(over.last[window])
        low, high = over.edges[coordinate, [first, last]]
        g = over.edges.shape[1] - 1
        inside = over.blocks[:, coordinate * g + first : coordinate * g + last].sum(axis=1) > 0
        inner = over.edges[coordinate][np.isfinite(over.edges[coordinate])]
        spread = float(np.ptp(inner)) if len(inner) else 0.0
        stretch = Stretch(_finite(low), _finite(high), spread=spread)
        return _farther(stretch, inside, feature, choose)
    at = over.centres[window]
    across = over.radii[window] * over.scale
    disc = Disc(
        tuple(float(c) for c in at), tuple(float(c) for c in across), _ends(over, at, across)
    )
    return _farther(disc, over.discs[:, window] > 0, feature, choose)


def _ends(
    over: ScanWindows, centre: Array, radius: Array
) -> tuple[tuple[float | None, float | None], ...]:
    """Ends of a disc along both columns, None where no row lies beyond."""
    low, high = over.range
    return tuple(
        (
            float(at - reach) if at - reach > first else None,
            float(at + reach) if at + reach < last else None,
        )
        for at, reach, first, last in zip(centre, radius, low, high, strict=True)
    )


def _farther(
    region: Region, inside: NDArray[np.bool_], feature: Array, choose: NDArray[np.bool_]
) -> tuple[Region, NDArray[np.bool_]]:
    """The region, or all outside it where that is farther from 0 by the rows that choose."""
    within, without = feature[inside & choose], feature[~inside & choose]
    if not len(within) or not len(without) or abs(without.mean()) <= abs(within.mean()):
        return region, inside
    if isinstance(region, Stretch) and (region.low is None or region.high is None):
        return replace(region, low=region.high, high=region.low), ~inside
    return replace(region, outside_of=True), ~inside


def _only(over: ScanWindows, rows: NDArray[np.bool_]) -> ScanWindows:
    """The same stretches of some of the rows."""
    blocks = over.blocks[rows]
    c, g = len(over.edges), over.edges.shape[1] - 1
    below = np.zeros((c, g + 1))
    below[:, 1:] = blocks.sum(0, dtype=np.float64).reshape(c, g).cumsum(1)
    counts = below[:, over.last] - below[:, over.first]
    return over._replace(blocks=blocks, counts=counts, discs=over.discs[rows])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
