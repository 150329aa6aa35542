"""The classifier two-sample test: does thresholding the score tell p from q?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from validation_core.statistics import two_sample_laws
from validation_core.statistics.ranks import require_numbers
from validation_core.types import Float


class _AccuracyTest(NamedTuple):
    """Accuracy (...) with two p-values (...), and hits of each side.

    `pvalue` takes the nominal variance of a fair coin, as C2ST is used; `pvalue_per_class` the
    binomial variances of both sides, which a biased threshold makes far smaller. None is 0.
    """

    accuracy: Float
    pvalue: Float
    pvalue_per_class: Float
    p_hits: Float
    q_hits: Float


def c2st(p: ArrayLike, q: ArrayLike, threshold: float = 0.0) -> _AccuracyTest:
    """Accuracy of calling p what scores above the threshold, and its one-sided p-values.

    A score at the threshold is called q. With n_p != n_q the accuracy is balanced, so that a
    constant score has 1/2 whichever side is larger; with equal sizes that is the plain accuracy.
    P-values are normal; where a side has fewer than `two_sample_laws.SMALL` scores they are exact:
    the nominal one by both sides' binomial laws, the per-class one given how many scores lie above
    the threshold. Where neither side varies, the normal per-class p-value is the nominal one.

    Args:
        p: held-out scores (..., n_p) of draws from p.
        q: held-out scores (..., n_q) of draws from q, independent of p's.
        threshold: 0 for logits.

    Raises:
        ValueError: if either side has fewer than two scores, or one is NaN.
    """
    p, q = (require_numbers(np.asarray(side, dtype=np.float64)) for side in (p, q))
    if min(p.ndim, q.ndim) < 1 or min(p.shape[-1], q.shape[-1]) < 2:
        raise ValueError(
            "accuracy is measured on samples of at least two each; got shapes "
            f"{p.shape} and {q.shape}; draw more"
        )
    n_p, n_q = p.shape[-1], q.shape[-1]
    p_hits = np.count_nonzero(p > threshold, axis=-1).astype(np.float64)
    q_hits = np.count_nonzero(q <= threshold, axis=-1).astype(np.float64)
    p_hits, q_hits = np.broadcast_arrays(p_hits, q_hits)
    accuracy = (p_hits / n_p + q_hits / n_q) / 2
    pvalues = (_exact if min(n_p, n_q) < two_sample_laws.SMALL else _normal)(
        p_hits, q_hits, n_p, n_q
    )
    return _AccuracyTest(accuracy, *pvalues, p_hits, q_hits)


def _exact(p_hits: Float, q_hits: Float, n_p: int, n_q: int) -> tuple[Float, Float]:
    above = p_hits, n_q - q_hits
    return two_sample_laws.accuracy(*above, n_p, n_q), two_sample_laws.conditional(
        *above, n_p, n_q
    )


def _normal(p_hits: Float, q_hits: Float, n_p: int, n_q: int) -> tuple[Float, Float]:
    rate_p, rate_q = p_hits / n_p, q_hits / n_q
    nominal = (1 / n_p + 1 / n_q) / 16
    per_class = (rate_p * (1 - rate_p) / n_p + rate_q * (1 - rate_q) / n_q) / 4
    per_class = np.where(per_class > 0, per_class, nominal)
    excess = (rate_p + rate_q) / 2 - 0.5
    nominal_p, per_class_p = (ndtr(-excess / np.sqrt(each)) for each in (nominal, per_class))
    return np.maximum(nominal_p, two_sample_laws.TINY), np.maximum(
        per_class_p, two_sample_laws.TINY
    )
