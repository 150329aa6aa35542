"""Where over x stated probabilities are off: regions of x, and the one that differs most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.over_x.region import Disc, Region, Stretch, farther_region
from validation_core.diagnosis.questions.over_x.region_words import region_text
from validation_core.diagnosis.questions.over_x.windows import ScanWindows, build_scan_windows
from validation_core.relabelling.places import COLUMNS, coordinates
from validation_core.statistics.reliability import RegionContrasts
from validation_core.tables.class_probabilities import can_be_looked_over
from validation_core.types import Array, Integers

_ROWS = 20_000  # that are looked at, at most
_ROWS_OF_WIDE = 2_000  # where x has principal components


class EventPlace(NamedTuple):
    """The region of x in which an event is off most beside what is outside it."""

    along: str
    """x: a column; component: a principal component of x; plane: two columns."""
    which: int
    """The column or component; -1 for the plane."""
    region: Stretch | Disc
    rows: int
    """Rows in it."""
    said: float
    """Mean stated probability there;"""
    happened: float
    """share of its rows in which the event happened;"""
    said_elsewhere: float
    """and both at the other rows."""
    happened_elsewhere: float
    z: float
    """Of the contrast."""


class XRegions(NamedTuple):
    """Stretches of coordinates of x, and discs over two columns, at some of the rows."""

    windows: ScanWindows
    kinds: tuple[str, ...]
    """(C,) of coordinates: x, component."""
    which: tuple[int, ...]
    """(C,) column or component."""
    rows: Integers
    """(n,) places of the rows among all N."""

    def sums(self, values: Array) -> Array:
        """Sums (B, V) of values (B, N) over each region; the last is all of x."""
        some = np.asarray(values[:, self.rows], np.float32)
        *discs, stretches = self.windows.sums(some)[::-1]
        return np.concatenate(
            [part.reshape(len(some), -1) for part in (*discs, stretches)], axis=1, dtype=np.float64
        )

    def worst(self, p: Array, happened: Array) -> EventPlace | None:
        """The region in which an event, p (N,), is off most; None where none has rows enough.

        Its coordinate and ends were chosen by all rows: the difference there is larger than at
        new ones.
        """
        off = happened - p
        z = RegionContrasts(p, self.sums).of(off[None])[0]
        best = int(np.abs(z).argmax())
        if not z[best]:
            return None
        discs, stretches = self.windows.discs.shape[1], len(self.windows.first)
        coordinate, window = divmod(best - discs, stretches)
        if best < discs:
            coordinate, window = len(self.kinds), best
        every = np.ones(len(self.rows), bool)
        region, inside = farther_region(self.windows, coordinate, window, off[self.rows], every)
        along, which = (*self.kinds, "plane")[coordinate], (*self.which, -1)[coordinate]
        return _place(along, which, region, p[self.rows], happened[self.rows], inside, z[best])


def _place(
    along: str,
    which: int,
    region: Region,
    p: Array,
    happened: Array,
    inside: NDArray[np.bool_],
    z: float,
) -> EventPlace:
    said, there, elsewhere, happened_elsewhere = (
        float(one[rows].mean()) for rows in (inside, ~inside) for one in (p, happened)
    )
    return EventPlace(
        along=along,
        which=which,
        region=region,
        rows=int(inside.sum()),
        said=said,
        happened=there,
        said_elsewhere=elsewhere,
        happened_elsewhere=happened_elsewhere,
        z=abs(float(z)),
    )


def regions_of(x: Array, p: Array, rng: np.random.Generator) -> XRegions | None:
    """Regions of x (N, M), of many columns those that the probabilities (N, C) follow most; None
    where none can be told apart.

    Classes have no part in them, so that any statistic of them is drawn as the rest is.
    """
    n, m = x.shape
    most = _ROWS if m <= COLUMNS else _ROWS_OF_WIDE
    rows = np.arange(n) if n <= most else np.sort(rng.permutation(n)[:most])
    some, stated = np.asarray(x[rows], np.float64), p[rows]
    if not can_be_looked_over(some):
        return None
    at = coordinates(some, stated, stated * (1 - stated))
    ours = [i for i, kind in enumerate(at.kinds) if kind != "mean"]  # the curve is over these
    plane = some if m == 2 and len(ours) == 2 else None
    return XRegions(
        build_scan_windows(at.values[:, ours], rng, plane),
        tuple(at.kinds[i] for i in ours),
        tuple(at.which[i] for i in ours),
        rows,
    )


def place_sentence(name: str, place: EventPlace, x_names: Sequence[str]) -> str:
    """Where an event is off, and by how much there and elsewhere.

    Args:
        name: of the event.
        place: where.
        x_names: of the columns of x.
    """
    return (
        f"{name}, where {region_text(place, (), x_names)}: said {place.said:.1%} on average, "
        f"happened in {place.happened:.1%} of {place.rows:,} rows; elsewhere said "
        f"{place.said_elsewhere:.1%}, happened in {place.happened_elsewhere:.1%}. Of all regions "
        f"these differ most: expect less at new rows."
    )
