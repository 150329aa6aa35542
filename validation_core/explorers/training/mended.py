"""A trained estimator mended as any table of its draws would be, judged by the exact posterior.

The mended law is that of one of K draws of q at x, picked by weight. Its density at theta is
q(theta | x) E[K w], where w is the weight of theta among itself and K - 1 other draws. So KL(p ||
q) falls by the mean of log E[K w] over fresh true values. A gain that is claimed on held-out rows
is the mean of log K w: for the same weights below that fall on average, as a logarithm is concave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.explorers.training.film import examples
from validation_core.explorers.training.nats import below_zero, nats_text, simulator_of
from validation_core.mending import mend_table
from validation_core.mending.function import MendFunction
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training
from validation_core.statistics.areas import Estimate, mean_with_error
from validation_core.study import Report, Study
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.estimators import TrainedEstimator
    from validation_core.store import Store

_SETS = 3
"""Sets of other draws behind E[K w] at each true value."""
_LEARNING = 0.6  # of the time
_ROWS = 100  # of fresh pairs that are weighed at a time


class MendedNats(NamedTuple):
    """What a mend claims on held-out rows, and what it is worth by the exact posterior: nats."""

    claimed: Estimate
    """Gain on rows that the weights did not learn from."""
    offered: bool
    """Whether the mend is offered: the interval of the gain lies above 0."""
    before: Estimate
    """KL(p || q) over fresh pairs."""
    fall: Estimate
    """By which the mend lowers it, over the same pairs."""
    after: Estimate
    """KL(p || mended q)."""
    bias: float
    """Of the fall, from finitely many sets of draws: below 0, so that the fall is a low one."""
    outside: float
    """Share of true values beyond all of q's draws, which no weight reaches."""


@dataclass(frozen=True, kw_only=True)
class MendedNatsStudy(Study[MendedNats], spec="mended_nats"):
    """Mend a trained estimator on fresh simulations, and compare the claim with true nats."""

    training: Training
    rows: int = 1000
    """Simulations that the mend learns from and is judged on."""
    draws: int = 200
    """Of q at each x: so many are weighed among one another, 400 at most."""
    pairs: int = 200
    """Fresh ones for true nats."""
    seed: int = 0

    @property
    def label(self) -> str:
        return f"True nats of a mend of {self.training.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,)

    def compute(self, store: Store, report: Report) -> MendedNats:
        simulator = simulator_of(self.training)
        estimator = trained_scores.trained(store, self.training, report)
        rng = stream(self.seed, "mended nats", "table")
        learnt = simulator.pairs(self.rows, rng)
        q = estimator.draws(learnt.x, self.draws, rng)
        mended = mend_table(
            PosteriorTable(learnt.theta, learnt.x, q),
            self.seed,
            lambda done: report(_LEARNING * done, {}),
        )
        rng = stream(self.seed, "mended nats", "fresh pairs")
        fresh = simulator.pairs(self.pairs, rng)
        before = simulator.log_posterior(fresh.theta, fresh.x) - estimator.log_density(
            fresh.theta, fresh.x
        )
        fall, bias = np.zeros(self.pairs), np.zeros(self.pairs)
        function = mended.mending()
        for first in range(0, self.pairs, _ROWS):
            rows = slice(first, first + _ROWS)
            fall[rows], bias[rows] = density_ratio(
                function, estimator, fresh.theta[rows], fresh.x[rows], self.draws, rng
            )
            report(_LEARNING + (1 - _LEARNING) * min(1.0, rows.stop / self.pairs), {})
        return MendedNats(
            claimed=mean_with_error(mended.row_gain),
            offered=mended.offered,
            before=mean_with_error(before),
            fall=mean_with_error(fall),
            after=mean_with_error(before - fall),
            bias=float(bias.mean()),
            outside=mended.outside,
        )


def density_ratio(
    function: MendFunction,
    estimator: TrainedEstimator,
    theta: Array,
    x: Array,
    k: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """log of mended q over q at theta (n, D) given x (n, M), and its bias: (n,) each.

    The logarithm of a mean of R numbers of variance v and mean m is low by about v / (2 R m^2).
    """
    n, d = theta.shape
    others = estimator.draws(x, _SETS * (k - 1), rng).reshape(n, _SETS, k - 1, d)
    own = np.broadcast_to(theta[:, None, None], (n, _SETS, 1, d))
    slots = np.concatenate([own, others], axis=2).reshape(n * _SETS, k, d)
    log_weight = function.log_weights(np.repeat(x, _SETS, axis=0), slots)[:, 0]
    ratio = k * np.exp(log_weight.reshape(n, _SETS))
    mean, variance = ratio.mean(1), ratio.var(1, ddof=1)
    return np.log(mean), -variance / (2 * _SETS * mean**2)


def describe_mend(found: MendedNats, pairs: int) -> list[str]:
    """Claim and truth in a sentence each, with 95% intervals.

    Args:
        found: both.
        pairs: fresh ones that the truth was measured on.
    """
    fall = found.fall
    verb = "falls" if fall.value >= 0 else "rises"
    moved = fall if fall.value >= 0 else Estimate(-fall.value, fall.error)
    claimed, by, before, after = (
        nats_text(one) for one in (found.claimed, moved, found.before, found.after)
    )
    offer = "" if found.offered else ": not above 0 for certain, so that none is offered"
    return [
        f"On rows that it did not learn from, the mend gains {claimed} nats{offer}.",
        f"By the exact posterior, on {pairs:,} fresh pairs, KL(p‖q) {verb} by {by} nats, from "
        f"{before} to {after}.",
        *below_zero([found.before.value, found.after.value]),
    ]


def shipped() -> tuple[MendedNatsStudy, ...]:
    """Mends that ship: of the estimators whose films have a button."""
    return tuple(
        MendedNatsStudy(training=film.training, seed=film.seed) for film in examples().values()
    )
