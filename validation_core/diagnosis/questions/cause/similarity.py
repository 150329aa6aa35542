"""How like the injected tables of each cause a table is.

Features are counted in sd of the null tables, compressed so that strong and weak defects of one
kind lie on one line, and decorrelated by how injected tables of one shape and strength scatter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from validation_core.diagnosis.questions.cause.reference_sets import ReferenceSets
from validation_core.types import Array

COUNTED = 20
"""Nearest injected tables that are counted by cause."""
_NEAREST = 5  # injected tables of a shape whose mean distance counts
_POWER = 8.0  # of the distance, with which weights fall: 10% farther: less than half as likely
_DEGREE = 3  # of a shape's trajectory with the logarithm of its strength
_FINE = 40  # places on that trajectory
_SHRINK, _RIDGE = 0.3, 0.1
_LEAST_SD = 0.005  # of features that null tables hardly vary in
_FOLLOWING = 0.1  # contraction at which a q is taken to follow x
_PENALTY = 0.5  # a share of the distance
_SHOWS, _SHOWN = {"support_leak": "leak_max"}, 2.5  # features without which a cause is unlikely
_AROUND = 10  # nearest injected tables of a cause that place it in the plane
_LOOKED = 7  # nearest shapes that are looked at more closely
_PLACED = 4  # causes that the plane is chosen for


@dataclass(frozen=True, eq=False)
class CauseSimilarity:
    """How like each cause's injected tables a table is."""

    weights: Mapping[str, float]
    """By cause, largest first; they sum to 1."""
    variant: Mapping[str, int]
    """The shape of each cause that is most like it."""
    apart: Mapping[str, float]
    """Distance to that shape, in typical distances of a table from others of its own shape."""
    strength: Mapping[str, tuple[float, float, float]]
    """That shape's strength where it is most like it: middle, low, high."""
    shares: Mapping[str, float]
    """Of the injected tables nearest to this one, as if each cause had as many."""
    close: Mapping[int, float]
    """The nearest shapes, each with its strength: those worth a closer look."""
    places: Array
    """Of all injected tables in a plane in which the likeliest causes lie apart: (I, 2)."""
    null_places: Array
    """Of null tables: (B, 2)."""


def null_pvalue(null: Array) -> float:
    """Whether the first of exchangeable rows (1 + B, F) stands out: exact, never 0.

    By the largest feature and by the sum of squares, whichever is rarer: both and their
    combination treat all rows alike, so that any row is as likely as any other to be the
    farthest out.
    """
    spread = null.std(0)
    z = (null - null.mean(0)) / np.where(spread > 0, spread, 1.0)
    largest, total = np.abs(z).max(1), np.square(_compressed(z)).sum(1)
    rank = np.minimum(*((a[:, None] <= a).sum(1) for a in (largest, total)))
    return float((rank <= rank[0]).mean())


def classify_cause(sets: ReferenceSets, contraction: float) -> CauseSimilarity:
    """Weights of the causes for this table.

    Args:
        contraction: share of q's variance that lies between the rows: a q that follows x is not
            blind to it, whatever its residuals do.
    """
    mean = sets.null[1:].mean(0)
    sd = np.maximum(sets.null[1:].std(0), _LEAST_SD)
    points, own, null = (
        _compressed((a - mean) / sd) for a in (sets.injected, sets.observed, sets.null[1:])
    )
    z = dict(zip(sets.names, (sets.observed - mean) / sd, strict=True))
    trajectories, scatter = _trajectories(sets, points)
    values, vectors = np.linalg.eigh(scatter)
    turn = vectors / np.sqrt(values)
    points, own, null = (a @ turn for a in (points, own, null))
    distance = np.linalg.norm(points - own, axis=1)
    far, strength, typical = {}, {}, {}
    for v, (grid, trajectory) in enumerate(trajectories):
        mine = sets.of == v
        along = np.linalg.norm(trajectory @ turn - own, axis=1)
        near = np.sort(distance[mine])[:_NEAREST].mean()
        far[v] = float(np.sqrt(near * along.min())) * _unlikely(sets, v, z, contraction)
        strength[v] = _likely(grid, along)
        between = np.linalg.norm(points[mine][:, None] - trajectory @ turn, axis=2)  # (each, fine)
        typical[v] = float(np.median(between.min(1)))
    return _by_cause(sets, far, strength, points, own, null, typical)


def _unlikely(sets: ReferenceSets, v: int, z: Mapping[str, float], contraction: float) -> float:
    """Factor of the distance from a shape that q cannot have, or that does not show."""
    shape = sets.variants[v]
    if shape.needs_blindness:
        return 1 + _PENALTY * min(max(contraction, 0.0) / _FOLLOWING, 1.0)
    shows = _SHOWS.get(shape.cause)
    return 1 + _PENALTY if shows and z[shows] < _SHOWN else 1.0


def _by_cause(
    sets: ReferenceSets,
    far: Mapping[int, float],
    strength: Mapping[int, tuple[float, float, float]],
    points: Array,
    own: Array,
    null: Array,
    typical: Mapping[int, float],
) -> CauseSimilarity:
    cause = [v.cause for v in sets.variants]
    best: dict[str, int] = {}
    for v in sorted(far, key=far.__getitem__):
        best.setdefault(cause[v], v)
    distance = {name: far[v] for name, v in best.items()}
    least = max(min(distance.values()), 1e-9)
    like = {name: (max(d, 1e-9) / least) ** -_POWER for name, d in distance.items()}
    total = sum(like.values())
    order = sorted(like, key=like.__getitem__, reverse=True)
    near = sorted(far, key=far.__getitem__)[:_LOOKED]
    close = dict.fromkeys([*(best[name] for name in order[:_PLACED]), *near])
    plane = _plane(sets, points, own, [best[name] for name in order[:_PLACED]])
    return CauseSimilarity(
        weights={name: like[name] / total for name in order},
        variant={name: best[name] for name in order},
        apart={name: distance[name] / typical[best[name]] for name in order},
        strength={name: strength[best[name]] for name in order},
        shares=_shares(sets, np.linalg.norm(points - own, axis=1)),
        close={v: strength[v][0] for v in close},
        places=(points - own) @ plane,
        null_places=(null - own) @ plane,
    )


def _shares(sets: ReferenceSets, distance: Array) -> dict[str, float]:
    """Shares of the causes among the nearest injected tables, shapes weighted equally."""
    nearest = distance.argsort()[:COUNTED]
    many = np.bincount(sets.of, minlength=len(sets.variants))
    weights: dict[str, float] = {}
    for i in nearest:
        cause = sets.variants[sets.of[i]].cause
        weights[cause] = weights.get(cause, 0.0) + 1 / many[sets.of[i]]
    total = sum(weights.values())
    return {cause: share / total for cause, share in weights.items()}


def _compressed(z: Array) -> Array:
    return np.sign(z) * np.log1p(np.abs(z) / 2)


def _trajectories(sets: ReferenceSets, points: Array) -> tuple[list[tuple[Array, Array]], Array]:
    """Each shape's strengths with the features there, and how tables scatter about them."""
    trajectories, left = [], []
    for v, shape in enumerate(sets.variants):
        mine = sets.of == v
        place = shape.place(sets.strengths[mine])
        grid = np.linspace(place.min(), 1, _FINE)
        powers = np.arange(_DEGREE + 1)
        at = place[:, None] ** powers
        weights = np.linalg.lstsq(at, points[mine], rcond=None)[0]
        left.append(points[mine] - at @ weights)
        trajectories.append((shape.strengths(grid), grid[:, None] ** powers @ weights))
    off = np.concatenate(left)
    scatter = off.T @ off / len(off)
    diagonal = np.diag(scatter)
    shrunk = (1 - _SHRINK) * scatter + np.diag(_SHRINK * diagonal + _RIDGE * diagonal.mean())
    return trajectories, shrunk


def _likely(grid: Array, distance: Array) -> tuple[float, float, float]:
    """The strength nearest on a trajectory, and the range over which it is hardly farther."""
    close = grid[distance <= 1.1 * distance.min()]
    return float(grid[distance.argmin()]), float(close[0]), float(close[-1])


def _plane(sets: ReferenceSets, points: Array, own: Array, shapes: list[int]) -> Array:
    """Two orthonormal directions (F, 2) in which the table and its likeliest causes lie apart."""
    distance = np.linalg.norm(points - own, axis=1)
    centres = [np.zeros(points.shape[1])]
    for v in shapes:
        mine = np.flatnonzero(sets.of == v)
        centres.append(points[mine[distance[mine].argsort()[:_AROUND]]].mean(0) - own)
    return np.linalg.svd(np.array(centres) - np.mean(centres, axis=0))[2][:2].T
