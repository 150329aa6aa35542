"""A missed mode: true values apart from all of q's draws, with a gap between."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.questions.cause.findings import Finding
from validation_core.diagnosis.questions.cause.modes import unimodality_test
from validation_core.diagnosis.questions.cause.own_nulls import apart_over_x
from validation_core.diagnosis.questions.cause.prepared_table import PreparedTable
from validation_core.rng import stream
from validation_core.statistics import clopper_pearson

LEVEL = 0.01
"""Of Silverman's test, over all parameters looked at."""
_LEAST, _TIMES = 0.05, 3.0  # share of true values there, and times q's share, at least
_FROM = 1.5  # posterior sd from q's centre: the gap lies beyond
_SAMPLES = 999
_MOST = 8  # parameters: those in which most true values lie far out


def far_group(table: PreparedTable) -> tuple[Finding, bool] | None:
    """True values that lie apart from q's draws, and whether x tells which they are: then q's
    centre is off at those x, and no mode is missed."""
    finding = find_missed_mode(table)
    if finding is None:
        return None
    (i,), middle, scale = finding.at, *table.ranked.scale
    truth = ((table.ranked.points[:, 0] - middle[:, 0]) / scale[:, 0])[:, i]
    edge = 0.5 * (finding.level or 0.0)
    one_side = truth > edge if edge > 0 else truth < edge
    return finding, any(
        apart_over_x(table, group) for group in (one_side, np.abs(truth) > abs(edge))
    )


def find_missed_mode(table: PreparedTable) -> Finding | None:
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
    best: Finding | None = None
    for i in chosen:
        off = np.abs(truth[:, i])
        near = truth[off <= np.quantile(off, 1 - _LEAST), i]
        if not np.ptp(near) > 0:
            continue
        seen = unimodality_test(near, stream(table.seed, "cause", "modes", i), _SAMPLES)
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
        best = Finding(
            "apart", share, float(low), float(high), theirs, at=(i,), level=round(place, 2)
        )
    return best
