"""A region of x: how it reads, and which rows lie in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.over_x.region import Disc, Located, Stretch
from validation_core.diagnosis.questions.over_x.result import OverXPlace
from validation_core.relabelling.claims import parameter_name, x_column_name
from validation_core.relabelling.places import coordinates, draws_set_aside, moments
from validation_core.tables import TableUpload
from validation_core.text import number_text, scaled_text
from validation_core.types import Array, PosteriorTable


def coordinate_text(place: Located, names: Sequence[str], x_names: Sequence[str]) -> str:
    """Name the coordinate along which a place lies."""
    along, which = place.along, place.which
    if along == "component":
        return f"principal component {which + 1} of x"
    if along == "mean":
        return f"q's mean of {parameter_name(names, which)}"
    if along == "plane":
        return f"({x_column_name(0, x_names)}, {x_column_name(1, x_names)})"
    return x_column_name(which, x_names)


def region_text(place: Located, names: Sequence[str], x_names: Sequence[str]) -> str:
    """The stretch of x, to read."""
    what, where = coordinate_text(place, names, x_names), place.region
    if isinstance(where, Disc):
        return _disc_text(where, [x_column_name(i, x_names) for i in range(2)])
    return _stretch_text(what, where) or "x is anything"


def _disc_text(disc: Disc, columns: Sequence[str]) -> str:
    """An ellipse in the plane by its axes, those left out that exclude nothing."""
    binding = [i for i, ends in enumerate(disc.ends) if ends != (None, None)]
    if len(binding) == 1:
        (i,) = binding
        stretch = Stretch(*disc.ends[i], outside_of=disc.outside_of, spread=disc.radius[i])
        if text := _stretch_text(columns[i], stretch):
            return text
    spans = " and ".join(
        f"{name} is {scaled_text(at, reach)} ± {number_text(reach, 2)}"
        for name, at, reach in zip(columns, disc.centre, disc.radius, strict=True)
    )
    return f"not both {spans}" if disc.outside_of else spans


def _stretch_text(what: str, stretch: Stretch) -> str:
    """From its low end to below its high one, or outside of that; empty where nothing is
    excluded."""
    low, high, outside = stretch.low, stretch.high, stretch.outside_of
    if outside and (low is None or high is None):
        low, high = high, low
    if low is None:
        return "" if high is None else f"{what} < {scaled_text(high, stretch.spread)}"
    if high is None:
        return f"{what} ≥ {scaled_text(low, stretch.spread)}"
    first, last = (scaled_text(end, high - low) for end in (low, high))
    if outside:
        return f"{what} is below {first} or from {last} on"
    return f"{what} is from {first} to {last}"


def rows_in_region(upload: TableUpload, place: OverXPlace) -> NDArray[np.intp]:
    """Rows of the table that lie in a place's region, in their order."""
    table = upload.in_no_order.data
    region = place.region
    if isinstance(region, Disc):
        off = (table.x - np.asarray(region.centre)) / np.asarray(region.radius)
        inside = np.square(off).sum(1) <= 1
    else:
        values = _values_along(table, place)
        low = -np.inf if region.low is None else region.low
        high = np.inf if region.high is None else region.high
        inside = (values >= low) & (values < high)
    return np.flatnonzero(inside != region.outside_of)


def _values_along(table: PosteriorTable, place: OverXPlace) -> Array:
    """The coordinate along which a place lies, at every row (n,)."""
    if place.along == "x":
        return np.asarray(table.x[:, place.which], np.float64)
    kept_back = draws_set_aside(table.q.shape[1], table.x.shape[1])
    if place.along == "mean":  # by the draws that the scan kept from the ranks
        return np.asarray(table.q[:, :kept_back, place.which].mean(1), np.float64)
    at = coordinates(table.x, *moments(table.q[:, :kept_back]))
    named = zip(at.kinds, at.which, strict=True)
    return at.values[:, list(named).index((place.along, place.which))]
