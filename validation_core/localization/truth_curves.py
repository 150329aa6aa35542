"""The principal curve of the true draws of a map: the curvature of the posterior."""

from __future__ import annotations

import numpy as np

from validation_core.keys import digest
from validation_core.localization.maps import Maps, TruthCurve
from validation_core.rng import stream

_SHOWN = 2000  # true draws that the curve is fitted to
_FEWEST = 200
_FREEDOM = 8.0
_BENDS_KEPT = 16
TRUTH_CURVES: dict[str, TruthCurve | None] = {}  # by the draws that they follow


def truth_curve(maps: Maps) -> TruthCurve | None:
    """Hastie and Stuetzle's principal curve of the truth at all places; None unless D = 2.

    Where x is a number the curve starts from the truth's means along it, so that a spiral is
    followed and not crossed. Kept: it takes seconds, and maps of one benchmark share their truth.
    """
    if maps.spine is not None:
        return maps.spine
    key = digest(truth=np.asarray(maps.truth), x=np.asarray(maps.x_at))
    if key not in TRUTH_CURVES:
        while len(TRUTH_CURVES) >= _BENDS_KEPT:
            TRUTH_CURVES.pop(next(iter(TRUTH_CURVES)), None)
        TRUTH_CURVES[key] = fit_truth_curve(maps)
    return TRUTH_CURVES[key]


def fit_truth_curve(maps: Maps) -> TruthCurve | None:
    """Fit the principal curve of the truths shown; None where they are few or not in a plane."""
    # Splines and their solvers are loaded where a curve is drawn, not with every map.
    from validation_core.statistics.curves import principal_curve

    draws = np.asarray(maps.truth, dtype=np.float64)  # (V, T, 2)
    if draws.shape[2] != 2 or draws[..., 0].size < _FEWEST:
        return None
    cloud = draws.reshape(-1, 2)
    if min(np.ptp(cloud, axis=0)) == 0:
        return None
    few = cloud[stream(0, "bend").permutation(len(cloud))[:_SHOWN]]
    ordered = maps.x_at.shape[1] == 1 and draws.shape[1] > 1
    means = draws.mean(1)
    steps = np.linalg.norm(np.diff(means, axis=0), axis=1)
    moving = ordered and bool((steps > 0).all()) and np.std(steps) < np.mean(steps)
    curve = principal_curve(few, freedom=_FREEDOM, start=means if moving else None)
    return TruthCurve(curve.points, curve.length, curve.total_abs_curvature)
