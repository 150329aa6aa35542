"""Do scores of p lie above scores of q? Multiple, C2ST and the area under the curve.

References:
    Conformal C2ST, Bansal, Chen & Scott (2025), Section 4 and Appendix A.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from validation_core.statistics import two_sample_laws
from validation_core.statistics.ranks import require_numbers
from validation_core.types import Float, Integers

Counts = Integers


class _AucTest(NamedTuple):
    """The Multiple test: T (...), one-sided p-value (...), AUC with ties as half, sigma (...)."""

    statistic: Float
    pvalue: Float
    auc: Float
    sigma: Float


class _Crossed(NamedTuple):
    """Counts of one side below and at each score of the other, in ascending order of scores."""

    p_below: Counts  # (..., n_q): p scores below each q score
    p_equal: Counts
    q_below: Counts  # (..., n_p): q scores below each p score
    q_equal: Counts
    q_order: Counts  # (..., n_q): which q score stands there

    @property
    def q_middle(self) -> Float:
        """F_half of the q scores at each p score, times n_q: (..., n_p)."""
        middle: Float = self.q_below + 0.5 * self.q_equal
        return middle

    @property
    def auc(self) -> Float:
        """P(score of p above score of q), ties as half: (...)."""
        area: Float = self.q_middle.mean(axis=-1) / self.q_order.shape[-1]
        return area


def multiple(p: ArrayLike, q: ArrayLike, rng: np.random.Generator) -> _AucTest:
    """Mann-Whitney test of scores with the paper's variance; large when p's scores are higher.

    U_j = (#{p < q_j} + xi_j #{p = q_j}) / n_p, sigma^2 = var_i F_half(p_i) + n_p / (12 n_q) and
    T = (1/2 - mean U) sqrt(n_p) / sigma, normal under H0 for independent samples; p = 1 - Phi(T).
    Where a side has fewer than `two_sample_laws.SMALL` scores p is that of the area under the
    curve by the law of all arrangements. No p-value is smaller than one arrangement of all scores
    has.

    Args:
        p: scores (..., n_p) of draws from p.
        q: scores (..., n_q) of draws from q, independent of p's.
        rng: breaks ties, one xi per q score in the order of the array; relabels small samples
            with ties.

    Raises:
        ValueError: if either side has fewer than two scores, or one is NaN.
    """
    sides = _ScorePair(p, q)
    crossed = sides.cross()
    n_p, n_q = sides.sizes
    xi = np.take_along_axis(rng.random(crossed.q_order.shape), crossed.q_order, axis=-1)
    mean_u = (crossed.p_below + xi * crossed.p_equal).mean(axis=-1) / n_p
    variance = (crossed.q_middle / n_q).var(axis=-1, ddof=1) + n_p / (12 * n_q)
    sigma = np.sqrt(variance)
    statistic = (0.5 - mean_u) * np.sqrt(n_p) / sigma
    if min(n_p, n_q) < two_sample_laws.SMALL:
        pvalue = two_sample_laws.mann_whitney_pvalue(sides.p, sides.q, rng)
    else:
        pvalue = np.maximum(ndtr(-statistic), two_sample_laws.smallest_two_sample_pvalue(n_p, n_q))
    return _AucTest(statistic, pvalue, crossed.auc, sigma)


def auc(p: ArrayLike, q: ArrayLike) -> Float:
    """Area under the ROC curve: P(score of p > score of q) + P(equal) / 2.

    Args:
        p: scores (..., n_p) of draws from p.
        q: scores (..., n_q) of draws from q.

    Returns:
        Areas (...).

    Raises:
        ValueError: if either side has fewer than two scores, or one is NaN.
    """
    return _ScorePair(p, q).cross().auc


class _ScorePair:
    """Both samples of scores with their leading axes broadcast."""

    def __init__(self, p: ArrayLike, q: ArrayLike) -> None:
        self.p, self.q = (require_numbers(np.asarray(side, dtype=np.float64)) for side in (p, q))
        if min(self.p.ndim, self.q.ndim) < 1 or min(self.sizes) < 2:
            raise ValueError(
                "scores are compared between samples of at least two each; got shapes "
                f"{self.p.shape} and {self.q.shape}; draw more"
            )

    @property
    def sizes(self) -> tuple[int, int]:
        return np.shape(self.p)[-1], np.shape(self.q)[-1]

    def cross(self) -> _Crossed:
        """Rank both samples together: one sort per leading index, then running counts."""
        n_p, n_q = self.sizes
        lead = np.broadcast_shapes(self.p.shape[:-1], self.q.shape[:-1])
        both = np.empty((*lead, n_p + n_q))
        both[..., :n_p], both[..., n_p:] = self.p, self.q
        order = np.argsort(both, axis=-1)
        first, stop = _tie_groups(np.take_along_axis(both, order, axis=-1))
        is_p = order < n_p
        p_before = np.zeros((*lead, n_p + n_q + 1), dtype=np.int64)
        np.cumsum(is_p, axis=-1, out=p_before[..., 1:])  # p scores before each place
        p_below = np.take_along_axis(p_before, first, axis=-1)
        p_equal = np.take_along_axis(p_before, stop, axis=-1) - p_below
        q_below, q_equal = first - p_below, stop - first - p_equal
        at_p, at_q = (*lead, n_p), (*lead, n_q)
        return _Crossed(
            p_below[~is_p].reshape(at_q),
            p_equal[~is_p].reshape(at_q),
            q_below[is_p].reshape(at_p),
            q_equal[is_p].reshape(at_p),
            order[~is_p].reshape(at_q) - n_p,
        )


def _tie_groups(ordered: Float) -> tuple[Counts, Counts]:
    """For each place of an ascending array, where its run of equal values starts and stops."""
    n = ordered.shape[-1]
    place = np.broadcast_to(np.arange(n), ordered.shape)
    rises = ordered[..., 1:] != ordered[..., :-1]
    if rises.all():
        return place, place + 1
    first, stop = np.zeros(ordered.shape, np.int64), np.full(ordered.shape, n, np.int64)
    first[..., 1:] = np.where(rises, place[..., 1:], 0)
    stop[..., :-1] = np.where(rises, place[..., 1:], n)
    first = np.maximum.accumulate(first, axis=-1)
    stop = np.minimum.accumulate(stop[..., ::-1], axis=-1)[..., ::-1]
    return first, stop
