"""Places x of the prior predictive that stand for all of it."""

from __future__ import annotations

import numpy as np
from scipy.cluster.vq import kmeans2

from validation_core.localization.map_draws import first_component_scores
from validation_core.types import Array


def choose_places(x: Array, count: int, rng: np.random.Generator) -> Array:
    """Rows of x (n, M) nearest to the centres of `count` clusters, along the first component."""
    scale = x.std(0)
    z = (x - x.mean(0)) / np.where(scale > 0, scale, 1.0)
    centres, _ = kmeans2(z, count, minit="++", rng=rng)
    far = np.square(z - centres[:, None]).sum(-1)  # (count, n)
    rows: list[int] = []
    for one in far:  # two empty clusters may lie at one place
        one[rows] = np.inf
        rows.append(int(one.argmin()))
    at = x[rows]
    return np.asarray(at[np.argsort(first_component_scores(x, at), kind="stable")])
