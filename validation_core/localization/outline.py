"""The lines of a picture: a ball's outline on the grid, and two dimensions out of many."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import contourpy
import numpy as np
from numpy.typing import NDArray

from validation_core.localization.maps import Maps
from validation_core.types import Array


def contours(grid_x: Array, grid_y: Array, field: Array, radius: Array) -> list[Array]:
    """The ball's outline at each place: polylines (L, 2), nan rows between separate ones.

    Args:
        grid_x: (G,).
        grid_y: (H,).
        field: distances in phi (V, H, G), rows y.
        radius: (V,).

    Returns:
        One array per place, (0, 2) where no outline crosses the grid.

    Raises:
        ValueError: unless the field has a row for each y and a column for each x.
    """
    sides = (len(radius), len(grid_y), len(grid_x))
    if np.shape(field) != sides:
        raise ValueError(
            f"A field has a value at every place and grid point, here {sides}; got "
            f"{np.shape(field)}. Give (V, y, x)."
        )
    outlines: list[Array] = []
    for values, level in zip(np.asarray(field, np.float64), radius, strict=True):
        generator = contourpy.contour_generator(
            grid_x, grid_y, values, line_type=contourpy.LineType.ChunkCombinedNan
        )
        points: Array | None = generator.lines(float(level))[0][0]
        outlines.append(np.zeros((0, 2)) if points is None else points)
    return outlines


def intervals(grid_x: Array, field: Array, radius: Array) -> list[Array]:
    """The ball at each place where theta has one dimension: its stretches' ends (L, 2).

    Between grid points the distance is taken as straight; the field is (V, G), radius (V,).
    """
    stretches: list[Array] = []
    for values, level in zip(np.asarray(field, np.float64), radius, strict=True):
        above = values - level
        ends = [grid_x[0]] * bool(above[0] <= 0)
        for (left, right), (a, b) in zip(pairwise(grid_x), pairwise(above), strict=True):
            if (a <= 0) != (b <= 0):
                ends.append(left + (right - left) * a / (a - b))
        ends += [grid_x[-1]] * bool(above[-1] <= 0)
        stretches.append(np.reshape(np.array(ends, dtype=np.float64), (-1, 2)))
    return stretches


_RIM = 60  # points of a kept outline, about


def rims(axes: Sequence[Array], field: Array, radius: Array) -> list[Array]:
    """The ball's rim at each place, from distances on a grid of one axis or two: (L, 2) each.

    Polylines in the plane; on a line its stretches' ends.
    """
    if len(axes) == 1:
        return intervals(axes[0], field, radius)
    return contours(axes[0], axes[1], field, radius)


def stacked(outlines: Sequence[Sequence[Array]]) -> NDArray[np.float16]:
    """Outlines of G gammas at V places as one array (G, V, L, 2), nan behind the shorter ones.

    Each has at most about 60 points.
    """
    few = [[_thinned(rim) for rim in row] for row in outlines]
    longest = max(len(rim) for row in few for rim in row)
    out = np.full((len(few), len(few[0]), longest, 2), np.nan, np.float16)
    for i, row in enumerate(few):
        for j, rim in enumerate(row):
            out[i, j, : len(rim)] = rim
    return out


def _thinned(rim: Array) -> Array:
    """A rim (L, 2) of at most about `_RIM` points: its pieces, between rows of nan, keep their
    ends."""
    if len(rim) <= _RIM:
        return rim
    breaks = np.flatnonzero(np.isnan(rim[:, 0]))
    pieces = np.split(rim, breaks)  # all but the first begin with the break
    every = -(-len(rim) // _RIM)
    kept = [np.r_[0:1, 1 : len(piece) - 1 : every, len(piece) - 1] for piece in pieces]
    return np.concatenate([piece[which] for piece, which in zip(pieces, kept, strict=True)])


def ball_outlines(maps: Maps) -> list[Array]:
    """The ball's rim at each place of a map (L, 2); none where theta has more than two parameters.

    Polylines, rows of nan between separate ones; stretches' ends where theta has one.
    """
    axes = [axis for axis in (maps.grid_x, maps.grid_y) if axis.size]
    if not axes:
        return []
    if not maps.outline.size:
        return rims(axes, maps.field, maps.radius)
    return [_without_padding(rim) for rim in maps.outline]


def _without_padding(rim: Array) -> Array:
    """A kept outline (L, 2) without the nan behind its end."""
    there = np.flatnonzero(~np.isnan(rim[:, 0]))
    return rim[: there[-1] + 1 if there.size else 0]


def areas(rim: Array, x: tuple[float, float], y: tuple[float, float]) -> Array:
    """Area that a rim encloses within a picture: loops (L, 2) with rows of nan between them.

    A picture that shows a part of the rim has no inside to fill; the visible part is closed along
    the picture's edge. Loops within loops are holes.

    Args:
        rim: polylines (L, 2) as `contours` makes them, the enclosed area at their right.
        x: left and right end of the picture.
        y: lower and upper end.
    """
    low, high = np.array([x[0], y[0]]), np.array([x[1], y[1]])
    loops: list[Array] = []
    cut: list[Array] = []
    for piece in np.split(rim, np.flatnonzero(np.isnan(rim[:, 0]))):
        line = piece[~np.isnan(piece[:, 0])]
        if len(line) < 2:
            continue
        parts = _clipped(line, low, high)
        if np.array_equal(line[0], line[-1]):
            if len(parts) == 1 and len(parts[0]) == len(line):
                loops.append(line)
                continue
            if len(parts) > 1 and np.array_equal(parts[0][0], parts[-1][-1]):
                parts = [np.concatenate([parts[-1], parts[0][1:]]), *parts[1:-1]]
        cut += parts
    loops += _along_edge(cut, low, high)
    gap = np.full((1, 2), np.nan)
    return np.concatenate([part for loop in loops for part in (gap, loop)][1:] or [gap[:0]])


def _clipped(line: Array, low: Array, high: Array) -> list[Array]:
    """The pieces of a polyline (L, 2) that lie in a rectangle, cut at its edge."""
    a, step = line[:-1], np.diff(line, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(low - a) / step, (high - a) / step])
    beside = (step == 0) & ((a < low) | (a > high))
    first = np.where(step == 0, np.where(beside, np.inf, -np.inf), ends.min(0)).max(1).clip(0)
    last = np.where(step == 0, np.inf, ends.max(0)).min(1).clip(max=1)
    pieces: list[list[Array]] = []
    for i in np.flatnonzero(first < last):
        if not (pieces and first[i] == 0 and last[i - 1] == 1 and first[i - 1] < 1):
            pieces.append([a[i] + first[i] * step[i]])
        pieces[-1].append(line[i + 1] if last[i] == 1 else a[i] + last[i] * step[i])
    return [np.array(piece) for piece in pieces]


_CORNERS = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])


def _along_edge(pieces: list[Array], low: Array, high: Array) -> list[Array]:
    """Loops around the area at the right of lines that end on the edge of a rectangle.

    From the end of each one goes clockwise, the rectangle at one's right, to the next beginning.
    """
    loops, left = [], list(pieces)
    while left:
        begin = now = left.pop(0)
        loop = [now]
        while True:
            end = _clockwise(now[-1], low, high)
            ways = [(_clockwise(piece[0], low, high) - end) % 4 for piece in (begin, *left)]
            nearest = int(np.argmin(ways))
            turns = np.arange(np.floor(end) + 1, end + ways[nearest]).astype(int) % 4
            loop.append(low + _CORNERS[turns] * (high - low))
            if nearest == 0:
                break
            now = left.pop(nearest - 1)
            loop.append(now)
        loops.append(np.concatenate([*loop, begin[:1]]))
    return loops


def _clockwise(point: Array, low: Array, high: Array) -> float:
    """How far along the edge of a rectangle a point is, from 0 at its lower left corner to 4."""
    x, y = ((point - low) / (high - low)).clip(0, 1)
    side = int(np.argmin([x, 1 - y, 1 - x, y]))
    return side + float([y, x, 1 - y, 1 - x][side])


class _Projected(NamedTuple):
    """A map's points in two dimensions."""

    q: Array
    """(V, S, 2)."""
    truth: Array
    """(V, T, 2)."""
    centre: Array
    """(V, 2)."""
    film_centre: Array
    """(F, V, 2)."""
    axes: Array
    """(2, D) loadings of each dimension, in sds of q for principal components."""
    share: Array
    """(2,) of q's standardised variance that each dimension holds."""


def project(
    maps: Maps, onto: tuple[int, int] | Literal["pca"], draws: Array | None = None
) -> _Projected:
    """Two coordinates of theta, or the first two principal components of all draws of q.

    The components are those of the parameters in units of their sd over all places, so that none
    leads by its units alone; one pair of axes serves every place.

    Args:
        maps: the maps to project.
        onto: the coordinates, from 0.
        draws: (..., D) whose components are taken, those of the map's q by default.

    Raises:
        ValueError: for fewer than two parameters or a coordinate that is not there.
    """
    d = maps.q.shape[2]
    pair_there = onto == "pca" or (onto[0] != onto[1] and all(0 <= axis < d for axis in onto))
    if d < 2 or not pair_there:
        raise ValueError(
            f"A projection takes two different of {d} parameters, or 'pca' of at least two; got "
            f"{onto!r}. Choose among 0 to {d - 1}."
        )
    rows = (maps.q if draws is None else draws).reshape(-1, d).astype(np.float64)
    shift, scale = rows.mean(0), rows.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    z = (rows - shift) / scale
    if onto == "pca":
        axes = np.linalg.eigh(z.T @ z / len(z))[1].T[:-3:-1]
        axes = axes * np.sign(axes[[0, 1], np.abs(axes).argmax(1)])[:, None]
        matrix = axes / scale
    else:
        axes = matrix = np.eye(d)[list(onto)]
        shift = np.zeros(d)
    share = (z @ axes.T).var(0) / max(float(z.var(0).sum()), 1e-300)
    points = (maps.q, maps.truth, maps.centre, maps.film_centre)
    q, truth, centre, film_centre = ((part - shift) @ matrix.T for part in points)
    return _Projected(q, truth, centre, film_centre, axes, share)
