"""A table of simulations made around one's own observation, for a check of q there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .any_sampler import from_callable
from .arrays import Array, as_numpy
from .draws_table import Table
from .progress import printer
from .run import MAX_SECONDS, MEMORY_MB, RunOptions
from .simulating import simulated
from .weighted import with_proposal

if TYPE_CHECKING:
    from typing import Unpack

_AT_X_O = 1000  # draws of q that the proposal is fitted to
_WIDTHS = ((3, 1.0), (10, 2.0))  # in q's own, up to so many parameters
_WIDEST = 3.0  # beyond
_PILOTS = (1.0, 1.4, 0.7, 2.0, 0.5, 2.8)  # widths that are tried, times the first
_PILOT_ROWS = 20
_EFFECTIVE = 30.0  # draws at each x, at least
_SHARE = 0.3  # of the draws, where 30 are too many
_PER_TRUTH = 1000  # proposals for one that the prior has, at most


def around(
    simulate: Callable[[Array], ArrayLike],
    sample: Callable[[Array, int], ArrayLike] | None,
    x_o: ArrayLike,
    prior_log_prob: Callable[[Array], ArrayLike],
    n: int = 500,
    k: int = 200,
    *,
    sample_batch: Callable[[Array, int], ArrayLike] | None = None,
    width: float | None = None,
    seed: int = 0,
    **options: Unpack[RunOptions],
) -> Table:
    """Simulate around an observation and draw from q there, for an exact check of q near it.

    theta comes from a normal density r that is fitted to q's draws at x_o, and x from the
    simulator at theta. If q is right, theta given x has density q r / prior, which the weights r /
    prior at theta and at q's draws correct for: a test is exact whatever r is, however wrong q is
    at x_o. A wide r leaves more draws effective, a narrow one stays nearer to x_o.

    Args:
        simulate: `simulate(thetas)` for thetas (b, D) returns (b, ...); its randomness is its own.
        sample: `sample(x_i, k)` returns k draws of q (k, D); None where `sample_batch` is given.
        x_o: your observation, shaped like one x.
        prior_log_prob: `prior_log_prob(thetas)` for thetas (r, D) returns (r,), -inf outside, up
            to a constant. q must be the posterior under this prior.
        n: simulations.
        k: draws at each x.
        sample_batch: `sample_batch(xs, k)` for xs (b, ...) returns (b, k, D).
        width: sd of r in those of q's draws at x_o; by default 1 for up to 3 parameters, 2 for up
            to 10, 3 for more; another where 20 simulations show that fewer than 30 draws at an x
            would be effective.
        seed: of theta.
        options: theta_names, x_names, memory_mb, max_seconds, progress, as in `from_sbi`.

    Returns:
        the rows that succeeded, with their log weights, x_o, q's draws there and r's width.

    Raises:
        ValueError: as `from_callable` does, or when r cannot be fitted, or the prior has too
            little of it.
    """
    say, at = printer(options.get("progress", True)), as_numpy(x_o)
    pilot: RunOptions = {
        "memory_mb": options.get("memory_mb", MEMORY_MB),
        "max_seconds": options.get("max_seconds", MAX_SECONDS),
        "progress": False,
    }
    prior = _Prior(prior_log_prob)

    def drawn(theta: Array, x: Array, count: int, loud: bool = False) -> Table:
        how = options if loud else pilot
        return from_callable(sample, theta, x, count, sample_batch=sample_batch, **how)

    x_i = at.copy()  # a sampler may change it in place
    first = sample_batch(x_i[None], 2) if sample_batch else sample(x_i, 2) if sample else None
    d = 1 if first is None else as_numpy(first).reshape(2, -1).shape[1]
    there = drawn(np.zeros((1, d)), at[None], _AT_X_O).theta_q[0]
    proposal = _Proposal.fitted(there, prior, np.random.default_rng(seed), width or _start(d))

    def weighted(count: int, proposal: _Proposal, loud: bool = False) -> Table:
        theta, x, lost = simulated(simulate, proposal.draw(count), say if loud else _silent)
        table = drawn(theta, x, k, loud)
        left = {**lost, **table.left_out}
        return replace(
            with_proposal(table, prior.among_slots, proposal.log_density), left_out=left
        )

    if width is None:
        proposal, most = _piloted(proposal, partial(weighted, _PILOT_ROWS), k)
        say(f"{most:.0f} of {k:,} draws at a typical x will be effective.")
    say(f"Simulating at {n:,} theta around x_o, {proposal.width:.3g} times as wide as q there.")
    table = weighted(n, proposal, loud=True)
    outside = 1 - np.isfinite(prior(table.theta_q.reshape(-1, d))).mean()
    if outside:
        say(f"{outside:.2%} of q's draws lie outside the prior, where a right q has none.")
    return replace(table, x_o=at, theta_o=there, around=proposal.width)


def _piloted(
    proposal: _Proposal, weighted: Callable[[_Proposal], Table], k: int
) -> tuple[_Proposal, float]:
    """The proposal at the first width that leaves enough of k draws effective, or the most.

    A wider one leaves more of them until it is wider than the prior. The pilots' simulations are
    not used again, so that the table knows nothing of the choice.
    """
    best, most = proposal, 0.0
    for times in _PILOTS:
        tried = replace(proposal, width=times * proposal.width)
        effective = _effective(weighted(tried))
        if effective > most:
            best, most = tried, effective
        if most >= min(_EFFECTIVE, _SHARE * k):
            break
    return best, most


def _silent(_: str) -> None:
    """Say nothing."""


def _start(d: int) -> float:
    """Width of the proposal for d parameters, in q's own at x_o, before a pilot."""
    return next((width for most, width in _WIDTHS if d <= most), _WIDEST)


@dataclass(frozen=True)
class _Prior:
    """Log density of the prior, -inf outside."""

    log_prob: Callable[[Array], ArrayLike]

    def __call__(self, thetas: Array) -> Array:
        """Its values (r,) at thetas (r, D).

        Raises:
            ValueError: for values of another shape.
        """
        values = as_numpy(self.log_prob(thetas))
        if values.size != len(thetas):
            raise ValueError(
                f"prior_log_prob must return ({len(thetas)},), one number for each theta; got "
                f"{values.shape}. Sum over parameters."
            )
        values = values.reshape(-1).astype(np.float64)
        return np.where(np.isnan(values), -np.inf, values)

    def among_slots(self, thetas: Array) -> Array:
        """Its values at all true values and draws; outside the median of those inside.

        A draw outside shows that q is wrong: a weight like others' lets a test see it. The
        median looks at no slot's role, so that a test of a right q stays exact.
        """
        values = self(thetas)
        inside = np.isfinite(values)
        return np.where(inside, values, np.median(values[inside]) if inside.any() else 0.0)


@dataclass(frozen=True)
class _Proposal:
    """A normal density, truncated to the prior's support."""

    mean: Array
    root: Array
    """Lower triangular (D, D): its product with its transpose is q's covariance at x_o."""
    prior: _Prior
    rng: np.random.Generator
    width: float

    @classmethod
    def fitted(
        cls, draws: Array, prior: _Prior, rng: np.random.Generator, width: float
    ) -> _Proposal:
        """The proposal that draws (K, D) of q at x_o give.

        Raises:
            ValueError: for draws outside the prior, or a parameter that does not vary.
        """
        d = draws.shape[1]
        inside = draws[np.isfinite(prior(draws))].astype(np.float64)
        if len(inside) < 10 * (d + 1):
            raise ValueError(
                f"q's draws at x_o must lie where the prior has mass; got {len(inside)} of "
                f"{len(draws)} there. Check prior_log_prob on these draws: q is wrong at x_o if "
                "it is right."
            )
        sd = inside.std(axis=0)
        if not sd.all():
            raise ValueError(
                f"q's draws at x_o must differ in each parameter; got parameter "
                f"{int(np.argmin(sd)) + 1} the same in all. Leave it out, in simulate too."
            )
        scaled = np.cov(inside.T / sd[:, None]).reshape(d, d) + 1e-6 * np.eye(d)
        root = sd[:, None] * np.linalg.cholesky(scaled)
        return cls(inside.mean(axis=0), root, prior, rng, width)

    def log_density(self, thetas: Array) -> Array:
        """Log density (r,) at thetas (r, D) but for a constant, not truncated."""
        off = np.linalg.solve(self.root, (thetas - self.mean).T)
        return np.asarray(-0.5 * np.square(off / self.width).sum(axis=0))

    def draw(self, count: int) -> Array:
        """Draws (count, D) where the prior has mass.

        Raises:
            ValueError: where it has too little of it.
        """
        kept: list[Array] = []
        done = tried = 0
        while done < count:
            if tried > _PER_TRUTH * count:
                raise ValueError(
                    f"The prior must have mass around q's draws at x_o; got {done} of {tried:,} "
                    f"proposals within it. Give a smaller width than {self.width:.3g}."
                )
            z = self.rng.standard_normal((max(count, 1000), len(self.mean)))
            thetas = self.mean + self.width * z @ self.root.T
            tried += len(thetas)
            kept.append(thetas[np.isfinite(self.prior(thetas))])
            done += len(kept[-1])
        return np.concatenate(kept)[:count]


def _effective(table: Table) -> float:
    """(sum w)^2 / sum w^2 over the slots of a row, the median of all."""
    assert table.log_w is not None
    assert table.log_w_draws is not None
    log_w = np.concatenate([table.log_w[:, None], table.log_w_draws], axis=1)
    w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    return float(np.median(w.sum(axis=1) ** 2 / np.square(w).sum(axis=1)))


AROUND_EXAMPLE = """\
import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

from export import around

prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))


def simulate(theta):
    theta = torch.as_tensor(theta, dtype=torch.float32)
    return theta + 0.5 * torch.randn_like(theta)


# Your own training stands here.
theta = prior.sample((2000,))
inference = NPE(prior=prior)
inference.append_simulations(theta, simulate(theta)).train(max_num_epochs=30)
posterior = inference.build_posterior()


def sample(xs, k):
    xs = torch.as_tensor(xs, dtype=torch.float32)
    return posterior.sample_batched((k,), x=xs, show_progress_bars=False).transpose(0, 1)


def prior_log_prob(theta):
    theta = torch.as_tensor(theta)
    return torch.where((theta.abs() < 2).all(dim=1), 0.0, -torch.inf)


# Simulations at theta where q puts it, given your observation.
x_o = torch.tensor([0.6, -0.3])
table = around(simulate, None, x_o, prior_log_prob, n=500, k=200, sample_batch=sample)
table.save("posterior.npz")
"""
"""A script that tests sbi's NPE around an observation, to copy."""
