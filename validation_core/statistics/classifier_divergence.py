"""d of a classifier, whose logits are put on the scale of log ratios."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from validation_core.types import Float

_STEPS, _SMALL = 50, 1e-9  # of Newton's method for a slope


class _Calibrated(NamedTuple):
    """d of a learnt logit that was put on the scale of log ratios by rows other than its own."""

    d: Float
    slope: float
    """Factor of the logits; below 1, the classifier was over-confident."""


def from_logits(truth: ArrayLike, draws: ArrayLike, rng: np.random.Generator) -> _Calibrated:
    """d (n,) from a classifier's logits at the truths (n,) and at q's draws (n, K).

    A calibrated logit is the log ratio of the laws of the logit itself under p and q, so that
    its mean d is the symmetric divergence of these two laws: at most that of p and q, by as much
    as the classifier overlooks. Logits are calibrated by a slope alone, learnt by logistic
    regression on one half of the rows and used on the other, and the other way round: where they
    are no multiple of a calibrated logit, as the cube of one, their mean d can exceed it.

    Args:
        truth: logits of "this is the truth" (n,), of rows the classifier did not learn from.
        draws: the same at q's draws (n, K).
        rng: halves the rows.

    Raises:
        ValueError: with fewer than four rows.
    """
    own, draw_logits = np.asarray(truth, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    n = len(own)
    if n < 4:
        raise ValueError(
            f"logits are calibrated on one half of the rows and used on the other; got {n} rows; "
            f"bring four or more"
        )
    order = rng.permutation(n)
    halves = order[: n // 2], order[n // 2 :]
    d, slopes = own - draw_logits.mean(1), np.empty(2)
    for i, (learn, use) in enumerate((halves, halves[::-1])):
        slopes[i] = _slope(own[learn], draw_logits[learn])
        d[use] *= slopes[i]
    return _Calibrated(d, float(slopes.mean()))


def _slope(truth: Float, draws: Float) -> float:
    """By logistic regression on logits (n,) of truths and (n, K) of draws, of equal weight.

    The targets are a little inside 0 and 1 (Platt, 1999), so that halves which a logit tells
    apart entirely have a finite slope.
    """
    first = np.concatenate([truth, draws[:, 0]])
    scale = float(first.std())
    if not scale > 0:
        return 0.0
    n, k = draws.shape
    x = (np.concatenate([truth, draws.ravel()]) - first.mean()) / scale
    weight = np.concatenate([np.full(n, 0.5 / n), np.full(n * k, 0.5 / (n * k))])
    high = (n + 1) / (n + 2)
    target = np.concatenate([np.full(n, high), np.full(n * k, 1 - high)])

    def loss(at: Float) -> float:
        line = at[0] * x + at[1]
        return float(weight @ (np.logaddexp(0.0, line) - target * line))

    at, now = np.zeros(2), np.log(2)
    for _ in range(_STEPS):
        chance = expit(at[0] * x + at[1])
        residual, spread = weight * (target - chance), weight * chance * (1 - chance)
        cross = spread @ x
        hessian = np.array([[spread @ (x * x), cross], [cross, spread.sum()]]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, [residual @ x, residual.sum()])
        while (then := loss(at + step)) > now and np.abs(step).max() > _SMALL:
            step = step / 2
        if not then < now - 1e-14:
            break
        at, now = at + step, then
    return float(at[0] / scale)
