"""Maps of the learned log ratio over the pairs of parameters on which it depends most."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.questions.in_theta.result import Frame, RatioMap
from validation_core.precision import narrow
from validation_core.statistics.cells import variance_between_cells
from validation_core.types import Array, Integers

_CELLS = 20  # a side of a map
FEWEST = 10
"""Draws of q below which a cell of a map is blank."""
_REACH = 3.0  # sds around q's mean
_TAIL = 0.005
_STRIPS = 8
_AT_ONCE = 64  # parameters
_CLIP = 5.0  # one draw far out shall not stand for its cell
_TRUTHS = 300  # marked on a map


def strongest_maps(
    draws: Array, truth: Array, ratio: Array, chosen: Integers, frame: Frame, most: int
) -> list[RatioMap]:
    """Maps of the strongest pairs of some parameters, or of the one there is."""
    some = np.linspace(0, len(truth) - 1, min(_TRUTHS, len(truth))).astype(int)
    if len(chosen) == 1:
        which = int(chosen[0])
        side = cell_edges(draws[:, which], frame == "sd")
        line = _ratio_line(draws[:, which], ratio, side)
        return [_ratio_map((which,), frame, line, side, truth[some, which])]
    maps = []
    for a, b in _strongest_pairs(draws, ratio, chosen)[:most]:
        sides = (cell_edges(draws[:, a], frame == "sd"), cell_edges(draws[:, b], frame == "sd"))
        plane = ratio_plane(draws[:, a], draws[:, b], ratio, sides)
        maps.append(_ratio_map((a, b), frame, plane, np.stack(sides), truth[some][:, [a, b]]))
    return maps


def _ratio_map(
    of: tuple[int, ...], frame: Frame, ratio: Array, edges: Array, truth: Array
) -> RatioMap:
    return RatioMap(of, frame, narrow(ratio), narrow(edges), narrow(truth))


def strongest_parameters(z: Array, ratio: Array, most: int) -> Integers:
    """Up to `most` parameters, those over whose strips the mean log ratio varies most first.

    Args:
        z: draws (P, D).
        ratio: log ratios (P,).
        most: how many.
    """
    clipped = np.clip(ratio, -_CLIP, _CLIP)
    strength = np.zeros(z.shape[1])
    for first in range(0, z.shape[1], _AT_ONCE):
        part = z[:, first : first + _AT_ONCE]
        edges = np.quantile(part, np.arange(1, _STRIPS) / _STRIPS, axis=0)
        cell = (part[None] >= edges[:, None]).sum(0)
        for at in range(part.shape[1]):
            strength[first + at] = variance_between_cells(cell[:, at], clipped)
    return np.argsort(-strength, kind="stable")[:most]


def _strongest_pairs(z: Array, ratio: Array, parameters: Integers) -> list[tuple[int, int]]:
    """Pairs of some parameters, that over whose cells the mean log ratio varies most first."""
    clipped = np.clip(ratio, -_CLIP, _CLIP)
    strips = {}
    for parameter in parameters:
        edges = np.quantile(z[:, parameter], np.arange(1, _STRIPS) / _STRIPS)
        strips[int(parameter)] = np.searchsorted(edges, z[:, parameter], side="right")
    combinations = [(a, b) for i, a in enumerate(strips) for b in list(strips)[i + 1 :]]
    strength = [
        variance_between_cells(_STRIPS * strips[a] + strips[b], clipped) for a, b in combinations
    ]
    return [
        combinations[i] for i in np.argsort([-variance for variance in strength], kind="stable")
    ]


def cell_edges(values: Array, standardised: bool) -> Array:
    """Edges (C + 1,) of cells over draws (P,): within 3 sds, or where nearly all lie."""
    if standardised:
        return np.linspace(-_REACH, _REACH, _CELLS + 1)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _CELLS + 1)


def ratio_plane(across: Array, up: Array, ratio: Array, sides: tuple[Array, Array]) -> Array:
    """Log of the mean ratio (C, C), rows up; nan where fewer than FEWEST draws lie.

    The mean of p/q over q's draws in a cell is p's mass there over q's; a mean of logarithms
    would be below 0 wherever the ratio varies within a cell.
    """
    bins = sides[1], sides[0]
    counts, _, _ = np.histogram2d(up, across, bins=bins)
    sums, _, _ = np.histogram2d(up, across, bins=bins, weights=_times(ratio))
    few = counts < FEWEST
    return np.where(few, np.nan, np.log(np.where(few, 1, sums) / np.maximum(counts, 1)))


def _ratio_line(values: Array, ratio: Array, side: Array) -> Array:
    """Log of the mean ratio along one parameter, and half of its 95% interval: (2, C)."""
    times = _times(ratio)
    counts, _ = np.histogram(values, side)
    sums, _ = np.histogram(values, side, weights=times)
    squares, _ = np.histogram(values, side, weights=times**2)
    few, some = counts < FEWEST, np.maximum(counts, 1)
    mean = np.where(few, 1, sums) / some
    half = 1.96 * np.sqrt(np.maximum(squares / some - mean**2, 0) / some) / mean
    return np.where(few, np.nan, np.stack([np.log(mean), half]))


def _times(ratio: Array) -> Array:
    return np.exp(np.clip(ratio, -_CLIP, _CLIP))
