"""KL divergences, in nats, of moved truths from a q that is near normal."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.injection import NatsOfStrength
from validation_core.diagnosis.injections.moves import FAR_MODE
from validation_core.types import Array


def mean_precision(pool: DrawPool) -> Array | None:
    """Diagonal (D,) of the inverse of the rows' correlation matrices, mean over rows.

    What a bias of one sd in one parameter costs beside the others, times two. None where K draws
    are too few to tell.
    """
    k, d = pool.q.shape[1:]
    if k <= d + 2:
        return None
    inverse = np.square(pool.inverse).sum(1).mean(0)  # of C C': the columns of C^-1, squared
    # The inverse of a sample's covariance is too large on average, by this factor if normal.
    return np.asarray(np.maximum(inverse * (k - d - 2) / (k - 1), 1.0))


def _in_one(pool: DrawPool) -> float | None:
    """The precision in the parameter that holds the defect, or the mean over all."""
    precisions = mean_precision(pool)
    if precisions is None:
        return None
    one = precisions[pool.moving].mean() if pool.parameter is None else precisions[pool.parameter]
    return float(one)


def bias_in_one_nats(pool: DrawPool, strength: float) -> float | None:
    """Nats of one parameter moved by so many posterior sds, mean over parameters."""
    weight = _in_one(pool)
    return None if weight is None else strength**2 / 2 * weight


def bias_in_all_nats(pool: DrawPool, strength: float) -> float | None:
    """Mean over signs, of which a pair of correlated parameters has better and worse ones."""
    precisions = mean_precision(pool)
    return None if precisions is None else strength**2 / 2 * float(precisions[pool.moving].sum())


def _scaled_nats(factor: float, weight: float = 1.0) -> float:
    """KL of a normal whose coordinate of this precision is so many times as wide, from it."""
    mixed = (factor**2 - 1) * weight + 2 * (factor - 1) * (1 - weight)
    return float(mixed / 2 - np.log(factor))


def width_nats(*, single: bool, wide: bool) -> NatsOfStrength:
    """Nats of a q too wide or too narrow, in one parameter or in all, by its strength."""

    def nats(pool: DrawPool, strength: float) -> float | None:
        factor = 1 / strength if wide else strength
        if not single:
            return len(pool.moving) * _scaled_nats(factor)
        weight = _in_one(pool)
        return None if weight is None else _scaled_nats(factor, weight)

    return nats


def missing_mode_nats(pool: DrawPool, strength: float) -> float:
    """KL of (1 - s) N(0, 1) + s N(6, 1) from N(0, 1), by quadrature."""
    del pool
    z, step = np.linspace(-10.0, FAR_MODE + 10.0, 4001, retstep=True)
    normal = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
    log_ratio = np.logaddexp(
        np.log1p(-strength), np.log(max(strength, 1e-300)) + FAR_MODE * z - FAR_MODE**2 / 2
    )
    return float(step * (normal * np.exp(log_ratio) * log_ratio).sum())


def spurious_mode_nats(pool: DrawPool, strength: float) -> float:
    """KL of q without a share of its mass, from q."""
    del pool
    return float(-np.log1p(-strength))
