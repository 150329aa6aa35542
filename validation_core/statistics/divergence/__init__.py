"""Symmetric divergence between p(theta | x) and q(theta | x), within each x, in nats.

With r = log p(theta, x) - log q(theta | x), the truth theta_i and q's draws theta_ik at x_i,
d_i = r(theta_i) - mean_k r(theta_ik) has the mean KL(p || q) + KL(q || p), averaged over x. What
depends on x alone cancels in each row; rows are never pooled before that.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithms 1 and 4.
"""

from validation_core.statistics.divergence.intervals import (
    Divergence,
    Means,
    divergence,
    means,
)
from validation_core.statistics.divergence.logits import Calibrated, from_logits
from validation_core.statistics.divergence.relabelled import (
    RELABELINGS,
    Relabelled,
    relabelled,
)
from validation_core.statistics.divergence.tails import HEAVY, tail_shape
from validation_core.statistics.divergence.terms import (
    differences,
    importance_weighted,
    paired,
    paired_auc,
    weighted,
)

__all__ = [
    "HEAVY",
    "RELABELINGS",
    "Calibrated",
    "Divergence",
    "Means",
    "Relabelled",
    "differences",
    "divergence",
    "from_logits",
    "importance_weighted",
    "means",
    "paired",
    "paired_auc",
    "relabelled",
    "tail_shape",
    "weighted",
]
