"""Draws of a posterior of sbi."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, as_matrix, as_numpy
from .draws_table import Table
from .progress import printer
from .run import AT_ONCE, MAX_SECONDS, MEMORY_MB, ExportRun

_PROPOSED = 200  # draws that estimate how much of q lies inside the prior


class _Posterior(Protocol):
    """A posterior of sbi; it may also have `sample_batched` and `log_prob_batched`."""

    @property
    def sample(self) -> Callable[..., ArrayLike]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class _SbiSampler:
    """Draws and log densities of an sbi posterior at rows of a table."""

    posterior: _Posterior
    truth: Array
    """(N, D)."""
    data: Array
    """(N, ...)."""
    k: int
    max_seconds: float | None
    norm_posterior: bool

    @property
    def density(self) -> Callable[..., ArrayLike] | None:
        """The posterior's log density, where it can normalise one."""
        density: Callable[..., ArrayLike] | None
        density = getattr(self.posterior, "log_prob_batched", None)
        if density is None or "norm_posterior" not in inspect.signature(density).parameters:
            return None
        return density

    def draw(self, rows: Array) -> Array:
        """Draws (b, K, D) at rows (b,): as one batch, or at a single x."""
        options: dict[str, object] = {"show_progress_bars": False}
        if self.max_seconds:
            options["max_sampling_time"] = self.max_seconds
        batched: Callable[..., ArrayLike] | None
        batched = getattr(self.posterior, "sample_batched", None)
        sample, x = self.posterior.sample, self._tensor(self.data[rows])
        if batched is None or len(rows) == 1:
            return as_numpy(sample((self.k,), x=x, **_accepted(sample, options)))[None]
        options["max_sampling_batch_size"] = max(1, min(10_000, AT_ONCE // len(rows)))
        samples = batched((self.k,), x=x, **_accepted(batched, options))  # (K, b, D)
        return np.swapaxes(as_numpy(samples), 0, 1)

    def log_prob(self, rows: Array, draws: Array) -> Array:
        """log q (b, 1 + K) of the truth and the draws (b, K, D) at each of the rows (b,)."""
        import torch

        density = self.density
        assert density is not None, "asked only where there is one"
        points = np.concatenate([self.truth[rows, None], draws], axis=1)
        options: dict[str, object] = {}
        if self.norm_posterior:
            options["leakage_correction_params"] = {
                "num_rejection_samples": max(self.k, _PROPOSED)
            }
        with torch.no_grad():
            log_densities = density(
                self._tensor(points.swapaxes(0, 1).copy()),  # (1 + K, b, D)
                x=self._tensor(self.data[rows]),
                norm_posterior=self.norm_posterior,
                **_accepted(density, options),
            )
        return np.swapaxes(as_numpy(log_densities), 0, 1)

    def _tensor(self, array: Array) -> object:
        """The array as a tensor on the posterior's device, in float32 as sbi's networks are."""
        import torch

        device = getattr(self.posterior, "_device", "cpu")
        return torch.as_tensor(np.asarray(array, np.float32), device=device)


def _accepted(function: Callable[..., object], options: Mapping[str, object]) -> dict[str, object]:
    """The options that this version of a function takes."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in parameters}


def from_sbi(
    posterior: _Posterior,
    theta: ArrayLike,
    x: ArrayLike,
    k: int = 200,
    *,
    log_q: bool = True,
    norm_posterior: bool = True,
    theta_names: Sequence[str] | None = None,
    x_names: Sequence[str] | None = None,
    seed: int = 0,
    memory_mb: float = MEMORY_MB,
    max_seconds: float | None = MAX_SECONDS,
    progress: bool = True,
) -> Table:
    """Draw k times from an sbi posterior at each x, batched where the posterior can.

    Args:
        posterior: returned by `inference.build_posterior()`, without a default x.
        theta: (N, D), fresh from the prior.
        x: (N, ...), simulated from each.
        k: draws at each x.
        log_q: whether to evaluate log q where the posterior has a normalised one (a
            DirectPosterior; MCMC knows it only up to a constant, so that it is left out).
        norm_posterior: divide by the mass of q inside the prior, estimated at each x from k draws
            (at least 200). Without it, log q is off by a constant at each x where q leaks: HPD
            coverage does not mind, the symmetric divergence does.
        theta_names: D labels.
        x_names: one label for each number in x.
        seed: of torch's generator, which is put back as it was afterwards. MCMC posteriors also
            use NumPy's, which is left alone.
        memory_mb: bound on the table and on one batch of draws, from which its rows follow.
        max_seconds: for one batch, and for one row by itself: rejection sampling may never end
            where q puts its mass outside the prior.
        progress: whether to report progress on stderr.

    Returns:
        the rows that succeeded, with draws (N, k, D), and log q where it was asked for and known.

    Raises:
        ValueError: for shapes that do not fit, a table beyond `memory_mb`, or a posterior that
            fails at every x.
    """
    import torch

    data = as_numpy(x)
    sampler = _SbiSampler(
        posterior=posterior,
        truth=as_matrix(theta),
        data=data[:, None] if data.ndim == 1 else data,
        k=k,
        max_seconds=max_seconds,
        norm_posterior=norm_posterior,
    )
    run = ExportRun(
        draw=sampler.draw,
        log_prob=sampler.log_prob if log_q and sampler.density else None,
        theta=sampler.truth,
        x=sampler.data,
        k=k,
        memory_mb=memory_mb,
        max_seconds=max_seconds,
        say=printer(progress),
        alone=not hasattr(posterior, "sample_batched"),  # several x at once would be mixed
    )
    if log_q and run.log_prob is None:
        run.say(f"log q is left out: {type(posterior).__name__} has no normalised density.")
    with torch.random.fork_rng(), warnings.catch_warnings():
        # sbi samples from torch's own generator and takes no other.
        torch.manual_seed(seed)  # noqa: TID251
        warnings.filterwarnings("ignore", message=".*(memory|batched sampling).*")
        return run.table(theta_names, x_names)


SBI_EXAMPLE = """\
import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

from export import from_sbi

prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))


def simulate(theta):
    return theta + 0.5 * torch.randn_like(theta)


# Your own training stands here.
theta = prior.sample((2000,))
inference = NPE(prior=prior)
inference.append_simulations(theta, simulate(theta)).train(max_num_epochs=30)
posterior = inference.build_posterior()

# Fresh simulations: none of them was used to train.
theta = prior.sample((500,))
table = from_sbi(posterior, theta, simulate(theta), k=200, theta_names=["mass", "spin"])
table.save("posterior.npz")
"""
"""A script that trains sbi's NPE and saves a table, to copy."""
