"""Draws of anything that samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, as_matrix, as_numpy
from .draws_table import Table
from .run import RunOptions, run_table

if TYPE_CHECKING:
    from typing import Unpack


def from_callable(
    sample: Callable[[Array, int], ArrayLike] | None,
    theta: ArrayLike,
    x: ArrayLike,
    k: int = 200,
    *,
    sample_batch: Callable[[Array, int], ArrayLike] | None = None,
    log_q: Callable[[Array, Array], ArrayLike] | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """Draw k times at each x from anything that samples; its randomness is its own.

    Args:
        sample: `sample(x_i, k)` returns (k, D); None where `sample_batch` is given.
        theta: (N, D), fresh from the prior.
        x: (N, ...), simulated from each.
        k: draws at each x.
        sample_batch: `sample_batch(xs, k)` for xs (b, ...) returns (b, k, D).
        log_q: `log_q(thetas, x_i)` for thetas (r, D) returns (r,): log q(theta | x_i), normalised.
        options: theta_names, x_names, memory_mb, max_seconds, progress, as in `from_sbi`.

    Returns:
        as `from_sbi` does.

    Raises:
        ValueError: as `from_sbi` does, or when neither sampler is given.
    """
    if sample is None and sample_batch is None:
        raise ValueError(
            "A sampler must be given; got neither `sample` nor `sample_batch`. Pass "
            "sample(x_i, k), which returns (k, D)."
        )
    truth, data = as_matrix(theta), as_numpy(x)

    # Each is given a copy: what it changes in place is neither the table's nor the user's.
    def draw(rows: Array) -> Array:
        if sample_batch is not None:
            return as_numpy(sample_batch(data[rows], k))
        assert sample is not None
        return np.stack([as_numpy(sample(data[row].copy(), k)) for row in rows])

    def log_prob(rows: Array, draws: Array) -> Array:
        assert log_q is not None
        both = np.concatenate([truth[rows, None], draws], axis=1)
        return np.stack(
            [as_numpy(log_q(r, data[i].copy())) for r, i in zip(both, rows, strict=True)]
        )

    density, alone = log_prob if log_q else None, sample_batch is None
    return run_table(draw, density, truth, data, k, alone=alone, **options)


ANY_EXAMPLE = '''\
import numpy as np

from export import from_callable

rng = np.random.default_rng(0)


def sample(x, k):
    """k draws of your posterior at one x, as (k, D): here a Gaussian that is known exactly."""
    return 0.8 * x + np.sqrt(0.2) * rng.normal(size=(k, x.size))


def log_q(theta, x):
    """log q at each row of theta, given one x: leave it out where your posterior has none."""
    return -0.5 * ((theta - 0.8 * x) ** 2 / 0.2 + np.log(2 * np.pi * 0.2)).sum(axis=1)


# Fresh simulations: theta from the prior, x from the simulator at theta.
theta = rng.normal(size=(1000, 2))
x = theta + 0.5 * rng.normal(size=theta.shape)
table = from_callable(sample, theta, x, k=200, log_q=log_q)
table.save("posterior.npz")
'''
"""A script with a posterior of its own that saves a table, to copy."""
