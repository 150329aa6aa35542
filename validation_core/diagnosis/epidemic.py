"""Posteriors of an epidemic, learnt from few and from many simulations: the tables that ship.

A disease spreads through a million people (SIR) at an infection rate beta and a recovery rate
gamma, a day; on ten days the infected among 1,000 people drawn at random are counted. Priors are
those of Lueckmann et al. 2021, Benchmarking simulation-based inference, T.9. The estimator is
neural posterior estimation with a neural spline flow (Durkan et al. 2019) as anybody would train
it: Adam, a tenth of the simulations held out, and a stop when they fare better no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core.rng import stream
from validation_core.simulators.epidemic_curve import DAYS
from validation_core.simulators.sir import SIR, count_infected
from validation_core.study import Report, Study
from validation_core.types import Array, Integers

if TYPE_CHECKING:
    from torch import Tensor
    from zuko.flows import NSF

    from validation_core.store import Store

NAMES = ("infection rate", "recovery rate")
"""Of the parameters, short enough for an axis."""
_ROWS, _DRAWS = 500, 100  # of a table
# of a draw's mantissa: 1 part in 30,000 packs well; true values stay, so that none tie
MANTISSA_BITS = 14
_BATCH, _RATE, _PATIENCE, _MOST = 50, 1e-3, 20, 1000  # rows, -, epochs, epochs
_HIDDEN, _TRANSFORMS = 64, 3


class _EpidemicDraws(NamedTuple):
    """A table of draws, and how the flow was trained that drew them."""

    theta: Array
    """(N, 2): rates a day."""
    x: Array
    """(N, 10): infected of 1,000 people on each day."""
    q: Array
    """(N, K, 2)."""
    held_out: Array
    """Loss on the simulations that were held out, nats, at each epoch."""


@dataclass(frozen=True, kw_only=True)
class EpidemicStudy(Study[_EpidemicDraws], spec="epidemic_draws"):
    """Draws of a flow trained on so many simulations, at simulations that all sizes share."""

    simulations: int
    seed: int = 0

    gpu: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return f"Draws of a flow trained on {self.simulations:,} epidemics"

    def compute(self, store: Store, report: Report) -> _EpidemicDraws:
        del store
        theta, x = simulate_epidemics(_ROWS, stream(self.seed, "epidemic", "table"))
        learnt = simulate_epidemics(self.simulations, stream(self.seed, "epidemic", "training"))
        q, held_out = _posterior_draws(*learnt, x, self.seed, report)
        return _EpidemicDraws(
            theta.astype(np.float32), x.astype(np.float32), round_mantissa(q), held_out
        )


def simulate_epidemics(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rates (n, 2) of the prior, and counts (n, 10)."""
    rates = np.exp(SIR().prior(n, rng))
    return rates, count_infected(rates, rng)


def round_mantissa(numbers: Array) -> Array:
    """To so many bits, as float32."""
    mantissa, exponent = np.frexp(numbers)
    return np.ldexp(np.rint(mantissa * 2.0**MANTISSA_BITS), exponent - MANTISSA_BITS).astype(
        np.float32
    )


def _posterior_draws(
    theta: Array, x: Array, at: Array, seed: int, report: Report
) -> tuple[Array, Array]:
    """Draws (N, K, 2) at new counts (N, 10) of a flow learnt from pairs, and its held-out loss.

    It works on standardised logarithms: of the rates, and of one more than the counts.
    """
    import torch

    rates, counts = np.log(theta), np.log1p(x)
    centre, spread = rates.mean(0), rates.std(0)
    low, scale = counts.mean(0), counts.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    flow, held_out = _trained(
        _single((rates - centre) / spread), _single((counts - low) / scale), seed, report
    )
    z = stream(seed, "epidemic", "draws").standard_normal((_DRAWS, len(at), 2))
    with torch.inference_mode():
        transform = flow(_single((np.log1p(at) - low) / scale)).transform
        off = transform.inv(_single(z)).numpy().astype(np.float64)  # (K, N, 2)
    return np.exp(centre + spread * off.swapaxes(0, 1)), held_out


def _trained(theta: Tensor, x: Tensor, seed: int, report: Report) -> tuple[NSF, Array]:
    """The flow of the epoch that fared best on the held-out tenth, and its loss there by epoch."""
    import torch
    from zuko.flows import NSF

    from validation_core.learn import perceptron, training
    from validation_core.learn.adam import Adam

    flow = NSF(2, len(DAYS), transforms=_TRANSFORMS, hidden_features=(_HIDDEN, _HIDDEN))
    perceptron.reinitialise(flow, stream(seed, "epidemic", "initial"))
    rng = stream(seed, "epidemic", "order")
    order, tenth = rng.permutation(len(theta)), len(theta) // 10
    held, learnt = order[:tenth], order[tenth:]
    parts = training.equal_slices(len(learnt), max(1, len(learnt) // _BATCH))

    def epochs() -> Iterator[list[Integers]]:
        for _ in range(_MOST):
            shuffled = rng.permutation(learnt)
            yield [shuffled[part] for part in parts]

    loss = training.flow_loss(flow, theta, x)

    losses: list[float] = []
    best = {name: part.clone() for name, part in flow.state_dict().items()}
    for _ in training.descend(Adam([(list(flow.parameters()), _RATE)]), epochs(), loss, clip=5.0):
        with torch.no_grad():
            losses.append(float(loss(held)))
        since = len(losses) - 1 - int(np.argmin(losses))
        if since == 0:
            best = {name: part.clone() for name, part in flow.state_dict().items()}
        report(since / _PATIENCE, {})
        if since >= _PATIENCE:
            break
    flow.load_state_dict(best)
    return flow, np.array(losses, dtype=np.float32)


def _single(rows: Array) -> Tensor:
    import torch

    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
