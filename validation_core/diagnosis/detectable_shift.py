"""The smallest shift, in posterior sds, that a test of a table finds with 80% power."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from validation_core.rng import stream
from validation_core.statistics.two_sample_laws import kolmogorov_quantile

POWER = 0.8
_WIDEST = 4.0  # posterior sds: a larger shift needs no test
_CELLS = 80_000  # trials times rows of one simulated power: its shift is known to about 3%
_ROWS = 1000
_STEPS = 7  # halvings of the bracket, to 3% of its middle


@lru_cache(maxsize=256)
def detectable_shift_by_ranks(n: int, k: int, level: float) -> float:
    """Shift of one parameter that a KS test of n ranks among k draws finds with 80% power.

    Simulated for a posterior of normal shape: the truth ranks among q's draws as z + shift does
    among standard normals, so that the number of draws below it is Binomial(k, Phi(z + shift)).
    Above 1000 rows the shift is scaled from there with 1 / sqrt(n).

    Args:
        n: simulations.
        k: draws of q at each.
        level: of this one KS test, all corrections included.
    """
    rows = min(n, _ROWS)
    trials = min(_CELLS // rows, 400)
    z = stream(0, "sensitivity", rows, "truths").standard_normal((trials, rows))
    critical = kolmogorov_quantile(level, rows)
    # A shift moves the ranks' law by at most shift / sqrt(2 pi) (less with few draws), and 80%
    # power needs about the critical distance.
    low, high = 0.0, min(2 * critical * np.sqrt(2 * np.pi) * (k + 1) / k, _WIDEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        power = _power(z + middle, k, critical)
        low, high = (low, middle) if power >= POWER else (middle, high)
    return float(high * np.sqrt(rows / n))


def _power(shifted: np.ndarray, k: int, critical: float) -> float:
    # The same stream at every shift: the bracket narrows on one curve, not on noise.
    rng = stream(0, "sensitivity", shifted.shape[1], k)
    u = (rng.binomial(k, ndtr(shifted)) + rng.random(shifted.shape)) / (k + 1)
    u.sort(axis=-1)
    n = u.shape[-1]
    steps = np.arange(n) / n
    distance = np.maximum((u - steps).max(-1), (steps + 1 / n - u).max(-1))
    return float((distance > critical).mean())


def detectable_shift_by_relabelling(n: int, k: int, critical: float) -> float:
    """Shift of one parameter that relabelling within x finds with 80% power by its mean score.

    The mean of the true values' normal scores among q's k draws drifts by the shift times their
    correlation with the expected order statistics: 1 with many draws, .56 with one.

    Args:
        n: simulations.
        k: draws of q at each.
        critical: the standardised mean from which on it is found.
    """
    points = k + 1
    place = np.arange(1, points + 1)
    score = ndtri((place - 0.5) / points)
    expected = ndtri((place - 0.375) / (points + 0.25))  # Blom 1958
    drift = float((score * expected).mean() / score.std())
    return float(min((critical + ndtri(POWER)) / (np.sqrt(n) * drift), _WIDEST))


def detectable_shift_by_scores(n_p: int, n_q: int, level: float) -> float:
    """Shift of one quantity that Multiple finds with 80% power when its score is the best one.

    For N(0, 1) against N(shift, 1) the best score has AUC Phi(shift / sqrt 2); the mean rank is
    normal with variance (1/n_p + 1/n_q) / 12. A trained classifier finds less.

    Args:
        n_p: rows of sample p.
        n_q: rows of sample q.
        level: of this one test, all corrections included.
    """
    sd = np.sqrt((1 / n_p + 1 / n_q) / 12)
    auc = 0.5 + (ndtri(1 - level) + ndtri(POWER)) * sd
    return float(min(np.sqrt(2) * ndtri(auc), _WIDEST)) if auc < 1 else _WIDEST
