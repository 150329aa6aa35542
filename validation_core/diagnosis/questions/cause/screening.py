"""Which of many parameters stand out, with a p-value that knows of the choice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.relabelling.played_truths import pick_slots_after_observed
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond
from validation_core.types import PosteriorTable

LABELLINGS = 199
"""Of the p-value of what is chosen."""
_SCREENED, _DRAWS, _MOST_ROWS = 8_000_000, 40, 1500


class Screening(NamedTuple):
    """Parameters by how much their own ranks stand out."""

    order: NDArray[np.intp]
    """The clearest first."""
    pvalue: float
    """That the clearest of all stands out so much, by relabelling: exact."""


def screening(table: PosteriorTable, seed: int) -> Screening:
    """Place, width, skew and tails of every parameter's ranks, and how clear the clearest is."""
    n, k, d = table.q.shape
    many = min(k, _DRAWS)
    rows = np.linspace(0, n - 1, max(min(n, _MOST_ROWS, _SCREENED // ((many + 1) * d)), 2))
    rows = rows.astype(int)
    draws = np.linspace(0, k - 1, many).astype(int)
    rng = stream(seed, "cause", "screening")
    points = np.concatenate([table.theta[rows, None], table.q[np.ix_(rows, draws)]], axis=1)
    order = (rng.random(points.shape)).argsort(1)  # ties are broken at random
    mixed = np.take_along_axis(points, order, axis=1)
    place = np.take_along_axis(order, mixed.argsort(1, kind="stable"), axis=1)
    ranks = np.empty(place.shape, np.int64)
    np.put_along_axis(ranks, place, np.arange(many + 1)[None, :, None], axis=1)
    score = ndtri((np.arange(many + 1) + 0.5) / (many + 1))
    moments = np.stack([score, score**2, score**3 - 3 * score, score**4 - 6 * score**2], axis=1)
    moments = (moments - moments.mean(0)) / moments.std(0)
    which = pick_slots_after_observed(LABELLINGS, len(rows), many + 1, rng)
    clearest = np.empty(len(which))
    at = np.arange(len(rows))
    own = np.zeros(d)
    for b, slots in enumerate(which):
        z = np.abs(moments[ranks[at, slots]].sum(0)).max(1) / np.sqrt(len(rows))  # (D,)
        clearest[b] = z.max()
        if b == 0:
            own = z
    return Screening(np.argsort(-own), float(share_beyond(clearest[0], clearest[1:])))
