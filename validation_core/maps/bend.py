"""How bent the truth is: the principal curve of the true draws that a map shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from validation_core.maps.record import Maps
from validation_core.rng import stream

if TYPE_CHECKING:
    from validation_core.statistics.curves import PrincipalCurve

_SHOWN = 2000  # true draws that the curve is fitted to
_FEWEST = 200
_FREEDOM = 8.0


def bend(maps: Maps) -> PrincipalCurve | None:
    """Hastie and Stuetzle's principal curve of the truth at all places; None unless D = 2.

    Where x is a number the curve starts from the truth's means along it, so that a spiral is
    followed and not crossed.
    """
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
    return principal_curve(few, freedom=_FREEDOM, start=means if moving else None)
