"""A mode that q has no draws in: true values that lie apart from it, with a gap between.

Injected tables cannot show it: they are made of q's own draws, which know nothing of a mode that q
lacks.
"""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.questions.cause.findings import _Finding, _PreparedTable
from validation_core.rng import stream
from validation_core.statistics import clopper_pearson
from validation_core.statistics.modes import modality

LEVEL = 0.01
"""Of Silverman's test, over all parameters looked at."""
_LEAST, _TIMES = 0.05, 3.0  # share of true values there, and times q's share, at least
_FROM = 1.5  # posterior sd from q's centre: the gap lies beyond
_SAMPLES = 999
_MOST = 8  # parameters: those in which most true values lie far out


def missed_mode(table: _PreparedTable) -> _Finding | None:
    """The parameter in which most true values lie beyond a gap that q's draws do not cross.

    Its number is the share of true values there with its exact interval; `right` is q's share,
    `level` how far their middle lies from q's centre, in posterior sd. The farthest values, fewer
    than such a mode has, take no part in the test: each of a long tail's looks like a mode. They
    are left out, not moved nearer, which would pile them up.
    """
    ranked = table.ranked
    middle, scale = ranked.scale
    z = (ranked.points - middle) / scale
    truth, draws = z[:, 0], z[:, 1:]
    far = (np.abs(truth) > 2 * _FROM).mean(0)
    chosen = [int(i) for i in np.argsort(-far)[:_MOST] if far[i] >= _LEAST]
    best: _Finding | None = None
    for i in chosen:
        off = np.abs(truth[:, i])
        near = truth[off <= np.quantile(off, 1 - _LEAST), i]
        if not np.ptp(near) > 0:
            continue
        seen = modality(near, stream(table.seed, "cause", "modes", i), _SAMPLES)
        if seen.pvalue > LEVEL / len(chosen) or not abs(seen.valley) >= _FROM:
            continue
        side = 1.0 if seen.valley > 0 else -1.0
        beyond = side * truth[:, i] > side * seen.valley
        theirs = float((side * draws[..., i] > side * seen.valley).mean())
        low, high = clopper_pearson(int(beyond.sum()), len(beyond))
        share = float(beyond.mean())
        if share < _LEAST or low < _TIMES * theirs or (best and best.value >= share):
            continue
        place = float(np.median(truth[beyond, i]))
        best = _Finding(
            "apart", share, float(low), float(high), theirs, at=(i,), level=round(place, 2)
        )
    return best
