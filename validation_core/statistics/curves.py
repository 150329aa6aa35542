"""Principal curves: the smooth line through the middle of a cloud in the plane, and how it bends.

Smoothing is by penalised splines (Eilers & Marx) whose penalty is on the third derivative: a
parabola passes unpenalised, so that smoothing flattens changes of curvature, not curvature itself.

References:
    Principal curves, Hastie & Stuetzle (1989), Sections 3 and 5.
    Flexible smoothing with B-splines and penalties, Eilers & Marx (1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.types import Float

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

FREEDOM = (4.0, 30.0)
"""Limits of a smoother's degrees of freedom: a parabola has 3, the basis 40."""
_DEGREE = 4  # curvature, from second derivatives, is then smooth too
_BASIS = 40
_FINE = 400  # points of the polyline that the samples are projected on
_STRETCH = 0.1  # how far the ends are drawn out, so that samples beyond them keep their order
_GRID = 200  # points of the result
_TRIM = 0.01  # share of the samples beyond either end of the result, where too few lie to tell
_TOLERANCE = 1e-3  # relative change of the mean squared distance at which it has settled
_MOST = 50  # iterations


class _PrincipalCurve(NamedTuple):
    """A curve through G points, from one end of the cloud to the other."""

    points: Float  # (G, 2)
    arc: Float  # (G,), arc length from the first point
    curvature: Float  # (G,), signed: positive where it turns left, negative where right
    distance: float
    """Mean squared distance of the samples from the curve."""
    settled: bool
    """Whether that distance stopped changing before the iterations ran out."""

    @property
    def length(self) -> float:
        """Arc length of the whole curve."""
        return float(self.arc[-1])

    @property
    def total_abs_curvature(self) -> float:
        """Integral of |curvature| over arc length: radians turned in all."""
        return float(np.trapezoid(np.abs(self.curvature), self.arc))


def principal_curve(
    samples: ArrayLike, *, freedom: float = 5.0, start: ArrayLike | None = None
) -> _PrincipalCurve:
    """Hastie and Stuetzle's principal curve of samples (n, 2): project, smooth, repeat.

    Noise pushes the curve a little to the outside of its bends and smoothing to the inside; both
    are small where the noise's sd is small against the radius of curvature.

    Args:
        samples: the cloud (n, 2), at least 20 points.
        freedom: degrees of freedom of each coordinate's smoother, 4 to 30. A parabola has 3; a
            curve of several turns needs more, and a cloud hardly longer than wide fewer.
        start: a polyline (m, 2) to begin with; the first principal component where None. A cloud
            that folds over itself along that line needs one.

    Raises:
        ValueError: for samples or a start that are none, or too little freedom or too much.
    """
    cloud = _cloud(samples)
    if not FREEDOM[0] <= freedom <= FREEDOM[1]:
        raise ValueError(
            f"degrees of freedom lie between {FREEDOM[0]:g} and {FREEDOM[1]:g}; got {freedom:g}; "
            "give 5 for one bend or two"
        )
    place, distance = project_on_polyline(
        cloud, _first_component(cloud) if start is None else _start(start)
    )
    settled = False
    for _ in range(_MOST):
        fitted, before = place, distance
        curve = _smooth(fitted, cloud, freedom)
        place, distance = project_on_polyline(cloud, _polyline(curve, fitted))
        settled = abs(before - distance) <= _TOLERANCE * before
        if settled:
            break
    low, high = np.quantile(fitted, [_TRIM, 1 - _TRIM])
    return _described(curve, np.linspace(low, high, _GRID), distance, settled)


def project_on_polyline(samples: Float, line: Float) -> tuple[Float, float]:
    """Where along a polyline (m, 2) each sample (n, 2) lies nearest, as arc length: (n,).

    Segments beside the nearest vertex are searched: exact where vertices lie dense.

    Returns:
        arc lengths (n,) and the mean squared distance.
    """
    from scipy.spatial import cKDTree

    step = np.diff(line, axis=0)
    squared = np.maximum((step**2).sum(-1), np.finfo(float).tiny)
    arc = np.append(0.0, np.cumsum(np.sqrt(squared)))
    _, vertex = cKDTree(line).query(samples)
    sides = np.clip(np.stack([vertex - 1, vertex]), 0, len(step) - 1)  # (2, n) segments
    away = samples - line[sides]  # (2, n, 2)
    share = np.clip((away * step[sides]).sum(-1) / squared[sides], 0.0, 1.0)
    distance = ((away - share[..., None] * step[sides]) ** 2).sum(-1)
    nearer = distance.argmin(axis=0), np.arange(len(samples))
    place = arc[sides] + share * np.sqrt(squared[sides])
    return place[nearer], float(distance[nearer].mean())


def _cloud(samples: ArrayLike) -> Float:
    cloud = np.asarray(samples, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1] != 2 or len(cloud) < 20:
        raise ValueError(
            f"a principal curve passes through samples (n, 2), 20 or more; got {cloud.shape}; "
            "choose two coordinates, or draw more"
        )
    if not np.isfinite(cloud).all():
        raise ValueError("samples are finite; got NaN or infinity; drop those rows")
    if not np.ptp(cloud, axis=0).any():
        raise ValueError("samples differ from each other; got one point repeated; draw others")
    return cloud


def _start(start: ArrayLike) -> Float:
    """A given polyline, with vertices as dense as the projection needs them."""
    line = np.asarray(start, dtype=np.float64)
    if line.ndim != 2 or line.shape[1] != 2 or len(line) < 2:
        raise ValueError(
            f"a start is a polyline (m, 2) of two points or more; got {line.shape}; "
            "give its corners"
        )
    arc = np.append(0.0, np.cumsum(np.hypot(*np.diff(line, axis=0).T)))
    dense = np.linspace(0.0, arc[-1], _FINE)
    return np.stack([np.interp(dense, arc, line[:, axis]) for axis in (0, 1)], axis=1)


def _first_component(cloud: Float) -> Float:
    """The line through the mean along which the cloud is longest, towards its larger values."""
    centred = cloud - cloud.mean(axis=0)
    along = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    along = along * np.sign(along[np.abs(along).argmax()])
    reach = centred @ along
    return _start(cloud.mean(axis=0) + np.outer([reach.min(), reach.max()], along))


def _smooth(place: Float, cloud: Float, freedom: float) -> BSpline:
    """Both coordinates of the cloud (n, 2) smoothed over the places (n,).

    In the basis that diagonalises fit and penalty at once, with shares mu of the fit, the
    smoother has sum mu / (mu + weight (1 - mu)) degrees of freedom.
    """
    from scipy.interpolate import BSpline
    from scipy.linalg import eigh
    from scipy.optimize import brentq

    low, high = place.min(), place.max()
    inner = _BASIS - _DEGREE
    knots = low + (high - low) / inner * np.arange(-_DEGREE, inner + _DEGREE + 1)
    knots[_DEGREE], knots[-_DEGREE - 1] = low, high  # rounding would leave the ends outside
    basis = BSpline.design_matrix(place, knots, _DEGREE).toarray()  # (n, 40)
    fit = basis.T @ basis
    third = np.diff(np.eye(_BASIS), 3, axis=0)
    penalty = third.T @ third
    penalty *= np.trace(fit) / np.trace(penalty)
    share, vectors = eigh(fit, fit + penalty)
    share = np.clip(share, 0.0, 1.0)

    def excess(log_weight: float) -> float:
        return float((share / (share + np.exp(log_weight) * (1 - share))).sum() - freedom)

    # Samples at a few places only cannot use the freedom; they get what there is.
    log_weight = -20.0 if excess(-20.0) <= 0 else brentq(excess, -20.0, 40.0)
    shrunk = (vectors.T @ (basis.T @ cloud)) / (share + np.exp(log_weight) * (1 - share))[:, None]
    return BSpline(knots, vectors @ shrunk, _DEGREE)


def _polyline(curve: BSpline, place: Float) -> Float:
    """Dense points of a curve (m, 2), its ends drawn out straight."""
    line = curve(np.linspace(place.min(), place.max(), _FINE))
    length = np.hypot(*np.diff(line, axis=0).T).sum()
    first, last = line[0] - line[1], line[-1] - line[-2]
    ends = [_STRETCH * length * end / max(np.hypot(*end), 1e-300) for end in (first, last)]
    return np.concatenate([line[:1] + ends[0], line, line[-1:] + ends[1]])


def _described(curve: BSpline, at: Float, distance: float, settled: bool) -> _PrincipalCurve:
    velocity, bend = curve(at, 1), curve(at, 2)  # (G, 2)
    speed = np.maximum(np.hypot(*velocity.T), np.finfo(float).tiny)
    turn = velocity[:, 0] * bend[:, 1] - velocity[:, 1] * bend[:, 0]
    steps = np.diff(at) * (speed[1:] + speed[:-1]) / 2
    arc = np.append(0.0, np.cumsum(steps))
    return _PrincipalCurve(curve(at), arc, turn / speed**3, distance, settled)
