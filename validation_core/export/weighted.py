"""Tables of weighted draws: ratio and likelihood estimators, and simulations from a proposal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, as_matrix, as_numpy
from .draws_table import Table
from .run import RunOptions, run_table

if TYPE_CHECKING:
    from typing import Unpack


def from_prior(
    log_w: Callable[[Array, Array], ArrayLike],
    prior: Callable[[int], ArrayLike],
    theta: ArrayLike,
    x: ArrayLike,
    k: int = 200,
    **options: Unpack[RunOptions],
) -> Table:
    """Draw k times from the prior at each x, weighted by a ratio or likelihood estimator.

    The posterior that is tested is the prior times exp(log_w), whatever function of x that is
    multiplied by.

    Args:
        log_w: `log_w(thetas, x_i)` for thetas (r, D) returns (r,): log p(theta, x) / (p(theta)
            p(x)) of a ratio estimator (sbi's NRE), or log p(x | theta) of a surrogate likelihood
            (sbi's NLE).
        prior: `prior(count)` returns (count, D) draws.
        theta: (N, D), fresh from the prior.
        x: (N, ...), simulated from each.
        k: draws at each x; take more where few of them are near the posterior.
        options: theta_names, x_names, memory_mb, max_seconds, progress, as in `from_sbi`.

    Returns:
        the rows that succeeded, with draws (N, k, D) and their log weights.

    Raises:
        ValueError: as `from_sbi` does, or when the weights cannot be computed.
    """
    truth, data = as_matrix(theta), as_numpy(x)

    def draw(rows: Array) -> Array:
        return as_numpy(prior(len(rows) * k)).reshape(len(rows), k, -1)

    def weights(rows: Array, draws: Array) -> Array:
        both = np.concatenate([truth[rows, None], draws], axis=1).astype(draws.dtype)
        pairs = zip(both, rows, strict=True)
        return np.stack([as_numpy(log_w(some, data[i].copy())).reshape(-1) for some, i in pairs])

    table = run_table(draw, weights, truth, data, k, **options)
    if table.log_q is None:
        raise ValueError(
            "log_w(thetas, x_i) must return one number for each of the rows thetas (r, D); it "
            "failed, as was said. Try it on prior(10) and x[0]."
        )
    return replace(
        table, log_q=None, log_q_draws=None, log_w=table.log_q, log_w_draws=table.log_q_draws
    )


def with_proposal(
    table: Table,
    log_prior: Callable[[Array], ArrayLike],
    log_proposal: Callable[[Array], ArrayLike],
) -> Table:
    """Return a table whose theta came from a proposal, as in sequential NPE, with its weights.

    True values then follow the proposal, q's draws the prior: the weight of either is proposal /
    prior, and the table tests q as the posterior under the prior.

    Args:
        table: theta (N, D) from the proposal, draws of q as the posterior under the prior.
        log_prior: log density (r,) of the prior at thetas (r, D).
        log_proposal: that of the proposal.

    Raises:
        ValueError: for densities of another shape.
    """
    n, k, d = table.theta_q.shape
    both = np.concatenate([table.theta[:, None], table.theta_q], axis=1).reshape(-1, d)
    with np.errstate(invalid="ignore"):
        log_w = as_numpy(log_proposal(both)) - as_numpy(log_prior(both))
    if log_w.size != len(both):
        raise ValueError(
            f"log_prior and log_proposal must return ({len(both)},), one number for each theta; "
            f"got {log_w.shape}. Sum over parameters."
        )
    log_w = log_w.reshape(n, 1 + k)
    return replace(
        table, log_q=None, log_q_draws=None, log_w=log_w[:, 0], log_w_draws=log_w[:, 1:]
    )


_SBI_START = """\
import torch
from sbi.inference import {method}
from sbi.utils import BoxUniform

from export import {function}

prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))


def simulate(theta):
    return theta + 0.5 * torch.randn_like(theta)


# Your own training stands here.
theta = prior.sample((2000,))
inference = {method}(prior=prior)
inference.append_simulations(theta, simulate(theta))
estimator = inference.train(max_num_epochs=30)
"""

_FROM_PRIOR = """\


def log_w(theta, x):
    \"\"\"{what} at each row of theta, given one x.\"\"\"
    theta, x = torch.as_tensor(theta), torch.as_tensor(x)
    with torch.no_grad():
        return {call}


# Fresh simulations: none of them was used to train.
theta = prior.sample((500,))
table = from_prior(log_w, lambda count: prior.sample((count,)), theta, simulate(theta), k=200)
table.save("posterior.npz")
"""

RATIO_EXAMPLE = _SBI_START.format(method="NRE", function="from_prior") + _FROM_PRIOR.format(
    what="The estimated log ratio",
    call="estimator.unnormalized_log_ratio(theta, x.expand(len(theta), -1))",
)
"""A script that trains sbi's NRE and saves a table, to copy."""
LIKELIHOOD_EXAMPLE = _SBI_START.format(method="NLE", function="from_prior") + _FROM_PRIOR.format(
    what="The estimated log likelihood",
    call="estimator.log_prob(x.expand(1, len(theta), -1), condition=theta)[0]",
)
"""A script that trains sbi's NLE and saves a table, to copy."""
SEQUENTIAL_EXAMPLE = (
    _SBI_START.format(method="NPE", function="from_sbi, with_proposal")
    + """\
posterior = inference.build_posterior()

# A proposal: in your second round, the posterior at your observation.
proposal = torch.distributions.MultivariateNormal(torch.full((2,), 0.3), 0.2 * torch.eye(2))


def log_density(of):
    return lambda theta: of.log_prob(torch.as_tensor(theta))


# Fresh simulations at theta from the proposal, of which the prior has every one.
theta = proposal.sample((1000,))
theta = theta[theta.abs().max(dim=1).values < 2]
table = from_sbi(posterior, theta, simulate(theta), k=200)
table = with_proposal(table, log_density(prior), log_density(proposal))
table.save("posterior.npz")
"""
)
"""A script that tests sbi's NPE at theta from a proposal, to copy."""
